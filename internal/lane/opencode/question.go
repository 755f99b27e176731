package opencode

import (
	"context"
	"net/http"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

var _ lane.Configurer = (*conn)(nil)

// Answers to a permission, which are the ids of its options.
const (
	replyOnce   = "once"
	replyAlways = "always"
	replyReject = "reject"
)

// replyBody answers a permission; a message goes to the model, which goes on.
type replyBody struct {
	Reply   string `json:"reply"`
	Message string `json:"message,omitzero"`
}

// question asks for a permission of ours or of a child session's, joined with
// the call as it was told. One that is open already isn't put again.
func (c *conn) question(e event) {
	r, id := c.running(), e.props.Str("id")
	if !isID(id) || !c.ours(e.session) {
		c.keep(e)
		return
	}
	if _, open := r.parts[id]; open {
		return
	}
	r.parts[id] = ""
	callID := e.props.Object("tool").Str("callID")
	joined := describe(callID, e.props.Str("permission"), e.props.Object("metadata"))
	if known := r.calls[callID]; known != nil {
		known.asked = true
		if known.RawInput != nil {
			joined = known.ToolCall
		}
	}
	asked := true
	joined.Asked, joined.Status, joined.ParentCallID = &asked, "pending", c.children[e.session]
	q := &agent.Question{ToolCall: joined, Raw: e.record, Options: []agent.Option{
		{ID: replyOnce, Name: "Allow once", Kind: agent.AllowOnce},
	}}
	if always, _ := e.props.List("always"); len(always) > 0 {
		q.Options = append(q.Options, agent.Option{ID: replyAlways, Name: "Allow always", Kind: agent.AllowAlways})
	}
	q.Options = append(q.Options, agent.Option{ID: replyReject, Name: "Reject", Kind: agent.RejectOnce, Then: agent.ThenEndsTurn})
	c.session.Ask(context.Background(), r.turn, q, func(got agent.Answer) { c.reply(id, got) })
}

// reply answers a permission. It doesn't wait: it may be called while a
// record is handled.
func (c *conn) reply(id string, got agent.Answer) {
	body := replyBody{Reply: got.OptionID, Message: got.Reason}
	if got.Cancelled() {
		body = replyBody{Reply: replyReject}
	}
	if body.Reply != replyReject {
		body.Message = ""
	}
	c.spawn(func() {
		if _, err := c.client.call(c.base, http.MethodPost, "/permission/"+id+"/reply", body); err != nil {
			c.log().Debug("answer to the agent", "error", err)
		}
	})
}
