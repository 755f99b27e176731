package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/docs/reference"
)

func newDocs(e *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "docs [OP]",
		Short:   "print the reference page of an operation or event of the core protocol",
		Long:    "Print the reference page of an operation or event (Markdown). Without OP, print the list.",
		Example: `  dragoman docs buffer.edit`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := "README"
			if len(args) == 1 {
				name = args[0]
			}
			page, err := reference.Pages.ReadFile(name + ".md")
			if err != nil {
				return &ExitError{ExitUsage, fmt.Errorf("no operation or event %q; `dragoman docs` lists them", name)}
			}
			_, err = e.Out.Write(page)
			return err
		},
	}
}
