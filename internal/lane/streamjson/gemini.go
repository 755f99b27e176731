package streamjson

import (
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// started takes Gemini's init.
func (t *turn) started(record acp.Object) {
	t.conn.learn(record.Str("session_id"), "")
	t.hello(record)
}

// message takes a piece of the answer, or the prompt told again.
func (t *turn) message(record acp.Object) {
	if record.Str("role") != "assistant" {
		t.raw(record)
		return
	}
	t.say(agent.KindMessage, record.Str("content"), record)
}

func (t *turn) toolUse(record acp.Object) {
	t.call(record.Str("tool_id"), record.Str("tool_name"), record.Object("parameters"), "", record)
}

func (t *turn) toolResult(record acp.Object) {
	text := record.Str("output")
	if text == "" {
		text = record.Object("error").Str("message")
	}
	t.returned(record.Str("tool_id"), text, record.Str("status") == "error", "", record)
}

// fault takes an error or a warning beside the answer.
func (t *turn) fault(record acp.Object) {
	level := "error"
	if record.Str("severity") == "warning" {
		level = "warning"
	}
	if level == "error" {
		t.faultText = record.Str("message")
	}
	t.emit(&agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{Level: level, Code: "agent_error", Text: record.Str("message")}, Raw: record})
}

// result ends Gemini's output.
func (t *turn) result(record acp.Object) {
	stats := record.Object("stats")
	u := &agent.Usage{
		Input: count(stats, "input_tokens"), CachedInput: count(stats, "cached"),
		Output: count(stats, "output_tokens"), Total: count(stats, "total_tokens"),
	}
	if *u == (agent.Usage{}) {
		u = nil
	}
	status := record.Str("status")
	t.finish(record, u, status != "" && status != "success", record.Object("error").Str("message"))
}
