package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan prints the man page; hidden, since `make man` is what people call.
func newMan(e *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "print the man page (roff)",
		Hidden:  true,
		Example: `  dragoman man | man -l -`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			writeMan(e.Out, c.Root())
			return nil
		},
	}
}

// writeMan writes one page for all verbs, from what --help shows.
func writeMan(w io.Writer, root *cobra.Command) {
	fmt.Fprintf(w, ".TH DRAGOMAN 1 \"\" \"dragoman %s\"\n.SH NAME\ndragoman \\- %s\n", Version, roff(root.Short))
	fmt.Fprint(w, ".SH SYNOPSIS\n.B dragoman\n.I verb\n[flags] [arguments]\n.SH VERBS\n")
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		about := c.Long
		if about == "" {
			about = c.Short
		}
		fmt.Fprintf(w, ".SS \"%s\"\n%s\n", roff(c.UseLine()), roff(about))
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { writeManFlag(w, f) })
		if c.Example != "" {
			fmt.Fprintf(w, ".PP\nExample:\n.PP\n.nf\n%s\n.fi\n", roff(c.Example))
		}
	}
	fmt.Fprintf(w, `.SH "EXIT STATUS"
%d done, %d the work failed, %d bad arguments or configuration, %d agent not found or not usable,
%d a permission was refused, %d timeout, %d interrupted.
`, ExitDone, ExitFailed, ExitUsage, ExitNoAgent, ExitRefused, ExitTimeout, ExitInterrupted)
}

func writeManFlag(w io.Writer, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, usage := pflag.UnquoteUsage(f)
	fmt.Fprintf(w, ".TP\n.B \\-\\-%s", roff(f.Name))
	if value != "" {
		fmt.Fprintf(w, " %s", roff(value))
	}
	fmt.Fprintf(w, "\n%s\n", roff(usage))
}

// roff escapes text: a backslash, a hyphen, and a dot or quote that begins a
// line would be commands.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
