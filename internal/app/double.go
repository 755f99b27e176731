package app

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"dragoman/envelope/double"
	"dragoman/internal/proc"
)

func newDouble(e *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "double SCENARIO",
		Short: "be a scripted test double on stdin and stdout",
		Long: `Play a scenario file: JSON Lines that say what to expect, and what to answer,
delay, split or break, in any line protocol. The steps are described in
docs/guide/double.md. The exit code is the scenario's, 1 where the peer didn't do
as expected, 2 for a scenario that can't be read.`,
		Example: `  dragoman request --grant greet greet -- dragoman double greet.jsonl`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return &ExitError{ExitUsage, err}
			}
			defer f.Close()
			scenario, err := double.Parse(f)
			if err != nil {
				return &ExitError{ExitUsage, err}
			}
			ctx, stop := proc.InterruptContext(cmd.Context())
			defer stop()
			status, err := scenario.Play(ctx, double.Streams{In: e.In, Out: e.Out, Err: e.Err})
			switch {
			case errors.Is(err, context.Canceled):
				return &ExitError{Code: ExitInterrupted}
			case err != nil || status != 0:
				return &ExitError{Code: status, Err: err}
			}
			return nil
		},
	}
}
