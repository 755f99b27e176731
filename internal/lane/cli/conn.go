package cli

import (
	"context"
	"sync"

	"dragoman/internal/lane"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
)

// conn is one session: a binding, and at most one running turn.
type conn struct {
	spec   *spec
	launch lane.Launch
	base   context.Context // ends at Close
	stop   context.CancelFunc
	turns  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	binding string
	options agent.Options // of later turns
	locked  bool          // a turn had an uncertain effect: only a close helps
	running lane.Process
	left    []lane.Process // trees that couldn't be ended
}

func newConn(p *spec, l lane.Launch) *conn {
	base, stop := context.WithCancel(context.Background())
	return &conn{spec: p, launch: l, base: base, stop: stop, binding: l.Resume, options: l.Options}
}

// Info is what the spec says, and the binding so far.
func (c *conn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	can := c.spec.support()
	return lane.Info{
		NativeID: c.binding,
		Capabilities: lane.Capabilities{
			Streaming: true, Cancellation: true, SessionResume: c.spec.resumes(),
			Model: can.Model, Effort: can.Effort, Mode: can.Mode, Permission: can.Permission,
			Usage: c.spec.jsonLines && c.spec.usagePath != nil || c.spec.receiptUsage,
		},
	}
}

// CheckTurn refuses a turn's selectors.
func (c *conn) CheckTurn(o agent.Options) error { return c.spec.checkTurn(o) }

// Configure changes the options of later turns. Config values are nothing
// that a cli agent has.
func (c *conn) Configure(_ context.Context, o agent.Options, config map[string][]byte) error {
	if err := c.spec.checkOptions(o); err != nil {
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

// turnOptions are a turn's options over the session's.
func (c *conn) turnOptions(turn agent.Options) agent.Options {
	c.mu.Lock()
	defer c.mu.Unlock()
	return selector.Overlay(c.options, agent.Options{Model: turn.Model, Effort: turn.Effort})
}

// bind takes the agent's own id.
func (c *conn) bind(id string) {
	c.mu.Lock()
	changed := c.binding != id
	c.binding = id
	c.mu.Unlock()
	if changed {
		c.launch.Sink.Changed()
	}
}

// begin starts a turn: its context ends with ctx and at Close. end must be
// called.
func (c *conn) begin(ctx context.Context) (turn context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, nil, agent.Fail(agent.CodeSessionClosed, agent.StagePrompt, "the session is closed")
	case c.locked:
		return nil, nil, agent.Fail(agent.CodeRecoveryRequired, agent.StagePrompt, "an earlier turn may have had an effect that isn't known: close the session")
	}
	turn, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(c.base, cancel)
	c.turns.Add(1)
	return turn, func() { unhook(); cancel(); c.turns.Done() }, nil
}

// Close ends a running turn and returns when its process tree is gone.
func (c *conn) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.turns.Wait()
	c.mu.Lock()
	left := c.left
	c.left = nil
	c.mu.Unlock()
	var failed error
	for _, p := range left {
		if err := p.End(ctx); err != nil {
			c.leave(p)
			failed = agent.FailSystem(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err)
		}
	}
	return failed
}

// leave keeps a tree that couldn't be ended, for Close.
func (c *conn) leave(p lane.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = append(c.left, p)
}

// setRunning says which process the session's terminal belongs to.
func (c *conn) setRunning(p lane.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = p
}

// Resize sets the size of the running turn's terminal. Between turns there is
// none, and nothing to do; a later turn begins with the usual size.
func (c *conn) Resize(cols, rows int) error {
	c.mu.Lock()
	p, ok := c.running.(lane.TerminalProcess)
	c.mu.Unlock()
	if !ok {
		return nil
	}
	return p.SetSize(cols, rows)
}
