package app

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"dragoman/wire/core"
)

func newSchema(e *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "print the JSON Schemas of an operation or event of the core protocol",
		Long: `Print the declaration of an operation or event with its JSON Schemas (draft
2020-12). Without NAME, list the names.`,
		Example: `  dragoman schema buffer.edit`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listDeclarations(e)
			}
			d, err := declaration(args[0])
			if err != nil {
				return err
			}
			raw, err := json.Marshal(d, json.Deterministic(true), jsontext.WithIndent("  "))
			if err != nil {
				return err
			}
			return writeLine(e.Out, raw)
		},
	}
}

// listDeclarations prints the names of all operations and events.
func listDeclarations(e *Env) error {
	for _, o := range core.Ops() {
		if _, err := fmt.Fprintln(e.Out, o.Describe().Op); err != nil {
			return err
		}
	}
	for _, ev := range core.Events() {
		if _, err := fmt.Fprintln(e.Out, ev.DescribeEvent().Event); err != nil {
			return err
		}
	}
	return nil
}

// declaration is the one of that name, as data.
func declaration(name string) (any, error) {
	for _, o := range core.Ops() {
		if d := o.Describe(); d.Op == name {
			return d, nil
		}
	}
	for _, ev := range core.Events() {
		if d := ev.DescribeEvent(); d.Event == name {
			return d, nil
		}
	}
	return nil, &ExitError{ExitUsage, fmt.Errorf("no operation or event %q; `dragoman schema` lists them", name)}
}
