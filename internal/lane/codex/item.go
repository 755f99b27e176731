package codex

import (
	"strings"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// growthBytes is how much of a command's output is joined to one update.
const growthBytes = 32 << 10

// An item is what was said of one item of a turn.
type item struct {
	agent.ToolCall
	asked bool
	// pieces are the text or the output that came of it so far.
	pieces string
}

// item is the one with an id, a new one the first time.
func (c *conn) item(id string) *item {
	it := c.items[id]
	if it == nil {
		it = &item{}
		c.items[id] = it
	}
	return it
}

// A growth is output of one tool call that hasn't been told yet.
type growth struct {
	id, text string
	line     []byte
}

// growing are the notifications that make a tool call's output grow, by the
// member that holds the piece.
var growing = map[string]string{
	methodCommandOutput: "delta",
	methodFileOutput:    "delta",
	methodToolProgress:  "message",
}

// grow joins a piece of output to those before it. It is false for any other
// message.
func (c *conn) grow(m message) bool {
	member := growing[m.method]
	if member == "" {
		return false
	}
	params := acp.AsObject(m.params)
	id, piece := params.Str("itemId"), params.Str(member)
	thread, _ := threadOf(params)
	c.mu.Lock()
	other := c.thread != "" && thread != "" && thread != c.thread
	c.mu.Unlock()
	if other || id == "" {
		return false
	}
	if c.grown.id != id {
		c.flush()
	}
	if m.method == methodToolProgress && piece != "" {
		piece += "\n"
	}
	c.grown = growth{id, c.grown.text + piece, m.line}
	if len(c.grown.text) >= growthBytes {
		c.flush()
	}
	return true
}

// flush tells the output that has grown.
func (c *conn) flush() {
	g := c.grown
	c.grown = growth{}
	if g.text == "" {
		return
	}
	c.item(g.id).pieces += g.text
	c.update(&agent.ToolCall{ID: g.id, Status: "in_progress", Append: g.text}, g.line)
}

func (c *conn) update(said *agent.ToolCall, line []byte) {
	c.emit(c.current(), &agent.Event{Kind: agent.KindToolCallUpdate, ToolCall: said, Raw: line})
}

// itemStarted tells of a tool call. A text's beginning says nothing.
func (c *conn) itemStarted(m message, params acp.Object) {
	body := itemBody{params.Object("item")}
	id := body.Str("id")
	call, ok := body.call()
	switch {
	case ok && id != "":
		it := c.item(id)
		kind := agent.KindToolCall
		if it.ID != "" {
			kind = agent.KindToolCallUpdate
		}
		it.ToolCall = call
		c.emit(c.current(), &agent.Event{Kind: kind, ToolCall: &call, Raw: m.line})
	case body.kind() == "agentMessage", body.kind() == "reasoning":
		c.item(id)
	default:
		c.emit(c.current(), raw(m))
	}
}

// rest is what the whole of a text adds to the pieces that came of it.
func rest(pieces, whole string) string {
	if left, ok := strings.CutPrefix(whole, pieces); ok {
		return left
	}
	return ""
}

// itemCompleted tells the end of a tool call, and of a text what didn't come
// in pieces.
func (c *conn) itemCompleted(m message, params acp.Object) {
	body := itemBody{params.Object("item")}
	id := body.Str("id")
	it := c.item(id)
	switch kind := body.kind(); kind {
	case "agentMessage":
		c.say(agent.KindMessage, rest(it.pieces, body.Str("text")), m.line)
	case "reasoning":
		if it.pieces == "" {
			c.say(agent.KindThought, body.thought(), m.line)
		}
	case "contextCompaction":
		c.notice("info", "agent_compacted", "the agent has summed up the conversation so far", m.line)
	case "plan":
		entries := planOf([][]byte{body.Object}, func(o acp.Object) planEntry { return planEntry{Content: o.Str("text"), Priority: "medium"} })
		c.emit(c.current(), &agent.Event{Kind: agent.KindPlan, Value: entries, Raw: m.line})
	default:
		call, ok := body.call()
		if !ok || id == "" {
			c.emit(c.current(), raw(m))
			return
		}
		c.ended(m, it, body, call)
	}
}

// ended tells how a tool call ended. One that nobody was asked about says so.
func (c *conn) ended(m message, it *item, body itemBody, call agent.ToolCall) {
	if it.ID == "" { // it was never said to have begun
		first := call
		first.Status = "in_progress"
		c.emit(c.current(), &agent.Event{Kind: agent.KindToolCall, ToolCall: &first, Raw: m.line})
	}
	body.result(&call, it.pieces)
	asked := it.asked
	call.Asked = &asked
	it.ToolCall = call
	c.update(&call, m.line)
}

// patchUpdated tells a patch that has changed.
func (c *conn) patchUpdated(m message, params acp.Object) {
	id := params.Str("itemId")
	if id == "" {
		c.emit(c.current(), raw(m))
		return
	}
	said := agent.ToolCall{ID: id, Kind: "edit"}
	patch(&said, params)
	c.item(id).ToolCall = said
	c.update(&said, m.line)
}
