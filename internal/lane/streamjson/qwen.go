package streamjson

import (
	"strings"

	"dragoman/internal/lane/usage"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

const parentMember = "parent_tool_use_id"

// system takes Qwen's init.
func (t *turn) system(record acp.Object) {
	if record.Str("subtype") == "init" {
		t.conn.learn(record.Str("session_id"), record.Str("qwen_code_version"))
		t.hello(record)
		return
	}
	t.raw(record)
}

// streamed takes a piece of a message; a sub-agent's come whole.
func (t *turn) streamed(record acp.Object) {
	event := record.Object("event")
	delta := event.Object("delta")
	switch kind := event.Str("type"); {
	case record.Str(parentMember) != "":
	case kind == "message_start":
		t.text, t.thought = "", ""
	case kind == "content_block_delta" && delta.Str("type") == "text_delta":
		t.text += delta.Str("text")
		t.say(agent.KindMessage, delta.Str("text"), record)
	case kind == "content_block_delta" && delta.Str("type") == "thinking_delta":
		t.thought += delta.Str("thinking")
		t.say(agent.KindThought, delta.Str("thinking"), record)
	case kind == "content_block_delta", kind == "content_block_start", kind == "content_block_stop",
		kind == "message_delta", kind == "message_stop":
		// The frame of what the deltas and the whole messages say.
	default:
		t.raw(record)
	}
}

// assistant takes a whole message.
func (t *turn) assistant(record acp.Object) {
	blocks, _ := record.Object("message").List("content")
	if len(blocks) == 0 {
		t.raw(record)
		return
	}
	parent := record.Str(parentMember)
	for _, b := range blocks {
		block := acp.AsObject(b)
		switch kind := block.Str("type"); {
		case kind == "text" && parent != "":
			t.emit(&agent.Event{Kind: agent.KindToolCallUpdate, ToolCall: &agent.ToolCall{ID: parent, Append: block.Str("text")}, Raw: record})
		case kind == "text" && isFault(block.Str("text")):
			t.emit(&agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{Level: "error", Code: "agent_model_error", Text: block.Str("text")}, Raw: record})
		case kind == "text":
			t.say(agent.KindMessage, rest(t.text, block.Str("text")), record)
			t.text = ""
		case kind == "thinking" && parent == "":
			t.say(agent.KindThought, rest(t.thought, block.Str("thinking")), record)
			t.thought = ""
		case kind == "tool_use":
			t.call(block.Str("id"), block.Str("name"), block.Object("input"), parent, record)
		default:
			t.raw(record)
		}
	}
}

// isFault: Qwen puts an error of the model into the answer's mouth.
func isFault(text string) bool {
	return strings.HasPrefix(text, "[API Error: ") && strings.HasSuffix(text, "]")
}

// rest is what the whole of a block adds to the pieces that came of it.
func rest(pieces, whole string) string {
	left, _ := strings.CutPrefix(whole, pieces)
	if len(left) == len(whole) && pieces != "" {
		return ""
	}
	return left
}

// user takes results of tools.
func (t *turn) user(record acp.Object) {
	blocks, _ := record.Object("message").List("content")
	known := false
	for _, b := range blocks {
		block := acp.AsObject(b)
		if block.Str("type") != "tool_result" {
			continue
		}
		known = true
		text, ok := block.Text("content")
		if !ok {
			text = textOf(block.Get("content"))
		}
		t.returned(block.Str("tool_use_id"), text, block.True("is_error"), record.Str(parentMember), record)
	}
	if !known {
		t.raw(record)
	}
}

// textOf joins the texts among blocks.
func textOf(value []byte) string {
	var b strings.Builder
	blocks, _ := acp.List(value)
	for _, block := range blocks {
		b.WriteString(acp.AsObject(block).Str("text"))
	}
	return b.String()
}

// qwenResult ends Qwen's output.
func (t *turn) qwenResult(record acp.Object) {
	failed := record.True("is_error")
	if text := record.Str("result"); !t.spoke && !failed {
		t.say(agent.KindMessage, text, record)
	}
	t.conn.learn(record.Str("session_id"), "")
	t.finish(record, usage.Read(record.Object("usage")), failed, record.Object("error").Str("message"))
}
