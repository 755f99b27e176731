package claude

import (
	"strings"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// parentMember names the tool call of the sub-agent that a line comes from.
const parentMember = "parent_tool_use_id"

// A stream is what came of one message in pieces and not yet as a whole.
type stream struct {
	id            string
	text, thought string
}

// rest is what the whole of a block adds to the pieces that came of it.
func rest(pieces, whole string) string {
	if left, ok := strings.CutPrefix(whole, pieces); ok {
		return left
	}
	return ""
}

// streamed takes a piece of a message. What a sub-agent says is taken from
// its whole messages.
func (c *conn) streamed(record acp.Object) {
	if record.Str(parentMember) != "" {
		return
	}
	event := record.Object("event")
	switch event.Str("type") {
	case "message_start":
		c.stream = stream{id: event.Object("message").Str("id")}
		c.context(event.Object("message").Object("usage"))
	case "content_block_delta":
		c.delta(record, event.Object("delta"))
	case "message_delta":
		c.context(event.Object("usage"))
	case "content_block_start", "content_block_stop", "message_stop", "ping":
		// The frame of what the deltas and the whole messages say.
	default:
		c.emit(c.current(), raw(record))
	}
}

func (c *conn) delta(record, delta acp.Object) {
	switch delta.Str("type") {
	case "text_delta":
		text := delta.Str("text")
		c.stream.text += text
		c.say(agent.KindMessage, text, record)
	case "thinking_delta":
		text := delta.Str("thinking")
		c.stream.thought += text
		c.say(agent.KindThought, text, record)
	case "input_json_delta", "signature_delta":
		// A tool's input comes whole, and a signature is for the model.
	default:
		c.emit(c.current(), raw(record))
	}
}

// say emits a piece of text, none for an empty one.
func (c *conn) say(kind agent.EventKind, text string, record acp.Object) {
	if text != "" {
		c.emit(c.current(), &agent.Event{Kind: kind, Text: text, Raw: record})
	}
}

// context notes how full the window is, by the usage of one answer of the
// model.
func (c *conn) context(usage acp.Object) {
	var sum int64
	for _, name := range []string{"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"} {
		if n, ok := usage.Int(name); ok {
			sum += n
		}
	}
	if sum > 0 {
		c.current().context = &sum
	}
}

// assistant takes a whole message: each of its blocks comes in a line of its
// own, before the block's end is streamed.
func (c *conn) assistant(record acp.Object) {
	message := record.Object("message")
	blocks, ok := message.List("content")
	if !ok || len(blocks) == 0 {
		c.emit(c.current(), raw(record))
		return
	}
	if record.True("is_api_error_message") || message.Str("model") == "<synthetic>" && record.Get("error") != nil {
		c.notice("error", "agent_model_error", textOf(blocks), record)
		return
	}
	parent := record.Str(parentMember)
	if parent == "" && c.stream.id != message.Str("id") {
		c.stream = stream{id: message.Str("id")} // it wasn't streamed
	}
	for _, b := range blocks {
		c.block(record, acp.AsObject(b), parent)
	}
}

// block takes one block of a message; parent is the sub-agent's call.
func (c *conn) block(record, block acp.Object, parent string) {
	now := &c.stream
	switch kind := block.Str("type"); {
	case kind == "text" && parent == "":
		c.say(agent.KindMessage, rest(now.text, block.Str("text")), record)
		now.text = ""
	case kind == "thinking" && parent == "":
		c.say(agent.KindThought, rest(now.thought, block.Str("thinking")), record)
		now.thought = ""
	case kind == "text":
		c.update(&agent.ToolCall{ID: parent, Append: block.Str("text")}, record)
	case kind == "tool_use", kind == "server_tool_use", kind == "mcp_tool_use":
		c.toolUse(record, block, parent)
	case strings.HasSuffix(kind, "tool_result"):
		c.toolResult(record, block, parent)
	default:
		c.emit(c.current(), raw(record))
	}
}

// user takes what the agent puts in the user's mouth: results of tools, and
// words like those of an interrupt.
func (c *conn) user(record acp.Object) {
	blocks, _ := record.Object("message").List("content")
	known := false
	for _, b := range blocks {
		if block := acp.AsObject(b); block.Str("type") == "tool_result" {
			c.toolResult(record, block, record.Str(parentMember))
			known = true
		}
	}
	if !known {
		c.emit(c.current(), raw(record))
	}
}

// textOf joins the texts among blocks.
func textOf(blocks [][]byte) string {
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(acp.AsObject(block).Str("text"))
	}
	return b.String()
}
