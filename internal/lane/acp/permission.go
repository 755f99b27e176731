package acp

import (
	"bytes"
	"context"
	"strings"

	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
)

// Request serves the agent's requests; those that we don't know are answered
// -32601 (sidecar.md §5).
func (c *conn) Request(_ context.Context, r *jsonrpc.Request) {
	if r.Method == wire.MethodPermission {
		c.permission(r)
		return
	}
	if serve := services[r.Method]; serve != nil && c.l.Workspace != nil {
		r.Go(func(ctx context.Context, r *jsonrpc.Request) { c.serveWorkspace(ctx, r, serve) })
		return
	}
	c.answered(r, r.Fail(&jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}))
}

// answered logs an answer that couldn't be given: the agent is gone.
func (c *conn) answered(r *jsonrpc.Request, err error) {
	if err != nil {
		c.log().Debug("answer to the agent", "method", r.Method, "error", err)
	}
}

// permission puts a question to the host, on a goroutine that ends with the
// turn that asks.
func (c *conn) permission(r *jsonrpc.Request) {
	t := c.current()
	q, ok := c.question(t, bytes.Clone(r.Params))
	if !ok {
		c.answered(r, r.Fail(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "toolCall and options are required"}))
		return
	}
	if c.closing.Load() || c.isFenced(t) || !t.opened() {
		c.reply(r, wire.Cancelled())
		return
	}
	r.Go(func(ctx context.Context, r *jsonrpc.Request) {
		defer t.answeredOne()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(t.ask, cancel)()
		answer := c.l.Sink.Ask(ctx, q)
		if answer.Cancelled() || !q.Offered(answer.OptionID) || t.ask.Err() != nil {
			c.reply(r, wire.Cancelled())
			return
		}
		c.reply(r, wire.Selected(answer.OptionID))
	})
}

func (c *conn) reply(r *jsonrpc.Request, result any) {
	encoded, err := wire.Encode(result)
	if err != nil {
		c.answered(r, r.Fail(&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}))
		return
	}
	c.answered(r, r.Reply(encoded))
}

// question joins the call that is asked about with what was said of it
// earlier in the turn.
func (c *conn) question(t *turn, params []byte) (*agent.Question, bool) {
	p, ok := wire.ReadPermission(params)
	if !ok {
		return nil, false
	}
	call := wire.ReadToolCall(p.ToolCall)
	known := c.calls.known(t, call.ID)
	known.join(&call)
	known.asked = true
	joined := known.ToolCall
	if joined.Title == "" {
		joined.Title = strings.TrimSpace(p.ToolCall.Str("name"))
	}
	asked := true
	joined.Asked = &asked
	manners := mannersOf(c.agentName())
	for i := range p.Options {
		o := &p.Options[i]
		if o.Kind == agent.RejectOnce || o.Kind == agent.RejectAlways {
			o.Then = manners
		}
	}
	return &agent.Question{Turn: t.number, ToolCall: joined, Options: p.Options, Raw: params}, true
}

func (c *conn) agentName() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent.Name
}

// manners holds, by the name in agentInfo, what a rejected call does to the
// turn, as it was seen with each agent.
var manners = map[string]string{
	"@agentclientprotocol/codex-acp":        agent.ThenEndsTurn,
	"codex-acp":                             agent.ThenEndsTurn,
	"OpenCode":                              agent.ThenEndsTurn,
	"Kilo":                                  agent.ThenEndsTurn,
	"Copilot":                               agent.ThenEndsTurn,
	"@factory/cli":                          agent.ThenEndsTurn,
	"qwen-code":                             agent.ThenEndsTurn,
	"@agentclientprotocol/claude-agent-acp": agent.ThenContinues,
	"@zed-industries/claude-agent-acp":      agent.ThenContinues,
	"gemini-cli":                            agent.ThenContinues,
	"cline":                                 agent.ThenContinues,
	"pi-acp":                                agent.ThenContinues,
}

func mannersOf(name string) string {
	if then, ok := manners[name]; ok {
		return then
	}
	return agent.ThenUnknown
}
