package app

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Version is dragoman's own, as `version` and ping print it.
const Version = "0.1.0"

func newVersion(e *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version",
		Example: "  dragoman version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.Out, "dragoman %s\n", Version)
			return err
		},
	}
}
