package acp

import (
	"context"
	"errors"
	"strings"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/redact"
	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
)

// codeRequestCancelled is JSON-RPC's answer of agents that end a cancelled
// prompt with an error.
const codeRequestCancelled = -32800

// A clockError says which of the open's clocks ran out.
type clockError struct {
	what  string
	limit time.Duration
}

func (e *clockError) Error() string {
	return "no answer to " + e.what + " within " + e.limit.String()
}

// call asks the agent and returns its reply, or how it failed at stage.
func (c *conn) call(ctx context.Context, method, stage string, params any) ([]byte, error) {
	encoded, err := wire.Encode(params)
	if err != nil {
		return nil, agent.Fail(agent.CodeProtocolError, stage, err.Error())
	}
	result, err := c.peer.Call(ctx, method, encoded)
	if err != nil {
		return nil, c.failure(ctx, stage, err, agent.Certain)
	}
	return result, nil
}

// failure translates how a call failed (sidecar.md §5, "Errors"). certainty
// says whether a quota came before anything was done.
func (c *conn) failure(ctx context.Context, stage string, err error, certainty agent.Certainty) *agent.Error {
	var reply *jsonrpc.Error
	switch {
	case errors.As(err, &reply):
		return c.replyFailure(stage, reply, certainty)
	case ctx.Err() != nil && !errors.Is(err, jsonrpc.ErrPeerClosed):
		return agent.Fail(agent.CodeProtocolFailed, stage, context.Cause(ctx).Error())
	case c.closing.Load():
		return closedError()
	case stage == wire.MethodInitialize:
		stage = agent.StageOpen // the agent never was one
	}
	return agent.Fail(agent.CodeProtocolFailed, stage, lane.Ending(ctx, c.process))
}

func (c *conn) replyFailure(stage string, reply *jsonrpc.Error, certainty agent.Certainty) *agent.Error {
	detail := reply.Message
	if extra := dataText(reply.Data); extra != "" && !strings.Contains(detail, extra) {
		detail += ": " + extra
	}
	detail = redact.Redact(detail, c.secrets)
	switch {
	case agent.Quota(reply.Message), agent.Quota(string(reply.Data)):
		return agent.FailQuota(stage, detail, certainty)
	case reply.Code == wire.CodeAuthRequired:
		return agent.Fail(agent.CodeAuthRequired, stage, detail)
	}
	return agent.Fail(agent.CodeProtocolFailed, stage, detail)
}

// dataTextMax bounds what of an error's data goes into a detail.
const dataTextMax = 2 << 10

// dataText is the data of an error reply for people: a text as it is, the
// member `details` or `message` of an object, other values as JSON.
func dataText(data []byte) string {
	text, ok := wire.Text(data)
	if o := wire.AsObject(data); o != nil {
		if text, ok = o.Text("details"); !ok {
			text, ok = o.Text("message")
		}
	}
	if !ok && string(data) != "null" {
		text = string(data)
	}
	if len(text) > dataTextMax {
		text = text[:wholeCharacters(text, dataTextMax)]
	}
	return text
}

// authRequired reports whether err is a refusal with -32000.
func authRequired(err error) bool {
	var e *agent.Error
	return errors.As(err, &e) && e.Code == agent.CodeAuthRequired
}

// closedError is how a turn settles that a close ends.
func closedError() *agent.Error {
	return agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "the session was closed", agent.FlagsUncertain)
}
