package claude

import (
	"fmt"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// systems are the subtypes of system lines that we know; others are kept raw.
var systems = map[string]func(c *conn, record acp.Object){
	"init":              (*conn).started,
	"status":            (*conn).status,
	"api_retry":         (*conn).retried,
	"compact_boundary":  (*conn).compacted,
	"informational":     (*conn).informed,
	"permission_denied": (*conn).denied,
	"task_started":      (*conn).taskStarted,
}

func (c *conn) system(record acp.Object) {
	if h := systems[record.Str("subtype")]; h != nil {
		h(c, record)
		return
	}
	c.emit(c.current(), raw(record))
}

// started takes init, which each turn repeats. Its session id may not be the
// one to resume by: the result's is. It is told when it says something new.
func (c *conn) started(record acp.Object) {
	if c.current().interrupted.Load() {
		c.interrupt() // the first came before the turn had begun, and is lost
	}
	mode := record.Str("permissionMode")
	c.mu.Lock()
	changed := mode != "" && mode != c.state.mode || c.version != record.Str("claude_code_version")
	moved := mode != "" && mode != c.state.mode && c.state.mode != ""
	if mode != "" {
		c.state.mode = mode
	}
	if model := record.Str("model"); model != "" {
		changed = changed || model != c.state.model
		c.state.model = model
	}
	c.version = record.Str("claude_code_version")
	c.mu.Unlock()
	if !changed {
		return
	}
	c.l.Sink.Changed()
	// It is about the session, not what the turn has put out.
	ev := raw(record)
	if moved {
		ev = &agent.Event{Kind: agent.KindMode, Text: mode, Raw: record}
	}
	c.emit(c.outside, ev)
}

// status tells of another mode, or of what the agent is doing.
func (c *conn) status(record acp.Object) {
	if mode := record.Str("permissionMode"); mode != "" {
		c.change(func() { c.state.mode = mode })
		c.emit(c.current(), &agent.Event{Kind: agent.KindMode, Text: mode, Raw: record})
		return
	}
	switch status := record.Str("status"); status {
	case "", "requesting":
		// It waits for the model, as it does most of the time.
	case "compacting":
		c.notice("info", "agent_compacting", "the agent sums up the conversation", record)
	default:
		c.emit(c.current(), raw(record))
	}
}

func (c *conn) retried(record acp.Object) {
	text := "the agent tries the model again"
	if n, ok := record.Int("attempt"); ok {
		text = fmt.Sprintf("%s, attempt %d", text, n)
	}
	if n, ok := record.Int("max_retries"); ok {
		text = fmt.Sprintf("%s of %d", text, n)
	}
	if why := record.Str("error"); why != "" {
		text += ": " + why
	}
	if n, ok := record.Int("error_status"); ok {
		text = fmt.Sprintf("%s (%d)", text, n)
	}
	c.notice("warning", "agent_retry", text, record)
}

func (c *conn) compacted(record acp.Object) {
	c.notice("info", "agent_compacted", "the agent has summed up the conversation so far", record)
}

// levels are the levels of informational lines by ours.
var levels = map[string]string{"warning": "warning", "error": "error"}

func (c *conn) informed(record acp.Object) {
	level := levels[record.Str("level")]
	if level == "" {
		level = "info"
	}
	c.notice(level, "agent_informational", record.Str("content"), record)
}

func (c *conn) denied(record acp.Object) {
	c.notice("warning", "agent_permission_denied", record.Str("tool_name")+": "+record.Str("message"), record)
}

// taskStarted says that a tool runs now.
func (c *conn) taskStarted(record acp.Object) {
	id := record.Str("tool_use_id")
	if c.calls[id] == nil {
		c.emit(c.current(), raw(record))
		return
	}
	c.update(&agent.ToolCall{ID: id, Status: "in_progress"}, record)
}

// rateLimited tells of limits that are near or reached.
func (c *conn) rateLimited(record acp.Object) {
	info := record.Object("rate_limit_info")
	status := info.Str("status")
	if status == "" || status == "allowed" {
		c.emit(c.current(), raw(record))
		return
	}
	text := "rate limit: " + status
	if kind := info.Str("rateLimitType"); kind != "" {
		text += " (" + kind + ")"
	}
	c.notice("warning", "agent_rate_limit", text, record)
}

func (c *conn) notice(level, code, text string, record acp.Object) {
	c.emit(c.current(), &agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{Level: level, Code: code, Text: text}, Raw: record})
}
