package acp

import (
	"context"
	"strings"
	"time"

	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
)

// stageEstablish is that of a setup reply that can't be read.
const stageEstablish = "session/establish"

// open runs the setup (sidecar.md §5): initialize, authenticate with the key,
// the session, options.
func (c *conn) open(ctx context.Context) error {
	// What is emitted in the open must not outlast its context.
	stop := context.AfterFunc(ctx, c.end)
	defer stop()
	if limit := c.l.OpenTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &clockError{"the open", limit})
		defer cancel()
	}
	if err := c.initialize(ctx); err != nil {
		return err
	}
	if c.key != "" {
		if err := c.authenticate(ctx); err != nil {
			c.log().Debug("authenticate with the key", "error", err)
		}
	}
	if err := c.establish(ctx); err != nil {
		return err
	}
	return c.apply(ctx, c.l.Options)
}

func (c *conn) initialize(ctx context.Context) error {
	if limit := c.l.ConnectTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &clockError{"initialize", limit})
		defer cancel()
	}
	name := c.plan.spec.ClientName
	if name == "" {
		name = defaultClientName
	}
	serves := c.l.Workspace != nil
	result, err := c.call(ctx, wire.MethodInitialize, wire.MethodInitialize, wire.InitializeParams{
		ProtocolVersion: wire.ProtocolVersion,
		ClientCapabilities: wire.ClientCapabilities{
			FS:       wire.FileSystem{ReadTextFile: serves, WriteTextFile: serves},
			Terminal: serves,
		},
		ClientInfo: wire.Implementation{Name: name, Version: c.plan.version},
	})
	if err != nil {
		return err
	}
	hello, err := wire.ReadInitialized(result)
	switch err.(type) {
	case nil:
	case *wire.VersionError:
		return agent.Fail(agent.CodeProtocolVersionUnsupported, wire.MethodInitialize, err.Error())
	default:
		return agent.Fail(agent.CodeProtocolFailed, wire.MethodInitialize, err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agent = hello
	return nil
}

// authenticate tries the agent's methods until one succeeds, with the key
// where there is one. It is called only with a key, or after a refusal.
func (c *conn) authenticate(ctx context.Context) error {
	var meta *wire.AuthMeta
	if c.key != "" {
		meta = &wire.AuthMeta{APIKey: c.key}
	}
	var err error
	for _, method := range c.agent.AuthMethods {
		if method.Terminal {
			continue
		}
		_, err = c.call(ctx, wire.MethodAuthenticate, wire.MethodAuthenticate,
			wire.AuthenticateParams{MethodID: method.ID, Meta: meta})
		if err == nil || ctx.Err() != nil || c.link.Err() != nil {
			return err
		}
	}
	return err
}

// establish makes or restores the session, once more after authenticating if
// the agent asks for that.
func (c *conn) establish(ctx context.Context) error {
	method := wire.MethodNew
	if c.l.Resume != "" {
		method = c.restoreMethod()
	}
	if method == "" {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageResume, "the agent offers neither session/load nor session/resume")
	}
	err := c.session(ctx, method)
	if !authRequired(err) || len(c.agent.AuthMethods) == 0 {
		return err
	}
	if failed := c.authenticate(ctx); failed != nil {
		c.log().Debug("authenticate", "error", failed)
		return c.nameMethods(err)
	}
	if err = c.session(ctx, method); authRequired(err) {
		return c.nameMethods(err)
	}
	return err
}

// nameMethods adds the ways to authenticate to a refusal.
func (c *conn) nameMethods(err error) error {
	refusal := *err.(*agent.Error)
	var names []string
	for _, method := range c.agent.AuthMethods {
		names = append(names, method.ID)
	}
	refusal.Detail += " (methods: " + strings.Join(names, ", ") + ")"
	return &refusal
}

// restoreMethod chooses between load and resume; "" if neither is offered.
func (c *conn) restoreMethod() string {
	switch {
	case c.offersLoad() && (c.plan.preferLoad || !c.offersResume()):
		return wire.MethodLoad
	case c.offersResume():
		return wire.MethodResume
	}
	return ""
}

// session makes the session by one of the three methods and reads the reply.
func (c *conn) session(ctx context.Context, method string) error {
	c.mu.Lock()
	c.native, c.loaded = c.l.Resume, method == wire.MethodLoad
	c.mu.Unlock()
	c.restored.Store(method != wire.MethodNew)
	result, err := c.call(ctx, method, method, wire.SessionParams{
		SessionID: c.l.Resume, Dir: c.l.Dir, MCPServers: c.plan.servers,
	})
	if err != nil {
		return err
	}
	return c.established(method, result)
}

func (c *conn) established(method string, result []byte) error {
	reply := wire.AsObject(result)
	if reply == nil && (method == wire.MethodNew || string(result) != "null") {
		return agent.Fail(agent.CodeProtocolError, stageEstablish, "the reply to "+method+" is not an object")
	}
	c.heard.Store(time.Now().UnixNano())
	c.mu.Lock()
	defer c.mu.Unlock()
	if method == wire.MethodNew {
		id, ok := reply.Text("sessionId")
		if !ok {
			return agent.Fail(agent.CodeProtocolError, wire.MethodNew, "the reply has no sessionId")
		}
		c.native = id
	}
	c.state.read(reply)
	return nil
}
