package rpc

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/selector"
	values "dragoman/internal/lane/template"
	"dragoman/wire/agent"
)

const (
	stageOpen   = "rpc/open"
	stageCall   = "rpc/call"
	stagePrompt = "rpc/prompt"
	stageRead   = "rpc/read"
)

// closeWait is how long sessionClose may take.
const closeWait = 2 * time.Second

// conn is one session with one process.
type conn struct {
	spec    *spec
	launch  lane.Launch
	process lane.Process
	peer    *peer
	drained chan struct{}   // closed when nobody reads stdout any more
	base    context.Context // ends at Close; of events outside a turn
	stop    context.CancelFunc
	turns   sync.WaitGroup

	mu      sync.Mutex
	native  string
	options agent.Options // model and effort of later turns
	current *turn         // runs, or was given up and has not ended at the agent
	closed  bool
	locked  bool // a turn had an uncertain effect: only a close helps
	// abandoned: we ended a turn that the agent is still at.
	abandoned bool
}

// Info is what the spec says, and the agent's id.
func (c *conn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	open, turn := c.spec.openSupport(c.launch.Resume), c.spec.turnSupport()
	info := lane.Info{
		NativeID: c.native,
		Capabilities: lane.Capabilities{
			Streaming:     c.spec.textMethod != "",
			Cancellation:  c.spec.cancel != nil || c.spec.killOnCancel,
			SessionResume: c.spec.resumes(),
			Model:         turn.Model, Effort: turn.Effort, Mode: open.Mode, Permission: open.Permission,
			Usage: true,
		},
		PromptStage: stagePrompt,
	}
	select {
	case <-c.peer.closed:
		info.Dead = true
	default:
	}
	return info
}

// CheckTurn refuses a turn's selectors.
func (c *conn) CheckTurn(o agent.Options) error {
	return c.spec.turnSupport().CheckTurn(agent.Options{Model: o.Model, Effort: o.Effort})
}

// Configure changes the model and effort of later turns; the rest was said in
// the setup and can't be said again.
func (c *conn) Configure(_ context.Context, o agent.Options, config map[string][]byte) error {
	if err := c.spec.turnSupport().CheckOpen(o); err != nil {
		return err
	}
	if len(config) > 0 {
		return agent.Fail(agent.CodeConfigurationUnavailable, agent.StageConfiguration, "this agent has no configuration values")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.options = selector.Overlay(c.options, o)
	return nil
}

// values are what placeholders stand for, with a turn's options over the
// session's.
func (c *conn) values(turn agent.Options) values.Values {
	v := values.Values{values.Cwd: c.launch.Dir, values.Prompt: ""}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := selector.Overlay(c.options, turn)
	if o.Model != nil {
		v.SetModel(*o.Model)
	}
	v.SetSome(values.Effort, o.Effort)
	if c.native != "" {
		v[values.SessionID] = c.native
	}
	return v
}

// expand fills a call's params; one without params sends null.
func (t *template) expand(v values.Values) ([]byte, error) {
	switch {
	case t.method == "":
		return nil, agent.Fail(agent.CodeMethodUnset, stageCall, "the spec gives the call no method")
	case t.params == nil:
		return null, nil
	}
	params, err := v.JSON(t.params)
	if err != nil {
		return nil, agent.Fail(agent.CodeMethodUnset, stageCall, err.Error())
	}
	return params, nil
}

// call makes one call and waits for its reply. The error is an *agent.Error,
// or ctx's.
func (c *conn) call(ctx context.Context, t *template, v values.Values) ([]byte, error) {
	params, err := t.expand(v)
	if err != nil {
		return nil, err
	}
	type answer struct {
		m   message
		err error
	}
	got := make(chan answer, 1)
	c.peer.start(t.method, params, func(m message, err error) { got <- answer{m, err} })
	select {
	case a := <-got:
		switch {
		case a.err != nil:
			return nil, c.lost(ctx, stageCall, a.err)
		case a.m.failed:
			return nil, refused(a.m, agent.Certain)
		}
		return a.m.result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// refused is the error of an error reply.
func refused(m message, quota agent.Certainty) *agent.Error {
	text := m.faultText()
	if agent.Quota(text) {
		return agent.FailQuota(stageCall, text, quota)
	}
	return agent.Fail(agent.CodeRemoteError, stageCall, text)
}

// lost is the error of a connection that ended, with what became of the
// process.
func (c *conn) lost(ctx context.Context, stage string, why error) *agent.Error {
	return agent.Fail(agent.CodeTransportFailed, stage, why.Error()+": "+lane.Ending(ctx, c.process))
}

// begin starts a turn: its context ends with ctx and at Close. end must be
// called.
func (c *conn) begin(ctx context.Context) (turn context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, nil, agent.Fail(agent.CodeSessionClosed, stagePrompt, "the session is closed")
	case c.locked:
		return nil, nil, agent.Fail(agent.CodeRecoveryRequired, stagePrompt, "an earlier turn may have had an effect that isn't known: close the session")
	}
	turn, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(c.base, cancel)
	c.turns.Add(1)
	return turn, func() { unhook(); cancel(); c.turns.Done() }, nil
}

// lockAfter locks the session after an uncertain error of a prompt that was
// sent.
func (c *conn) lockAfter(err error) {
	var e *agent.Error
	if errors.As(err, &e) && e.UncertainEffect {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.locked = true
	}
}

// Close ends a running turn, tells the agent if none ran, and returns when
// the process tree is gone.
func (c *conn) Close(ctx context.Context) error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	idle := c.current == nil && !c.abandoned
	c.mu.Unlock()
	c.stop()
	c.turns.Wait()
	if first && idle && c.spec.sessionClose != nil {
		c.sayClose(ctx)
	}
	return c.end(ctx)
}

// sayClose calls sessionClose; nothing hangs on its answer.
func (c *conn) sayClose(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	if _, err := c.call(ctx, c.spec.sessionClose, c.values(agent.Options{})); err != nil {
		c.launch.Log.Debug("sessionClose", "error", err)
	}
}

// end ends the process tree and the connection, and waits for what reads.
func (c *conn) end(ctx context.Context) error {
	err := c.process.End(ctx)
	if c.peer != nil {
		c.peer.link.close()
	}
	if err != nil {
		return agent.FailSystem(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err)
	}
	if c.peer != nil {
		<-c.peer.done
	}
	<-c.drained
	return nil
}
