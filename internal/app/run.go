package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dragoman/internal/config"
	"dragoman/internal/env"
	"dragoman/internal/face/term"
	"dragoman/internal/preset"
	"dragoman/internal/proc"
	"dragoman/internal/session"
	"dragoman/wire/agent"
)

// maxPromptBytes bounds a prompt that is read from a file or stdin.
const maxPromptBytes = 16 << 20

// closeLimit bounds the end of the agent after its turn.
const closeLimit = 30 * time.Second

// runFlags are the flags of `run` (spec/cli.md).
type runFlags struct {
	file, cwd, ask, resume          string
	model, mode, effort, permission string
	timeout                         time.Duration
	json                            bool
}

func newRun(e *Env) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run AGENT [PROMPT…]",
		Short: "run one turn with an agent and print what it says",
		Long: `Run one turn with an agent: its text goes to stdout as it comes, tool calls and
questions to stderr. The prompt comes from the arguments, -f FILE or stdin.
Agents are listed by "dragoman agents"; "fixture" is built in and needs no model.

Exit codes: 0 done, 1 the turn failed, 2 bad arguments, 3 the agent can't be
used, 4 a permission was needed and refused, 124 timed out, 130 interrupted.`,
		Example: `  dragoman run fixture "hello"
  git diff | dragoman run claude --ask allow-reads -f -
  dragoman run codex --model gpt-5.5 --json "fix the build"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := readPrompt(e, f.file, args[1:])
			if err != nil {
				return &ExitError{ExitUsage, err}
			}
			if !slices.Contains(term.Policies, term.Policy(f.ask)) {
				return &ExitError{ExitUsage, fmt.Errorf("--ask is one of %v, not %q", term.Policies, f.ask)}
			}
			r := &runner{e: e, f: f, given: cmd.Flags().Changed}
			return r.run(cmd.Context(), args[0], prompt)
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.file, "file", "f", "", `read the prompt from this file, "-" for stdin`)
	flags.StringVar(&f.cwd, "cwd", "", "working folder of the agent (default: this one)")
	flags.StringVar(&f.model, "model", "", "model, as the agent names it")
	flags.StringVar(&f.mode, "mode", "", "mode, as the agent names it")
	flags.StringVar(&f.effort, "effort", "", "effort of thought, as the agent names it")
	flags.StringVar(&f.permission, "permission", "", "permission setting, as the agent names it")
	flags.StringVar(&f.ask, "ask", string(term.PolicyAsk), "who answers permission questions: ask, deny, allow-reads or allow-all; ask without a terminal rejects")
	flags.StringVar(&f.resume, "resume", "", "the agent's own id of a session to go on with")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after this long (exit 124)")
	flags.BoolVar(&f.json, "json", false, "print each event as a line of JSON, the outcome last")
	return c
}

// readPrompt takes the prompt from the first source that is given.
func readPrompt(e *Env, file string, words []string) (string, error) {
	if len(words) > 0 && file != "" {
		return "", errors.New("the prompt comes from arguments or from -f, not both")
	}
	if len(words) > 0 {
		return strings.Join(words, " "), nil
	}
	in := e.In
	if file != "" && file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxPromptBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxPromptBytes:
		return "", fmt.Errorf("the prompt is longer than %d bytes", maxPromptBytes)
	case len(strings.TrimSpace(string(b))) == 0:
		return "", errors.New("the prompt is empty: give it as arguments, with -f FILE or on stdin")
	}
	return string(b), nil
}

// A runner runs one turn.
type runner struct {
	e     *Env
	f     runFlags
	given func(flag string) bool
	host  *term.Host
	// config is what counts in the working folder; nil means the defaults.
	config *config.Config
}

func (r *runner) run(parent context.Context, id, prompt string) error {
	var err error
	if r.config, err = r.e.loadConfig(cmp.Or(r.f.cwd, ".")); err != nil {
		return err
	}
	set, err := r.e.loadPresets(r.config)
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	if set.Get(id) == nil {
		return &ExitError{ExitNoAgent, fmt.Errorf("no agent %q is known; known are %s", id, strings.Join(set.IDs(), ", "))}
	}
	ctx, stop := proc.InterruptContext(parent)
	defer stop()
	if r.f.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, r.f.timeout)
		defer cancel()
		ctx = limited
	}
	sup := startSupervisor(r.e.stateDir(), newLog(io.Discard))
	closeHost := r.newHost()
	outcome, err := r.turn(ctx, set, sup, id, prompt)
	r.host.Finish()
	closeHost()
	err = errors.Join(err, sup.Close())
	if r.f.json {
		r.printEnd(outcome, err)
	}
	return r.verdict(ctx, set, id, outcome, err)
}

// newHost makes the face and returns what gives the terminal back.
func (r *runner) newHost() func() {
	r.host = &term.Host{Out: r.e.Out, Err: r.e.Err, Policy: term.Policy(r.f.ask)}
	if r.f.json {
		r.host.Format = term.Lines
	}
	if r.host.Policy != term.PolicyAsk {
		return func() {}
	}
	device, err := openTerminal()
	if err != nil {
		return func() {} // nobody can be asked
	}
	t := term.NewTerminal(device)
	r.host.Person = t
	return func() { t.Close() }
}

// turn opens the agent, runs the prompt and closes the agent.
func (r *runner) turn(ctx context.Context, set *preset.Set, sup *supervisor, id, prompt string) (out agent.Outcome, err error) {
	cwd := r.f.cwd
	if cwd == "" {
		if cwd, err = os.Getwd(); err != nil {
			return out, err
		}
	}
	opener := newOpener(r.e, set, sup, openerOptions{trust: env.Untrusted, config: r.config})
	spec, extra := r.spec(ctx, set, sup, id)
	prepared, err := opener.Prepare(session.Request{Spec: spec, Cwd: cwd, Env: extra, Resume: r.f.resume, Options: r.options()})
	if err != nil {
		return out, err
	}
	s, err := prepared.Open(ctx, session.Config{Host: r.host})
	if err != nil {
		return out, err
	}
	defer func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		err = errors.Join(err, s.Close(limited))
	}()
	if v := s.Info().AgentVersion; set.Get(id).Outside(v) {
		r.host.Event(ctx, untried(v, set.Get(id).Checked))
	}
	turn, err := s.Submit(session.Prompt{Text: prompt})
	if err != nil {
		return out, err
	}
	select {
	case <-turn.Done():
	case <-ctx.Done():
		// The agent is told; what it doesn't answer, the engine settles.
		s.BeginCancel()
		<-turn.Done()
	}
	return turn.Result()
}

// untried warns of a version that nobody has run with us (lanes.md §12).
func untried(version, checked string) *agent.Event {
	return &agent.Event{Kind: agent.KindNotice, Time: time.Now(), Notice: &agent.Notice{
		Level: "warning", Code: "version_unchecked", Text: fmt.Sprintf("the agent's version %s is outside %s, which was tried", version, checked),
	}}
}

// options are the selectors that were given, blank ones too.
func (r *runner) options() agent.Options {
	pick := func(flag string, value *string) *string {
		if r.given(flag) {
			return value
		}
		return nil
	}
	return agent.Options{Model: pick("model", &r.f.model), Mode: pick("mode", &r.f.mode),
		Effort: pick("effort", &r.f.effort), Permission: pick("permission", &r.f.permission)}
}

// verdict is the exit code and the message for people.
func (r *runner) verdict(ctx context.Context, set *preset.Set, id string, out agent.Outcome, err error) error {
	var spec *agent.SpecError
	var failed *agent.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &ExitError{ExitTimeout, fmt.Errorf("timed out after %v", r.f.timeout)}
	case ctx.Err() != nil:
		return &ExitError{ExitInterrupted, nil}
	case errors.As(err, &spec):
		return &ExitError{ExitUsage, err}
	case errors.As(err, &failed) && unusable(failed):
		return &ExitError{ExitNoAgent, fmt.Errorf("%w%s", err, r.advice(set, id))}
	case err != nil:
		return &ExitError{ExitFailed, err}
	case r.host.Refusals() > 0:
		return &ExitError{ExitRefused, errors.New("a permission was needed and refused (see --ask)")}
	case out.StopReason == agent.StopError:
		return &ExitError{ExitFailed, errors.New("the agent's process failed" + exitWord(out.ExitCode))}
	case out.Suspect != "":
		return &ExitError{ExitFailed, fmt.Errorf("the agent said that it ended well, but it looks like a failure (%s)", out.Suspect)}
	}
	return nil
}

func exitWord(code *int) string {
	if code == nil {
		return " by a signal"
	}
	return fmt.Sprintf(" with exit code %d", *code)
}

// unusable reports whether the agent can't be used at all on this machine.
func unusable(e *agent.Error) bool {
	switch e.Code {
	case agent.CodeProcessStartFailed, agent.CodeAuthRequired, agent.CodeProtocolVersionUnsupported:
		return true
	}
	return false
}

func (r *runner) advice(set *preset.Set, id string) string {
	st := set.Status(context.Background(), id, preset.Lookup{Environ: r.e.Environ})
	if st == nil || st.Advice == "" {
		return ""
	}
	return "\n" + st.Advice
}
