package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"dragoman/client"
	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// callFlags are the flags of `call`.
type callFlags struct {
	whichCore
	watch   []string
	timeout time.Duration
}

func newCall(e *Env) *cobra.Command {
	var f callFlags
	c := &cobra.Command{
		Use:   "call OP [JSON]",
		Short: "call one operation of a running core",
		Long: `Call one operation of a running core and print its result as JSON. Of an
operation that streams, its events are printed, one a line, until run.ended.
With --watch, events that match are printed too; without OP until interrupted.`,
		Example: `  dragoman call buffer.open '{"path":"README.md"}'
  dragoman call exec.run '{"argv":["make","test"]}'
  dragoman call --watch 'buffer.*'`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && len(f.watch) == 0 {
				return &ExitError{ExitUsage, errors.New("name an operation, or events with --watch")}
			}
			return call(cmd.Context(), e, f, args)
		},
	}
	f.add(c)
	c.Flags().StringArrayVar(&f.watch, "watch", nil, "print events that match: a name, prefix.* or *; repeatable")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "give up after this time, with exit code 124")
	return c
}

func call(ctx context.Context, e *Env, f callFlags, args []string) error {
	ctx, stop := proc.InterruptContext(ctx)
	defer stop()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	p := newEventPrinter(e.Out)
	if f.watch == nil {
		f.watch = []string{}
	}
	c, err := f.attach(ctx, e, client.Options{Events: f.watch, OnEvent: p.take, Once: true})
	if err != nil {
		return err
	}
	defer c.Close()
	if len(args) > 0 {
		return callResult(ctx, callOnce(ctx, c, p, args))
	}
	p.openAll()
	select {
	case <-ctx.Done():
		return callResult(ctx, ctx.Err())
	case <-c.Done():
		return &ExitError{ExitFailed, c.Err()}
	}
}

// callResult gives an error its exit code.
func callResult(ctx context.Context, err error) error {
	var interrupted *proc.InterruptError
	switch {
	case err == nil:
		return nil
	case errors.As(context.Cause(ctx), &interrupted):
		return &ExitError{ExitInterrupted, nil}
	case errors.Is(err, context.DeadlineExceeded):
		return &ExitError{ExitTimeout, errors.New("no end in time")}
	}
	return &ExitError{ExitFailed, err}
}

func callOnce(ctx context.Context, c *client.Client, p *eventPrinter, args []string) error {
	var params []byte
	if len(args) > 1 {
		params = []byte(args[1])
		if !jsontext.Value(params).IsValid() {
			return &ExitError{ExitUsage, errors.New("the second argument isn't JSON")}
		}
		_ = (*jsontext.Value)(&params).Compact()
	}
	streaming, err := streams(ctx, c, args[0])
	if err != nil {
		return err
	}
	if !streaming {
		p.openAll()
		raw, err := c.Raw(ctx, args[0], params)
		if err != nil {
			return err
		}
		return p.line(raw)
	}
	raw, err := c.Raw(ctx, args[0], params)
	if err != nil {
		return err
	}
	var started op.Started
	if err := json.Unmarshal(raw, &started); err != nil {
		return err
	}
	return p.until(ctx, c, started.Run)
}

// streams asks the core whether an operation streams.
func streams(ctx context.Context, c *client.Client, name string) (bool, error) {
	d, err := core.SessionDescribe.Call(ctx, c, core.SessionDescribeParams{Op: name})
	var e *op.Error
	if errors.As(err, &e) && e.Code == op.CodeNotFound {
		return false, fmt.Errorf("no operation %q; `dragoman docs` lists them", name)
	}
	if err != nil || len(d.Ops) == 0 {
		return false, err
	}
	return d.Ops[0].Streaming, nil
}

// write writes a line with its LF.
func writeLine(w io.Writer, line []byte) error {
	_, err := w.Write(append(line, '\n'))
	return err
}
