package serve

import (
	"context"
	"fmt"
	"io"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
	"dragoman/wire/agent"
)

// Open starts the server and makes a session.
func (p *spec) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	if l.OpenTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.OpenTimeout)
		defer cancel()
	}
	servers, env, err := p.environment(l)
	if err != nil {
		return nil, err
	}
	process, err := l.Starter.Start(ctx, lane.Command{
		Program: p.spec.Command.Program, Args: p.spec.Command.Args, Dir: l.Dir, Env: env,
		Stdin: lane.StdinNull, SecretValues: mcp.Secrets(servers),
	})
	if err != nil {
		return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	c := newConn(p, l, process)
	a, err := c.listen(ctx)
	if err != nil {
		return nil, c.abandon(ctx, err)
	}
	if a.legacy {
		return c.handOver(ctx, a, servers)
	}
	c.client = newClient(a, process)
	if err := c.create(ctx); err != nil {
		return nil, c.abandon(ctx, err)
	}
	return c, nil
}

// environment merges the MCP servers into the child's configuration, and
// holds the permission against the result.
func (p *spec) environment(l lane.Launch) ([]mcp.Server, []string, error) {
	servers, err := p.servers()
	if err != nil {
		return nil, nil, err
	}
	env, config := l.Env, configOf(l.Env)
	if len(servers) > 0 {
		if config, err = mergeServers(config, servers); err != nil {
			return nil, nil, invalidMCP(err)
		}
		env = withConfig(env, config)
	}
	if l.Options.Permission != nil && !readOnlyProof(config) {
		return nil, nil, noProof(unproven)
	}
	return servers, env, nil
}

// listen waits for the announcement, for the connect clock at most. stdout is
// read to its end in any case.
func (c *conn) listen(ctx context.Context) (announcement, error) {
	type found struct {
		a   announcement
		err error
	}
	heard := make(chan found, 1)
	go func() {
		defer close(c.drained)
		r := newLineReader(c.process.Stdout())
		a, err := announced(r)
		heard <- found{a, err}
		io.Copy(io.Discard, r)
	}()
	var late <-chan time.Time
	if c.launch.ConnectTimeout > 0 {
		timer := time.NewTimer(c.launch.ConnectTimeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case f := <-heard:
		switch {
		case f.err == errSilent:
			return f.a, openFailed(f.err.Error() + ": " + lane.Ending(ctx, c.process))
		case f.err != nil:
			return f.a, openFailed(f.err.Error())
		}
		if err := checkLoopback(f.a.url); err != nil {
			return f.a, openFailed(err.Error())
		}
		return f.a, nil
	case <-late:
		return announcement{}, openFailed(fmt.Sprintf("the agent doesn't say where it listens within %v", c.launch.ConnectTimeout))
	case <-ctx.Done():
		return announcement{}, openFailed("the open was given up: " + context.Cause(ctx).Error())
	}
}

func openFailed(detail string) *agent.Error {
	return agent.FailFlags(agent.CodeProtocolFailed, agent.StageOpen, detail, agent.FlagsFinal)
}

// handOver gives a server of the older surface to the lane that knows it.
func (c *conn) handOver(ctx context.Context, a announcement, servers []mcp.Server) (lane.Conn, error) {
	legacy := c.spec.driver.Legacy
	if legacy == nil {
		return nil, c.abandon(ctx, openFailed("the agent is a server of the older kind, which isn't served here"))
	}
	conn, err := legacy(ctx, LegacyServer{Spec: c.spec.spec, Launch: c.launch, Process: c.process, URL: a.url, Servers: servers})
	if err != nil {
		return nil, c.abandon(ctx, err)
	}
	return conn, nil
}

// create makes the session, with the model that was asked for.
func (c *conn) create(ctx context.Context) error {
	id, err := c.client.createSession(ctx)
	if err != nil {
		return err
	}
	c.native = id
	if model := c.launch.Options.Model; model != nil {
		return c.client.setModel(ctx, id, *model)
	}
	return nil
}

// abandon ends the server of an open that failed; err is the open's, unless
// something of the server is left.
func (c *conn) abandon(ctx context.Context, err error) error {
	if cleanup := c.Close(context.WithoutCancel(ctx)); cleanup != nil {
		return cleanup
	}
	return err
}
