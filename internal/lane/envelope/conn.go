package envelope

import (
	"context"
	"errors"
	"strings"
	"sync"

	"dragoman/envelope/host"
	"dragoman/internal/lane"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
	"dragoman/wire/envelope"
)

// conn is one session.
type conn struct {
	plan *plan
	l    lane.Launch
	host *host.Host
	// life ends when Close begins.
	life context.Context
	end  context.CancelFunc
	// turn holds one token, which the running Prompt has.
	turn chan struct{}
	// work are the goroutines of the session. Outside of Open, only a Prompt
	// adds to it.
	work sync.WaitGroup

	closeMu sync.Mutex
	closed  bool
}

// open starts the agent. Nothing is left of one that fails to greet.
func (c *conn) open(ctx context.Context) error {
	c.life, c.end = context.WithCancel(context.Background())
	c.turn = make(chan struct{}, 1)
	var startErr error
	start := host.StarterFunc(func(ctx context.Context) (host.Link, error) {
		p, err := c.l.Starter.Start(ctx, lane.Command{
			Program: c.plan.spec.Command.Program, Args: c.plan.spec.Command.Args, Dir: c.l.Dir, Env: c.l.Env,
		})
		if err != nil {
			startErr = err
			return nil, err
		}
		return Link(p), nil
	})
	h, err := host.Start(ctx, start, host.Config{
		Grants:         c.plan.grants,
		Implementation: c.plan.implementation,
		HelloTimeout:   c.l.ConnectTimeout,
		Report: func(p host.Problem) {
			c.l.Log.Warn("protocol error of the agent", "code", p.Err.Code, "offset", p.Err.Offset)
		},
	})
	switch {
	case startErr != nil:
		return agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, startErr)
	case err != nil:
		c.end()
		return openFailure(err)
	}
	c.host = h
	if !h.Has(c.plan.operation) {
		c.giveUp(ctx)
		return agent.Fail(agent.CodeSessionOpenFailed, agent.StageOpen, "the agent doesn't offer "+c.plan.operation)
	}
	c.work.Go(func() {
		<-h.Done()
		c.l.Sink.Changed()
	})
	return nil
}

// giveUp closes a session that Open doesn't return.
func (c *conn) giveUp(ctx context.Context) {
	if err := c.Close(context.WithoutCancel(ctx)); err != nil {
		c.l.Log.Error("agent not ended after a failed open", "error", err)
	}
}

// openFailure translates how a greeting failed.
func openFailure(err error) error {
	var e *host.Error
	if !errors.As(err, &e) {
		return agent.Fail(agent.CodeProtocolFailed, agent.StageOpen, err.Error())
	}
	if e.Protocol != nil && e.Protocol.Code == envelope.UnsupportedVersion {
		return agent.Fail(agent.CodeProtocolVersionUnsupported, agent.StageOpen, e.Protocol.Detail)
	}
	return agent.Fail(agent.CodeProtocolFailed, agent.StageOpen, e.Message)
}

// support is what the agent can be asked to use.
func (c *conn) support() selector.Support {
	return selector.Support{
		Model:  c.host.Has(c.plan.operation + modelSuffix),
		Effort: c.host.Has(c.plan.operation + effortSuffix),
	}
}

// Info is what both hellos say.
func (c *conn) Info() lane.Info {
	support := c.support()
	name, version, _ := strings.Cut(c.host.Agent().Implementation, " ")
	return lane.Info{
		Capabilities: lane.Capabilities{
			Streaming: true, Cancellation: true,
			PermissionPrompts: c.host.Has(c.plan.operation + permitSuffix),
			Model:             support.Model, Effort: support.Effort, Usage: true,
		},
		AgentName: name, AgentVersion: version,
		State:        []byte("{}"),
		TextInChunks: true,
		Dead:         c.host.Err() != nil,
	}
}

// CheckTurn refuses a turn's options.
func (c *conn) CheckTurn(o agent.Options) error { return c.support().CheckTurn(o) }

// Close ends the agent.
func (c *conn) Close(ctx context.Context) error {
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return nil
	}
	// A running turn tells the agent and answers its questions; the host's
	// cancel ladder bounds it.
	c.end()
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, ctx.Err().Error())
	}
	defer func() { <-c.turn }()
	if err := c.host.Close(ctx); err != nil {
		return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err.Error())
	}
	c.work.Wait()
	c.closed = true
	return nil
}
