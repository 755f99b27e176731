package pi

import (
	"strings"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

func (c *conn) messageStart(record acp.Object) {
	if r := c.running(); record.Object("message").Str("role") == "assistant" {
		r.spoke, r.thought = false, false
	}
}

// updates are the types of assistantMessageEvent that we know.
var updates = map[string]func(c *conn, record, event acp.Object){
	"start":          unspoken,
	"text_start":     unspoken,
	"text_delta":     (*conn).textDelta,
	"text_end":       unspoken,
	"thinking_start": unspoken,
	"thinking_delta": (*conn).thinkingDelta,
	"thinking_end":   unspoken,
	// A call is told when it begins to run: its input is whole then.
	"toolcall_start": unspoken,
	"toolcall_delta": unspoken,
	"toolcall_end":   unspoken,
	"done":           unspoken,
	"error":          unspoken,
}

func unspoken(*conn, acp.Object, acp.Object) {}

// messageUpdate takes a piece of a message. Before 1.0 each holds the whole
// message so far, which is never passed on.
func (c *conn) messageUpdate(record acp.Object) {
	event := record.Object("assistantMessageEvent")
	if take := updates[event.Str("type")]; take != nil {
		take(c, record, event)
		return
	}
	c.session.Raw(c.session.Current(), withoutPartial(record))
}

// withoutPartial is a record without the message so far.
func withoutPartial(record acp.Object) acp.Object {
	event := record.Object("assistantMessageEvent")
	if record.Get("message") == nil && event.Get("partial") == nil {
		return record
	}
	record = acp.Object(ndjson.Cut(record, "message"))
	if event != nil {
		record = record.Set("assistantMessageEvent", ndjson.Cut(event, "partial"))
	}
	return record
}

func (c *conn) textDelta(record, event acp.Object) {
	c.running().spoke = true
	c.say(agent.KindMessage, event.Str("delta"), withoutPartial(record))
}

func (c *conn) thinkingDelta(record, event acp.Object) {
	c.running().thought = true
	c.say(agent.KindThought, event.Str("delta"), withoutPartial(record))
}

func (c *conn) say(kind agent.EventKind, text string, record acp.Object) {
	if text != "" {
		c.session.Emit(c.session.Current(), &agent.Event{Kind: kind, Text: text, Raw: record})
	}
}

// messageEnd takes a whole message. What of it came in pieces isn't told
// again.
func (c *conn) messageEnd(record acp.Object) {
	message := record.Object("message")
	switch message.Str("role") {
	case "assistant":
	case "user", "system", "toolResult":
		return // ours, pi's own, and what tool_execution_end tells
	default:
		c.session.Raw(c.session.Current(), record)
		return
	}
	r := c.running()
	r.last = message
	r.spend(message)
	if text := blocks(message, "thinking", "thinking"); !r.thought {
		c.say(agent.KindThought, text, record)
	}
	if text := blocks(message, "text", "text"); !r.spoke {
		c.say(agent.KindMessage, text, record)
	}
	r.spoke, r.thought = false, false
}

// blocks joins the texts of a message's blocks of a type.
func blocks(message acp.Object, kind, member string) string {
	list, _ := message.List("content")
	var b strings.Builder
	for _, item := range list {
		if o := acp.AsObject(item); o.Str("type") == kind {
			b.WriteString(o.Str(member))
		}
	}
	return b.String()
}
