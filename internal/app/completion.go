package app

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newCompletion prints a shell's completion script (spec/cli.md). It stands
// in for cobra's own command, which takes a shell that it doesn't know for a
// call for help and exits with 0.
func newCompletion(e *Env) *cobra.Command {
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "print the completion script of bash, zsh, fish or powershell",
		Example:   "  source <(dragoman completion bash)\n  dragoman completion fish > ~/.config/fish/completions/dragoman.fish",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return written(root.GenBashCompletionV2(e.Out, true))
			case "zsh":
				return written(root.GenZshCompletion(e.Out))
			case "fish":
				return written(root.GenFishCompletion(e.Out, true))
			case "powershell":
				return written(root.GenPowerShellCompletionWithDesc(e.Out))
			}
			return fmt.Errorf("no completion for the shell %q: there is one for bash, zsh, fish and powershell", args[0])
		},
	}
}

// written makes a failed write the failed work that it is, not a bad argument.
func written(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Code: ExitFailed, Err: err}
}
