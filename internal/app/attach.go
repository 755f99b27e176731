package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"dragoman/client"
	"dragoman/internal/proc"
	"dragoman/wire/core"
)

func newAttach(e *Env) *cobra.Command {
	var which whichCore
	var events []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "attach",
		Short: "watch a running core: its events, one a line",
		Long: `Attach to a running core and print its events until interrupted. When the core
restarts, attach finds it again and says what it missed.`,
		Example: `  dragoman attach
  dragoman attach --events 'agent.*' --events 'run.*' --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := proc.InterruptContext(cmd.Context())
			defer stop()
			v := &eventView{env: e, json: asJSON}
			opts := client.Options{Events: events, OnEvent: v.event, OnGap: v.gap}
			c, err := which.attach(ctx, e, opts)
			if err != nil {
				return err
			}
			defer c.Close()
			return v.until(ctx, c)
		},
	}
	which.add(c)
	c.Flags().StringArrayVar(&events, "events", nil, "only events that match: a name or prefix.*; repeatable")
	c.Flags().BoolVar(&asJSON, "json", false, "print events as they came")
	return c
}

// An eventView prints events for people, or as they came.
type eventView struct {
	env  *Env
	json bool
}

func (v *eventView) until(ctx context.Context, c *client.Client) error {
	h := c.Hello()
	fmt.Fprintf(v.env.Err, "attached to %s as %s (%s)\n", h.Root, h.ClientID, h.Role)
	select {
	case <-ctx.Done():
		var interrupted *proc.InterruptError
		if errors.As(context.Cause(ctx), &interrupted) {
			return &ExitError{ExitInterrupted, nil}
		}
		return ctx.Err()
	case <-c.Done():
		return &ExitError{ExitFailed, c.Err()}
	}
}

// maxShown is how much of an event's params is shown to people, in bytes.
const maxShown = 200

func (v *eventView) event(e client.Event) {
	if v.json {
		_ = writeLine(v.env.Out, e.Line)
		return
	}
	shown := strings.TrimSuffix(strings.TrimPrefix(visible(e.Params), "{"), "}")
	if len(shown) > maxShown {
		shown = strings.ToValidUTF8(shown[:maxShown], "") + "…"
	}
	fmt.Fprintf(v.env.Out, "%6s  %-20s %s\n", seqText(e.Seq), e.Name, shown)
}

// visible escapes what a terminal would obey: JSON leaves DEL and the C1
// controls as they are.
func visible(params jsontext.Value) string {
	return strings.Map(func(r rune) rune {
		if r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return '\uFFFD'
		}
		return r
	}, string(params))
}

func seqText(seq int64) string {
	if seq == 0 {
		return "-"
	}
	return fmt.Sprint(seq)
}

func (v *eventView) gap(g core.Gap) {
	fmt.Fprintf(v.env.Err, "events %d to %d were missed: %s\n", g.From, g.To, g.Reason)
}
