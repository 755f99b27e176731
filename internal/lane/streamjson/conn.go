package streamjson

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// conn is one session: an id, and at most one running turn.
type conn struct {
	plan *plan
	l    lane.Launch
	life context.Context // ends at Close
	end  context.CancelFunc

	turns sync.WaitGroup

	mu     sync.Mutex
	closed bool
	native string
	// version is what the last process said.
	version string
	left    []lane.Process // trees that couldn't be ended
}

func newConn(p *plan, l lane.Launch) *conn {
	c := &conn{plan: p, l: l, native: l.Resume}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

func (c *conn) log() *slog.Logger {
	if c.l.Log != nil {
		return c.l.Log
	}
	return slog.New(slog.DiscardHandler)
}

// Info is what the dialect can, and what its processes said.
func (c *conn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return lane.Info{
		NativeID:  c.native,
		AgentName: c.plan.dialect.agentName, AgentVersion: c.version,
		State:        []byte("{}"),
		TextInChunks: true,
		Capabilities: lane.Capabilities{
			Streaming: true, Cancellation: true, SessionResume: true,
			Model: can.Model, Mode: can.Mode, Permission: can.Permission, Usage: true,
		},
	}
}

// CheckTurn refuses a turn's selectors.
func (c *conn) CheckTurn(o agent.Options) error {
	if err := can.CheckTurn(o); err != nil {
		return err
	}
	if o.Model != nil && strings.HasPrefix(*o.Model, "-") {
		return agent.Fail(agent.CodeModelUnsupported, agent.StageTurnConfig, "the model looks like a flag")
	}
	return nil
}

// learn takes what a process says of the session.
func (c *conn) learn(native, version string) {
	c.mu.Lock()
	changed := native != "" && native != c.native || version != "" && version != c.version
	if native != "" {
		c.native = native
	}
	if version != "" {
		c.version = version
	}
	c.mu.Unlock()
	if changed {
		c.l.Sink.Changed()
	}
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
	unhook := context.AfterFunc(c.life, cancel)
	c.turns.Add(1)
	return turn, func() { unhook(); cancel(); c.turns.Done() }, nil
}

// Close ends a running turn and returns when its process tree is gone.
func (c *conn) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
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
