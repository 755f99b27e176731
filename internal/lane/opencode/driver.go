package opencode

import (
	"context"
	"slices"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
)

// can is what the lane's options serve; the mode is OpenCode's agent.
var can = selector.Support{Model: true, Mode: true}

// A Driver opens OpenCode.
type Driver struct{}

// plan is a parsed spec.
type plan struct {
	spec *agent.Spec
	// agent is the mode to begin with, "" for OpenCode's own.
	agent     string
	servers   []mcp.Server
	serverErr error
}

// Parse reads agent and mcpServers; unknown members are errors (lanes.md §11).
func (Driver) Parse(spec *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(spec)
	p := &plan{spec: spec, agent: f.Str("agent")}
	p.servers, p.serverErr = mcp.Parse(f.List("mcpServers"))
	if err := f.Close(); err != nil {
		return nil, err
	}
	return p, nil
}

// CheckEnv has nothing to hold.
func (*plan) CheckEnv() error { return nil }

// Check refuses what OpenCode can't do. Which models and agents it has is
// known once it runs.
func (p *plan) Check(o agent.Options, resume string) error {
	if err := can.CheckOpen(o); err != nil {
		return err
	}
	if resume != "" && !isID(resume) {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "the session id to resume is none of OpenCode's")
	}
	if p.serverErr != nil {
		return invalidMCP(p.serverErr)
	}
	return nil
}

func invalidMCP(err error) error {
	return agent.Fail(agent.CodeMCPServerInvalid, agent.StageOpen, err.Error())
}

// isID reports whether text can stand in a path: letters, digits and _.
func isID(text string) bool {
	return text != "" && !slices.ContainsFunc([]rune(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// environment adds the password and the MCP servers.
func (p *plan) environment(env []string, password string) ([]string, error) {
	env = with(with(env, envPassword, password), envUser, defaultUser)
	if len(p.servers) == 0 {
		return env, nil
	}
	config, err := mergeServers(lookup(env, envConfig), p.servers)
	if err != nil {
		return nil, invalidMCP(err)
	}
	return with(env, envConfig, config), nil
}

// Open starts a server with a password of its own, and makes or finds the
// session.
func (p *plan) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	password := newPassword()
	env, err := p.environment(l.Env, password)
	if err != nil {
		return nil, err
	}
	process, err := l.Starter.Start(ctx, lane.Command{
		Program: p.spec.Command.Program, Dir: l.Dir, Env: env, Stdin: lane.StdinNull,
		Args:         slices.Concat(p.spec.Command.Args, []string{"serve", "--hostname", "127.0.0.1", "--port", "0"}),
		SecretValues: append(mcp.Secrets(p.servers), password),
	})
	if err != nil {
		return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	c := newConn(p, l, process)
	go c.listen()
	return opened(ctx, c, func(ctx context.Context) error {
		base, err := c.address(ctx)
		if err != nil {
			return err
		}
		c.client = newClient(base, l.Dir, defaultUser, password)
		return c.open(ctx)
	})
}

// Attach opens a session with a server that runs already and has announced
// base; its stdout is read to its end by somebody else. The session owns the
// process from then on, also when Attach fails.
func Attach(ctx context.Context, spec *agent.Spec, l lane.Launch, process lane.Process, base string) (lane.Conn, error) {
	c := newConn(&plan{spec: spec}, l, process)
	go c.watch()
	return opened(ctx, c, func(ctx context.Context) error {
		user := lookup(l.Env, envUser)
		if user == "" {
			user = defaultUser
		}
		c.client = newClient(base, l.Dir, user, lookup(l.Env, envPassword))
		return c.open(ctx)
	})
}

// opened runs what makes a session, and ends the server if it fails.
func opened(ctx context.Context, c *conn, open func(context.Context) error) (lane.Conn, error) {
	err := c.opening(ctx, open)
	if err == nil {
		return c, nil
	}
	if closing := c.Close(context.WithoutCancel(ctx)); closing != nil {
		c.log().Error("agent not ended after a failed open", "error", closing)
	}
	return nil, err
}
