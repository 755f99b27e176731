package streamjson

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// interruptWait is how long a program has after SIGINT before its tree is
// ended; Gemini is known to ignore it.
const interruptWait = 2 * time.Second

// Prompt runs one process for one turn.
func (c *conn) Prompt(ctx context.Context, lt lane.Turn) (agent.Outcome, error) {
	select {
	case <-lt.Cancel:
		return agent.Outcome{StopReason: agent.StopCancelled}, nil
	default:
	}
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return agent.Outcome{}, err
	}
	defer end()
	options := c.l.Options
	if lt.Options.Model != nil {
		options.Model = lt.Options.Model
	}
	p, err := c.l.Starter.Start(ctx, lane.Command{
		Program: c.plan.spec.Command.Program, Args: c.plan.args(options, c.Info().NativeID), Dir: c.l.Dir, Env: c.l.Env,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return agent.Outcome{}, closedError()
	case err != nil:
		return agent.Outcome{}, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	t := newTurn(ctx, c, lt.Number)
	cancelled := c.run(ctx, p, t, prompt(lt), lt.Cancel)
	switch {
	case ctx.Err() != nil:
		return agent.Outcome{}, closedError()
	case cancelled:
		return agent.Outcome{StopReason: agent.StopCancelled, Usage: t.usage, Truncated: t.cut}, nil
	}
	return t.outcome(p.Status(), p.StderrTail())
}

func closedError() *agent.Error {
	return agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "the session was closed", agent.FlagsUncertain)
}

// prompt is the text; attachments are named.
func prompt(lt lane.Turn) string {
	text := lt.Text
	for _, a := range lt.Attachments {
		if a.URI != "" {
			text += "\n" + a.URI
		}
	}
	return text
}

// run runs a process to its end and reports whether a cancel ended it. When
// it returns nothing of the tree is left, or Close knows what is.
func (c *conn) run(ctx context.Context, p lane.Process, t *turn, text string, cancel <-chan struct{}) (cancelled bool) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		t.read(p.Stdout())
		<-p.Exited()
	}()
	written := make(chan struct{})
	go func() {
		defer close(written)
		if _, err := io.WriteString(p.Stdin(), text); err != nil {
			c.log().Debug("the prompt wasn't read to its end", "error", err)
		}
		p.Stdin().Close()
	}()
	cancelled = watch(ctx, p, read, cancel)
	if err := p.End(context.WithoutCancel(ctx)); err != nil {
		c.log().Warn("a process tree is left", "pid", p.PID(), "error", err)
		c.leave(p)
		<-p.Exited()
	}
	<-written
	<-read
	return cancelled
}

// watch waits for the end of the process or of ctx, or, after its grace, for
// a cancel's.
func watch(ctx context.Context, p lane.Process, done, cancel <-chan struct{}) bool {
	select {
	case <-done:
		return false
	case <-ctx.Done():
		return false
	case <-cancel:
	}
	p.Interrupt()
	timer := time.NewTimer(interruptWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

// read reads the program's lines.
func (t *turn) read(out io.Reader) {
	lines := ndjson.NewReader(out, ndjson.ReaderOptions{})
	for {
		line, err := lines.Next()
		var long *ndjson.LineTooLongError
		switch {
		case err == nil:
			t.take(line)
		case errors.As(err, &long):
			t.conn.log().Warn("a line of the agent was left out", "bytes", long.Size)
		default:
			return
		}
	}
}

// outcome says how a turn ended, by the result line and the exit code.
func (t *turn) outcome(status lane.ExitStatus, stderr string) (agent.Outcome, error) {
	code := status.Code
	named, known := t.conn.plan.dialect.exits[code]
	failed := t.failed || !t.ended || code != 0
	out := agent.Outcome{StopReason: agent.StopEndTurn, Usage: t.usage, Truncated: t.cut}
	if status.Signal == "" {
		out.ExitCode = &code
	}
	switch {
	case !failed:
		return out, nil
	case t.ended && !t.failed && status.Signal == "" && !known:
		// It has said that it succeeded; what went wrong after that is its own.
		t.notice("warning", "agent_exit", status.String())
		return out, nil
	case known && named.stop != "":
		out.StopReason = named.stop
		return out, nil
	}
	return agent.Outcome{}, t.failure(status, stderr, named)
}

// failure makes the error of a turn that failed.
func (t *turn) failure(status lane.ExitStatus, stderr string, named exit) *agent.Error {
	detail := status.String()
	if named.text != "" {
		detail += fmt.Sprintf(" (%s)", named.text)
	}
	if t.faultText != "" {
		detail = t.faultText + "; " + detail
	} else if line := lane.LastLine(stderr); line != "" {
		detail += ": " + line
	}
	certainty := agent.Certain
	if t.produced {
		certainty = agent.Uncertain
	}
	switch {
	case named.code == agent.CodeAuthRequired:
		return agent.Fail(agent.CodeAuthRequired, agent.StagePrompt, detail)
	case named.code == agent.CodeQuotaExhausted, agent.Quota(t.faultText):
		return agent.FailQuota(agent.StagePrompt, detail, certainty)
	case t.failed, named.code != "":
		return agent.FailTurn(agent.StagePrompt, detail, certainty)
	}
	return agent.Fail(agent.CodeProtocolFailed, agent.StagePrompt, detail)
}
