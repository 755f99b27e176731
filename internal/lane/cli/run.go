package cli

import (
	"context"
	"io"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// interruptWait is how long an agent has after SIGINT before its tree is
// ended.
const interruptWait = 2 * time.Second

// ending is how a process ended.
type ending struct {
	status lane.ExitStatus
	stderr string
	// cancelled and closed: we ended it.
	cancelled, closed bool
}

func (e ending) failed() bool { return e.status.Code != 0 || e.status.Signal != "" }

// exitCode is nil for a signal.
func (e ending) exitCode() *int {
	if e.status.Signal != "" || e.status.Code < 0 {
		return nil
	}
	return &e.status.Code
}

// String says how it ended, with the last line of stderr.
func (e ending) String() string {
	text := e.status.String()
	if line := lane.LastLine(e.stderr); line != "" {
		text += ": " + line
	}
	return text
}

// run runs one process to its end: stdout goes to out, and nothing of its
// tree is left when it returns. The end of ctx and of cancel end it. Its
// error is that of the start.
func (c *conn) run(ctx context.Context, k call, env []string, out io.Writer, cancel <-chan struct{}) (ending, error) {
	if c.launch.EnvError != nil {
		return ending{}, c.launch.EnvError
	}
	stdin := lane.StdinPipe
	if k.stdin == nil {
		stdin = lane.StdinNull
	}
	p, err := c.launch.Starter.Start(ctx, lane.Command{
		Program: c.spec.command.Program, Args: k.args, Dir: c.launch.Dir, Env: env,
		Stdin: stdin, PTY: c.spec.pty,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ending{closed: true}, nil
	case err != nil:
		return ending{}, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	c.setRunning(p)
	defer c.setRunning(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(out, p.Stdout())
		<-p.Exited()
	}()
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.feed(p, k.stdin)
	}()
	e := watch(ctx, p, done, cancel)
	if err := p.End(context.WithoutCancel(ctx)); err != nil {
		c.launch.Log.Warn("a process tree is left", "pid", p.PID(), "error", err)
		c.leave(p)
		<-p.Exited()
	}
	<-written
	<-done
	e.status, e.stderr = p.Status(), p.StderrTail()
	return e, nil
}

// feed writes the prompt. A child that doesn't read it is no error: its exit
// says. A terminal gets no end of input.
func (c *conn) feed(p lane.Process, prompt []byte) {
	if prompt == nil {
		return
	}
	if _, err := p.Stdin().Write(prompt); err != nil {
		c.launch.Log.Debug("the prompt wasn't read to its end", "error", err)
	}
	if !c.spec.pty {
		p.Stdin().Close()
	}
}

// watch waits for the end of the process, of ctx, or, after its grace, of
// cancel.
func watch(ctx context.Context, p lane.Process, done, cancel <-chan struct{}) ending {
	select {
	case <-done:
		return ending{}
	case <-ctx.Done():
		return ending{closed: true}
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
	return ending{cancelled: true}
}
