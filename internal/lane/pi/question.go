package pi

import (
	"context"

	"dragoman/internal/lane"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

var _ lane.Configurer = (*conn)(nil)

// uiResponse answers a dialog.
type uiResponse struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Value     string `json:"value,omitzero"`
	Cancelled bool   `json:"cancelled,omitzero"`
}

// dialogs are the methods that wait for an answer.
var dialogs = map[string]bool{"select": true, "confirm": true, "input": true, "editor": true}

// asked takes a request of an extension's: our gate's question, or something
// that we can't show anybody, which is answered as cancelled.
func (c *conn) asked(record acp.Object) {
	method := record.Str("method")
	if method == "setStatus" && record.Str("statusKey") == gateStatus {
		c.change(func(s *state) { s.gated = c.plan.gate })
		return
	}
	if question := acp.AsObject([]byte(record.Str("title"))); method == "select" && question.Str("gate") == gateMark {
		c.question(record, question)
		return
	}
	if dialogs[method] {
		c.respond(record, uiResponse{Cancelled: true})
	}
	if method == "notify" {
		level := record.Str("notifyType")
		if level != "warning" && level != "error" {
			level = "info"
		}
		c.notice(level, "agent_notice", record.Str("message"), record)
		return
	}
	c.session.Raw(c.session.Current(), record)
}

func (c *conn) respond(record acp.Object, r uiResponse) {
	r.Type, r.ID = "extension_ui_response", record.Str("id")
	if err := c.write(r); err != nil {
		c.log().Debug("answer to the agent", "error", err)
	}
}

// question asks what the gate asks, joined with the call as it was told.
func (c *conn) question(record, gate acp.Object) {
	r, id := c.running(), gate.Str("toolCallId")
	joined := describe(id, gate.Str("toolName"), gate.Object("input"))
	joined.ParentCallID = gate.Str("parentToolCallId")
	if known := r.calls[id]; known != nil {
		known.asked = true
	}
	asked := true
	joined.Asked, joined.Status = &asked, "pending"
	q := &agent.Question{ToolCall: joined, Raw: record, Options: []agent.Option{
		{ID: agent.AllowOnce, Name: "Allow once", Kind: agent.AllowOnce},
		{ID: agent.RejectOnce, Name: "Reject", Kind: agent.RejectOnce, Then: agent.ThenContinues},
	}}
	c.session.Ask(context.Background(), r.turn, q, func(got agent.Answer) {
		switch {
		case got.Cancelled():
			c.respond(record, uiResponse{Cancelled: true})
		case got.OptionID == agent.RejectOnce && got.Reason != "":
			c.respond(record, uiResponse{Value: agent.RejectOnce + "\n" + got.Reason})
		default:
			c.respond(record, uiResponse{Value: got.OptionID})
		}
	})
}
