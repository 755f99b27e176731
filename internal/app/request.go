package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"dragoman/envelope/host"
	envelopelane "dragoman/internal/lane/envelope"
	"dragoman/internal/proc"
	"dragoman/wire/ndjson"
)

// requestFlags are the flags of `request` (spec/cli.md).
type requestFlags struct {
	grants, env []string
	timeout     time.Duration
	json        bool
}

func newRequest(e *Env) *cobra.Command {
	var f requestFlags
	c := &cobra.Command{
		Use:   "request [flags] CAP [JSON] -- CMD [ARG…]",
		Short: "be an envelope host: start an agent and send it one request",
		Long: `Start CMD as an agent of the envelope protocol, in this folder, and send it one
request for the capability CAP with the input JSON (an object, {} by default).
Only capabilities that are named with --grant may be asked for.

stdout gets the output of completed as JSON; with --json every envelope that
the agent sends, one a line. Other events and the agent's stderr go to stderr.

Exit codes: 0 completed, 1 an error, whose code is printed, 2 bad arguments,
124 timed out, 130 interrupted.`,
		Example: `  dragoman request --grant echo.text echo.text '{"text":"hi"}' -- ./my-agent
  dragoman request --grant build --timeout 1m --json build -- ssh host agent`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := newRequester(e, f, args, cmd.ArgsLenAtDash())
			if err != nil {
				return &ExitError{ExitUsage, err}
			}
			return r.run(cmd.Context())
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.grants, "grant", nil, "a capability that the agent may be asked for (repeatable)")
	flags.StringArrayVar(&f.env, "env", nil, "a variable that the agent gets beside "+strings.Join(host.DefaultEnvironment, ", ")+" (repeatable)")
	flags.DurationVar(&f.timeout, "timeout", 0, "cancel the request after this long (exit 124)")
	flags.BoolVar(&f.json, "json", false, "print every envelope of the agent, one a line")
	return c
}

// A requester sends one request.
type requester struct {
	e         *Env
	f         requestFlags
	operation string
	input     []byte
	argv      []string
	environ   []string // the agent's

	stderr sync.Mutex // events and the agent's own words
}

func newRequester(e *Env, f requestFlags, args []string, dash int) (*requester, error) {
	if dash < 0 || dash == len(args) {
		return nil, errors.New("the agent's command is missing: put it after --")
	}
	if dash < 1 || dash > 2 {
		return nil, errors.New("before -- stand the capability and, if you like, its input")
	}
	r := &requester{e: e, f: f, operation: args[0], input: []byte("{}"), argv: args[dash:]}
	if dash == 2 {
		r.input = []byte(args[1])
	}
	var scan ndjson.Scanner
	if err := scan.Scan(r.input); err != nil {
		return nil, fmt.Errorf("the input is no JSON: %w", err)
	}
	if scan.Kind() != ndjson.Object {
		return nil, errors.New("the input is no JSON object")
	}
	r.environ = host.Environment(e.Environ, f.env)
	return r, nil
}

func (r *requester) run(ctx context.Context) error {
	ctx, stop := proc.InterruptContext(ctx)
	defer stop()
	if r.f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.f.timeout)
		defer cancel()
	}
	outcome, err := r.request(ctx)
	if err == nil {
		r.print(outcome)
		return nil
	}
	var failed *host.Error
	if !errors.As(err, &failed) {
		return &ExitError{ExitFailed, err}
	}
	if failed.Code == host.CodeProcessFailure {
		r.say("environment: " + strings.Join(host.Describe(r.environ), " "))
	}
	return &ExitError{r.exitCode(ctx, failed), failureText(failed)}
}

func (r *requester) exitCode(ctx context.Context, e *host.Error) int {
	switch {
	case e.Code == host.CodeInvalidConfiguration:
		return ExitUsage
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && e.Code == host.CodeRequestTimeout:
		return ExitTimeout
	case ctx.Err() != nil && e.Code == host.CodeCancelled:
		return ExitInterrupted
	}
	return ExitFailed
}

func failureText(e *host.Error) error {
	if e.UncertainEffect {
		return fmt.Errorf("%w (the agent may have acted all the same)", e)
	}
	return e
}

func (r *requester) request(ctx context.Context) (o host.Outcome, err error) {
	config := host.Config{Grants: r.f.grants, Implementation: "dragoman " + Version}
	if r.f.json {
		config.Trace = func(line []byte) { fmt.Fprintf(r.e.Out, "%s\n", line) }
	}
	if err := errors.Join(config.Check(), config.Authorize(r.operation)); err != nil {
		return o, err
	}
	sup, err := proc.New(proc.Options{StateDir: r.e.stateDir(), Grace: host.DefaultGrace})
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, closeWithin(ctx, sup.Close)) }()
	h, err := host.Start(ctx, r.starter(sup), config)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, closeWithin(ctx, h.Close)) }()
	return h.Request(ctx, r.operation, r.input, host.RequestOptions{OnEvent: r.event})
}

// closeWithin ends something although ctx may be over.
func closeWithin(ctx context.Context, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return end(ctx)
}

// starter starts the agent: the program is looked up on our own PATH, its
// environment has the named variables only.
func (r *requester) starter(sup *proc.Supervisor) host.Starter {
	return host.StarterFunc(func(ctx context.Context) (host.Link, error) {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		program, err := proc.LookPath(r.argv[0], dir, r.e.Environ)
		if err != nil {
			return nil, err
		}
		p, err := sup.StartRaw(ctx, proc.Command{
			Program: program, Args: r.argv[1:], Dir: dir, Env: r.environ, Stderr: proc.StderrPipe,
		})
		if err != nil {
			return nil, err
		}
		l := &talkingLink{Link: envelopelane.Link(p), done: make(chan struct{})}
		go func() {
			defer close(l.done)
			_, _ = io.Copy(lockedWriter{r}, p.Stderr())
		}()
		return l, nil
	})
}

// A talkingLink is a child whose stderr is copied; it has ended when that is
// over, too.
type talkingLink struct {
	host.Link
	done chan struct{}
}

// End waits for the last words.
func (l *talkingLink) End(ctx context.Context) error {
	if err := l.Link.End(ctx); err != nil {
		return err
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lockedWriter keeps the agent's stderr and our lines apart.
type lockedWriter struct{ r *requester }

// Write writes to our stderr.
func (w lockedWriter) Write(b []byte) (int, error) {
	w.r.stderr.Lock()
	defer w.r.stderr.Unlock()
	return w.r.e.Err.Write(b)
}

func (r *requester) say(line string) { fmt.Fprintln(lockedWriter{r}, line) }

func (r *requester) event(ev host.Event) {
	if ev.Output == nil {
		r.say("event " + ev.Name)
		return
	}
	r.say("event " + ev.Name + " " + string(ev.Output))
}

func (r *requester) print(o host.Outcome) {
	if o.CancelLost {
		r.say("the request completed before the cancel reached it")
	}
	if r.f.json {
		return // the envelope was printed as it came
	}
	if o.Output == nil {
		o.Output = []byte("{}")
	}
	fmt.Fprintf(r.e.Out, "%s\n", o.Output)
}
