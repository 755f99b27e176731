package claude

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// The words that the agent is told where a person gave none.
const (
	refusedText   = "The user refused this."
	cancelledText = "The question was withdrawn without an answer."
)

// The two answers to can_use_tool.
type (
	allowed struct {
		Behavior    string         `json:"behavior"`
		Input       jsontext.Value `json:"updatedInput"`
		Permissions jsontext.Value `json:"updatedPermissions,omitzero"`
	}
	deniedTool struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message"`
	}
)

// asked takes a control request of the agent's.
func (c *conn) asked(record acp.Object) {
	id, request := record.Str("request_id"), record.Object("request")
	if request.Str("subtype") != "can_use_tool" {
		c.respond(controlAnswerBody{Subtype: "error", RequestID: id, Error: "unsupported control request: " + request.Str("subtype")})
		c.emit(c.current(), raw(record))
		return
	}
	t := c.current()
	q := c.question(t, request)
	if t.fenced || c.closing.Load() || !t.opened() {
		c.answer(id, deniedTool{"deny", cancelledText})
		return
	}
	ctx, cancel := context.WithCancel(t.ask)
	c.mu.Lock()
	c.withdraw[id] = cancel
	c.mu.Unlock()
	c.work.Go(func() {
		defer t.answered()
		got := c.l.Sink.Ask(ctx, q)
		if ctx.Err() != nil {
			got = agent.Answer{}
		}
		c.forget(id)
		c.answer(id, decision(q, request, got))
	})
}

// forget ends the context of a question.
func (c *conn) forget(id string) {
	c.mu.Lock()
	cancel := c.withdraw[id]
	delete(c.withdraw, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// withdrawn takes back a question of the agent's. Its answer goes out all the
// same; the agent doesn't mind.
func (c *conn) withdrawn(record acp.Object) { c.forget(record.Str("request_id")) }

// question joins what is asked with the call as it was told.
func (c *conn) question(t *turn, request acp.Object) *agent.Question {
	id := request.Str("tool_use_id")
	joined := describe(id, request.Str("tool_name"), request.Object("input"))
	if known := c.calls[id]; known != nil {
		known.asked = true
		joined.ParentCallID = known.ParentCallID
		if joined.RawInput == nil {
			joined = known.ToolCall
		}
	}
	asked := true
	joined.Asked, joined.Status = &asked, "pending"
	q := &agent.Question{Turn: t.number, ToolCall: joined, Raw: request, Options: []agent.Option{
		{ID: agent.AllowOnce, Name: "Allow once", Kind: agent.AllowOnce},
	}}
	if suggestions(request) != nil {
		q.Options = append(q.Options, agent.Option{ID: agent.AllowAlways, Name: "Allow always", Kind: agent.AllowAlways})
	}
	q.Options = append(q.Options, agent.Option{ID: agent.RejectOnce, Name: "Reject", Kind: agent.RejectOnce, Then: agent.ThenContinues})
	return q
}

// suggestions are the rules that an allow_always adds; nil for none.
func suggestions(request acp.Object) jsontext.Value {
	list, _ := request.List("permission_suggestions")
	if len(list) == 0 {
		return nil
	}
	return request.Get("permission_suggestions")
}

// decision is the answer to the agent.
func decision(q *agent.Question, request acp.Object, got agent.Answer) any {
	if got.Cancelled() || !q.Offered(got.OptionID) {
		return deniedTool{"deny", cancelledText}
	}
	yes := allowed{Behavior: "allow", Input: jsontext.Value(request.Get("input"))}
	if yes.Input == nil {
		yes.Input = jsontext.Value("{}")
	}
	switch got.OptionID {
	case agent.AllowOnce:
		return yes
	case agent.AllowAlways:
		yes.Permissions = suggestions(request)
		return yes
	}
	if got.Reason == "" {
		got.Reason = refusedText
	}
	return deniedTool{"deny", got.Reason}
}
