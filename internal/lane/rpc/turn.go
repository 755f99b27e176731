package rpc

import (
	"context"
	"strings"
	"sync"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/budget"
	values "dragoman/internal/lane/template"
	"dragoman/wire/agent"
)

// cancelWait is how long an agent may take to end a turn after a cancel, and
// how long the next prompt waits for that (sidecar.md §2).
const cancelWait = 10 * time.Second

// A phase is how far a turn has come.
type phase int

const (
	preparing phase = iota // preTurn: nothing of the prompt was sent
	sent                   // the prompt is under way
	replied                // the prompt's reply came; a notification ends the turn
	over                   // the agent has ended the turn
)

// turn is one prompt. Its end at the agent (over) and its end for the host
// (settled) differ when a cancel isn't answered.
type turn struct {
	conn   *conn
	number uint64
	ctx    context.Context // of its events

	// What the reading goroutine alone touches.
	output    budget.Budget
	truncated bool

	mu      sync.Mutex
	phase   phase
	id      string
	idKnown chan struct{}
	told    chan struct{} // closed when the agent was told of a cancel
	early   []completed   // before the reply
	text    strings.Builder
	said    bool // there was text, whether it fitted or not
	usage   *agent.Usage
	mark    []byte // the params of the last failure mark
	cut     bool
	outcome agent.Outcome // valid once ended is closed
	err     error
	ended   chan struct{} // closed when the agent has ended the turn
}

// completed is a notification that may end the turn.
type completed struct {
	id      string
	status  string
	textLen int
}

// Prompt runs one turn.
func (c *conn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return agent.Outcome{}, err
	}
	defer end()
	switch ready, err := c.waitOld(ctx, t.Cancel); {
	case err != nil:
		return agent.Outcome{}, err
	case !ready:
		return agent.Outcome{StopReason: agent.StopCancelled}, nil
	}
	x := &turn{conn: c, number: t.Number, ctx: ctx, output: budget.New(c.spec.max),
		idKnown: make(chan struct{}), told: make(chan struct{}), ended: make(chan struct{})}
	c.mu.Lock()
	c.current = x
	c.mu.Unlock()
	return x.run(t)
}

// waitOld waits for the end of a turn that was given up. ready is false when
// this one is cancelled meanwhile.
func (c *conn) waitOld(ctx context.Context, cancel <-chan struct{}) (ready bool, err error) {
	select {
	case <-cancel:
		return false, nil
	default:
	}
	c.mu.Lock()
	old := c.current
	c.mu.Unlock()
	if old == nil {
		return true, nil
	}
	timer := time.NewTimer(cancelWait)
	defer timer.Stop()
	select {
	case <-old.ended:
		return true, nil
	case <-cancel:
	case <-ctx.Done():
	case <-timer.C:
		return false, agent.Fail(agent.CodeRecoveryRequired, stagePrompt, "the turn before was cancelled and has not ended: close the session")
	}
	return false, nil
}

// run prepares and sends the prompt, and waits for the turn's end.
func (x *turn) run(t lane.Turn) (agent.Outcome, error) {
	v := x.conn.values(t.Options)
	v[values.Prompt] = t.Text
	params, err := x.conn.spec.prompt.expand(v)
	if err == nil {
		err = x.prepare(v, t.Cancel)
	}
	if err != nil || closed(t.Cancel) || x.ctx.Err() != nil {
		x.finish(agent.Outcome{StopReason: agent.StopCancelled}, err)
		return x.outcome, x.err
	}
	x.mu.Lock()
	x.phase = sent
	x.mu.Unlock()
	live := x.conn.alive()
	x.conn.peer.start(x.conn.spec.prompt.method, params, x.reply)
	out, err := x.wait(t.Cancel)
	if live {
		x.conn.lockAfter(err)
	}
	return out, err
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// alive reports whether the connection stands.
func (c *conn) alive() bool { return !closed(c.peer.closed) }

// prepare makes the preTurn calls. A call whose members all fell away is
// skipped. A cancel counts when the call has ended, also in an error.
func (x *turn) prepare(v values.Values, cancel <-chan struct{}) error {
	for _, call := range x.conn.spec.preTurn {
		if closed(cancel) {
			return nil
		}
		if call.fellAway(v) {
			continue
		}
		if _, err := x.conn.call(x.ctx, call, v); err != nil {
			if closed(cancel) || x.ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	return nil
}

// fellAway reports whether nothing is left of a call's members.
func (t *template) fellAway(v values.Values) bool {
	if t.params == nil || compact(t.params) == "{}" {
		return false
	}
	params, err := v.JSON(t.params)
	return err == nil && string(params) == "{}"
}

// wait waits for the end of the turn at the agent, a cancel, or the close.
func (x *turn) wait(cancel <-chan struct{}) (agent.Outcome, error) {
	select {
	case <-x.ended:
		return x.outcome, x.err
	case <-x.ctx.Done():
		return x.closing(), nil
	case <-cancel:
	}
	if err := x.cancellable(); err != nil {
		// session/cancel was answered with it; the turn goes on.
		select {
		case <-x.ended:
			return x.outcome, x.err
		case <-x.ctx.Done():
			return x.closing(), nil
		}
	}
	if x.conn.spec.killOnCancel {
		return x.kill(), nil
	}
	ctx, stop := context.WithTimeout(x.ctx, cancelWait)
	defer stop()
	err := x.tell(ctx)
	close(x.told)
	if err != nil {
		x.conn.launch.Log.Debug("cancel", "error", err)
	}
	select {
	case <-x.ended:
		return x.outcome, x.err
	case <-ctx.Done():
	}
	if x.ctx.Err() != nil {
		return x.closing(), nil
	}
	out := x.soFar()
	out.StopReason, out.Suspect = agent.StopCancelled, agent.SuspectCancelUnanswered
	return out, nil
}

// closing is the outcome of a turn that we end with the session.
func (x *turn) closing() agent.Outcome {
	out := x.soFar()
	out.StopReason, out.Usage = agent.StopCancelled, nil
	x.conn.mu.Lock()
	x.conn.abandoned = true
	x.conn.mu.Unlock()
	x.finish(out, nil)
	return out
}

// soFar is an outcome with what came until now.
func (x *turn) soFar() agent.Outcome {
	x.mu.Lock()
	defer x.mu.Unlock()
	return agent.Outcome{Text: x.text.String(), Truncated: x.cut, Usage: x.usage}
}

// kill ends the process tree, and the turn with it.
func (x *turn) kill() agent.Outcome {
	out := x.closing()
	if err := x.conn.process.End(context.WithoutCancel(x.ctx)); err != nil {
		x.conn.launch.Log.Warn("a process tree is left", "pid", x.conn.process.PID(), "error", err)
	}
	// The next prompt must find the connection gone.
	x.conn.peer.fail(errPeerClosed)
	return out
}

// finish settles the turn, once.
func (x *turn) finish(out agent.Outcome, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.finishLocked(out, err)
}

func (x *turn) finishLocked(out agent.Outcome, err error) {
	if x.phase == over {
		return
	}
	if err != nil {
		out = agent.Outcome{}
	}
	x.phase, x.outcome, x.err = over, out, err
	x.conn.mu.Lock()
	if x.conn.current == x {
		x.conn.current = nil
	}
	x.conn.mu.Unlock()
	close(x.ended)
}
