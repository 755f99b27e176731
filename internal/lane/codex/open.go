package codex

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A clockError says which clock ran out.
type clockError struct {
	what  string
	limit time.Duration
}

func (e *clockError) Error() string { return fmt.Sprintf("%s took more than %v", e.what, e.limit) }

// within is ctx with a limit, none for 0.
func within(ctx context.Context, what string, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, &clockError{what, limit})
}

// openThread takes a server and opens a thread of it.
func (p *plan) openThread(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	parent := ctx
	ctx, cancel := within(ctx, "the open", l.OpenTimeout)
	defer cancel()
	e, err := p.acquire(ctx, l)
	if err != nil {
		return nil, opening(err)
	}
	c := newConn(p, l, e)
	// What is emitted in the open must not outlast its context.
	stop := context.AfterFunc(parent, c.mute)
	defer stop()
	if err := c.open(ctx); err != nil {
		if closing := c.Close(context.WithoutCancel(ctx)); closing != nil {
			c.server.log.Error("agent not ended after a failed open", "error", closing)
		}
		return nil, opening(err)
	}
	return c, nil
}

// acquire finds or starts the server.
func (p *plan) acquire(ctx context.Context, l lane.Launch) (*entry, error) {
	start := func() (*server, error) { return p.start(ctx, l) }
	if key, ok := p.key(l); ok {
		return p.driver.pool.acquire(ctx, key, start)
	}
	s, err := start()
	if err != nil {
		return nil, err
	}
	return &entry{server: s, refs: 1}, nil
}

// startParams open a thread, a new one or an old one.
type startParams struct {
	Thread  string                    `json:"threadId,omitzero"`
	Cwd     string                    `json:"cwd,omitzero"`
	Model   string                    `json:"model,omitzero"`
	Policy  string                    `json:"approvalPolicy,omitzero"`
	Sandbox string                    `json:"sandbox,omitzero"`
	Config  map[string]jsontext.Value `json:"config,omitzero"`
}

// open opens the thread, alone among the server's sessions: what comes of a
// thread that nobody knows is its.
func (c *conn) open(ctx context.Context) error {
	select {
	case c.server.opening <- struct{}{}:
		defer func() { <-c.server.opening }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !c.server.attach(c) {
		return c.lost(ctx, agent.StageOpen)
	}
	defer c.server.settled(c)
	config, err := c.plan.threadConfig()
	if err != nil {
		return err
	}
	o := c.state.options
	method, params := "thread/start", startParams{
		Thread: c.l.Resume, Cwd: c.l.Dir, Model: text(o.Model), Policy: text(o.Mode), Sandbox: text(o.Permission), Config: config,
	}
	if c.l.Resume != "" {
		method = "thread/resume"
		c.server.bind(c, c.l.Resume)
	}
	body, err := encode(params)
	if err != nil {
		return err
	}
	result, err := c.server.call(ctx, method, body)
	if err != nil {
		return err
	}
	return c.opened(ctx, acp.AsObject(result))
}

// opened takes the answer to the start, and checks what was chosen.
func (c *conn) opened(ctx context.Context, result acp.Object) error {
	thread := result.Object("thread")
	id := thread.Str("id")
	if id == "" {
		return agent.Fail(agent.CodeSessionIDMissing, agent.StageOpen, "the thread has no id")
	}
	c.server.bind(c, id)
	o := c.state.options
	for _, check := range []struct{ name, asked, got string }{
		{"approval policy", text(o.Mode), result.Str("approvalPolicy")},
		{"sandbox", policyType(text(o.Permission)), result.Object("sandbox").Str("type")},
	} {
		if check.asked != "" && check.got != "" && check.got != check.asked {
			detail := fmt.Sprintf("the %s is %s after %s was asked for", check.name, check.got, check.asked)
			return agent.Fail(agent.CodeConfigurationRejected, agent.StageConfiguration, detail)
		}
	}
	models := c.models(ctx)
	c.mu.Lock()
	c.thread = id
	c.state.take(result)
	c.state.models = models
	c.mu.Unlock()
	return nil
}

// modelsWait is how long an open waits for the list of models, which the
// session can do without.
const modelsWait = 5 * time.Second

// models lists the models; none where the agent can't.
func (c *conn) models(ctx context.Context) []modelEntry {
	ctx, cancel := context.WithTimeout(ctx, modelsWait)
	defer cancel()
	result, err := c.server.peer.Call(ctx, "model/list", []byte("{}"))
	if err != nil {
		c.server.log.Debug("no list of models", "error", err)
		return nil
	}
	return readModels(acp.AsObject(result))
}

func threadParams(thread string) []byte {
	b, err := encode(struct {
		Thread string `json:"threadId"`
	}{thread})
	if err != nil {
		return nil // texts always encode
	}
	return b
}

// Fork copies the thread.
func (c *conn) Fork(ctx context.Context) (string, error) {
	const stage = "session/fork"
	result, err := c.server.peer.Call(ctx, "thread/fork", threadParams(c.Info().NativeID))
	if err != nil {
		return "", agent.Fail(agent.CodeProtocolFailed, stage, err.Error())
	}
	id := acp.AsObject(result).Object("thread").Str("id")
	if id == "" {
		return "", agent.Fail(agent.CodeSessionIDMissing, stage, "the copy has no id")
	}
	return id, nil
}
