package serve

import (
	"context"
	"sync"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// conn is one session with one server.
type conn struct {
	spec    *spec
	launch  lane.Launch
	process lane.Process
	client  *client
	native  string          // doesn't change once Open has returned
	drained chan struct{}   // closed when stdout has ended
	base    context.Context // ends at Close
	stop    context.CancelFunc
	turns   sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

func newConn(p *spec, l lane.Launch, process lane.Process) *conn {
	base, stop := context.WithCancel(context.Background())
	return &conn{spec: p, launch: l, process: process, drained: make(chan struct{}), base: base, stop: stop}
}

// Info is the same for every session but for its id.
func (c *conn) Info() lane.Info {
	info := lane.Info{
		NativeID: c.native,
		Capabilities: lane.Capabilities{
			Cancellation: true, Model: true, Permission: true, Usage: true,
		},
	}
	select {
	case <-c.process.Exited():
		info.Dead = true
	default:
	}
	return info
}

// CheckTurn refuses a turn's selectors.
func (c *conn) CheckTurn(o agent.Options) error {
	turn := support
	turn.Permission = false
	return turn.CheckTurn(agent.Options{Model: o.Model, Effort: o.Effort})
}

// Configure sets the session's model; nothing else can change.
func (c *conn) Configure(ctx context.Context, o agent.Options, config map[string][]byte) error {
	model := support
	model.Permission = false
	if err := model.CheckOpen(o); err != nil {
		return err
	}
	if len(config) > 0 {
		return agent.Fail(agent.CodeConfigurationUnavailable, agent.StageConfiguration, "this agent has no configuration values")
	}
	if o.Model == nil {
		return nil
	}
	return c.client.setModel(ctx, c.native, *o.Model)
}

// begin starts a turn: its context ends with ctx and at Close. end must be
// called.
func (c *conn) begin(ctx context.Context) (turn context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, agent.Fail(agent.CodeSessionClosed, agent.StagePrompt, "the session is closed")
	}
	turn, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(c.base, cancel)
	c.turns.Add(1)
	return turn, func() { unhook(); cancel(); c.turns.Done() }, nil
}

// Close ends a running turn and the server, and returns when its process tree
// is gone.
func (c *conn) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.turns.Wait()
	if c.client != nil {
		c.client.http.CloseIdleConnections()
	}
	if err := c.process.End(ctx); err != nil {
		return agent.FailSystem(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err)
	}
	<-c.drained
	return nil
}
