package app

import (
	"github.com/spf13/cobra"

	"dragoman/internal/fixture"
)

func newFixtureAgent(e *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "fixture-agent",
		Short:   "be an ACP agent without a model, on stdin and stdout",
		Example: `  echo '{"id":1,"method":"initialize"}' | dragoman fixture-agent`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := fixture.Run(cmd.Context(), e.In, e.Out, fixture.FromEnv(Version, e.LookupEnv))
			if err != nil {
				return &ExitError{Code: ExitFailed, Err: err}
			}
			return nil
		},
	}
}
