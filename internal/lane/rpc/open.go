package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
	values "dragoman/internal/lane/template"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// errLate is the cause of a context that ended by a clock.
type errLate struct{ limit time.Duration }

func (e errLate) Error() string { return fmt.Sprintf("no answer within %v", e.limit) }

// Open starts the agent and makes or resumes its session.
func (p *spec) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	if l.OpenTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.OpenTimeout, errLate{l.OpenTimeout})
		defer cancel()
	}
	c, err := p.start(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := c.open(ctx); err != nil {
		if cleanup := c.abandon(ctx); cleanup != nil {
			return nil, cleanup
		}
		return nil, err
	}
	return c, nil
}

// start starts the process.
func (p *spec) start(ctx context.Context, l lane.Launch) (*conn, error) {
	servers, err := p.servers()
	if err != nil {
		return nil, err
	}
	env, err := mcp.AddEnv(l.Env, servers)
	if err != nil {
		return nil, invalidMCP(err.Error())
	}
	args := slices.Clone(p.command.Args)
	if p.announce != nil {
		if args, err = withPort(args); err != nil {
			return nil, agent.FailSystem(agent.CodeTransportFailed, stageOpen, err)
		}
	}
	if len(servers) > 0 {
		args = append(args, p.mcpConfig.Args(servers)...)
	}
	stdin := lane.StdinPipe
	if p.announce != nil {
		stdin = lane.StdinNull
	}
	process, err := l.Starter.Start(ctx, lane.Command{
		Program: p.command.Program, Args: args, Dir: l.Dir, Env: env, Stdin: stdin, SecretValues: mcp.Secrets(servers),
	})
	if err != nil {
		return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	c := &conn{spec: p, launch: l, process: process, native: l.Resume, options: l.Options, drained: make(chan struct{})}
	c.base, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// abandon ends what a failed Open has started.
func (c *conn) abandon(ctx context.Context) error {
	c.stop()
	return c.end(context.WithoutCancel(ctx))
}

// open connects, and makes the calls of the setup. The end of ctx lets go of
// a host that doesn't read; once the session is open, only Close does.
func (c *conn) open(ctx context.Context) error {
	keep := context.AfterFunc(ctx, c.stop)
	link, err := c.connect(ctx)
	if err != nil {
		return err
	}
	c.peer = newPeer(link, c.spec.envelope, c.notified, c.disconnected)
	go c.peer.serve()
	if err := c.setup(ctx); err != nil {
		return c.openError(err)
	}
	if !keep() {
		return c.openError(context.Cause(ctx))
	}
	return nil
}

// openError turns the end of a clock into a transport that failed.
func (c *conn) openError(err error) error {
	var late errLate
	var e *agent.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &late):
		return agent.Fail(agent.CodeTransportFailed, stageCall, late.Error())
	}
	return agent.Fail(agent.CodeTransportFailed, stageCall, "the open was given up: "+err.Error())
}

// connect makes the link; what is left of stdout is then nobody's business.
func (c *conn) connect(ctx context.Context) (link, error) {
	if c.spec.announce == nil {
		close(c.drained)
		return newStdio(c.process.Stdout(), c.process.Stdin(), c.spec.frameBytes), nil
	}
	return c.dial(ctx)
}

// setup makes the calls that come before the first turn, the first of them
// under the connect clock.
func (c *conn) setup(ctx context.Context) error {
	v := c.values(agent.Options{})
	v.SetSome(values.Mode, c.launch.Options.Mode)
	v.SetSome(values.Permission, c.launch.Options.Permission)
	call := c.firstCall
	if c.spec.initialize != nil {
		if _, err := call(ctx, c.spec.initialize, v); err != nil {
			return err
		}
		call = c.call
	}
	if c.spec.initialized != "" {
		if err := c.peer.send(c.spec.initialized, []byte("{}")); err != nil {
			return c.lost(ctx, stageCall, err)
		}
	}
	if t := c.spec.setupCall(c.launch.Resume); t != nil {
		result, err := call(ctx, t, v)
		if err != nil {
			return err
		}
		if c.launch.Resume == "" {
			c.setNative(nativeID(result))
		}
	}
	if c.spec.processScope {
		c.setNative(ownID(c.launch.Resume))
	}
	return nil
}

// firstCall is call under the connect clock.
func (c *conn) firstCall(ctx context.Context, t *template, v values.Values) ([]byte, error) {
	if c.launch.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.launch.ConnectTimeout, errLate{c.launch.ConnectTimeout})
		defer cancel()
	}
	return c.call(ctx, t, v)
}

func (c *conn) setNative(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.native = id
}

// idNames are where a reply's session id is.
var idNames = []string{"sessionId", "session_id", "id"}

// nativeID is the first string of idNames at the top of a reply, else one
// level down in document order, else "".
func nativeID(reply []byte) string {
	if id, ok := idIn(reply); ok {
		return id
	}
	members, err := ndjson.Members(reply)
	if err != nil {
		return ""
	}
	for _, m := range members {
		if m.Kind != ndjson.Object {
			continue
		}
		if id, ok := idIn(m.Value.Of(reply)); ok {
			return id
		}
	}
	return ""
}

func idIn(object []byte) (string, bool) {
	for _, name := range idNames {
		if raw, kind, ok := ndjson.Get(object, name); ok && kind == ndjson.String {
			return agent.String(raw)
		}
	}
	return "", false
}
