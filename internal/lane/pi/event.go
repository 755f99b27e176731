package pi

import (
	"fmt"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// handlers are the types of lines that we know; others are kept raw.
var handlers = map[string]func(c *conn, record acp.Object){
	"response":               (*conn).responded,
	"agent_start":            (*conn).began,
	"agent_end":              (*conn).ended,
	"agent_settled":          (*conn).settled,
	"turn_start":             silent,
	"turn_end":               silent, // its message and results were told
	"message_start":          (*conn).messageStart,
	"message_update":         (*conn).messageUpdate,
	"message_end":            (*conn).messageEnd,
	"tool_execution_start":   (*conn).toolStart,
	"tool_execution_update":  (*conn).toolUpdate,
	"tool_execution_end":     (*conn).toolEnd,
	"extension_ui_request":   (*conn).asked,
	"extension_error":        (*conn).extensionFailed,
	"auto_retry_start":       (*conn).retryStart,
	"auto_retry_end":         (*conn).retryEnd,
	"compaction_start":       (*conn).compactionStart,
	"compaction_end":         (*conn).compactionEnd,
	"thinking_level_changed": (*conn).levelChanged,
	"session_info_changed":   (*conn).renamed,
}

// silent is for lines that say nothing which isn't told elsewhere.
func silent(*conn, acp.Object) {}

// handle takes one line of pi's.
func (c *conn) handle(record acp.Object) {
	if h := handlers[record.Str("type")]; h != nil {
		h(c, record)
		return
	}
	c.session.Raw(c.session.Current(), record)
}

func (c *conn) notice(level, code, text string, record acp.Object) {
	c.session.Notice(c.session.Current(), agent.Notice{Level: level, Code: code, Text: text}, record)
}

func (c *conn) began(acp.Object) {
	r := c.running()
	r.retrying, r.compacting = false, false
}

// ended is the end of a run of the model, but of the turn only if nothing
// follows on its own.
func (c *conn) ended(record acp.Object) {
	r := c.running()
	if r.last == nil { // its message_end was lost, or too long
		messages, _ := record.List("messages")
		if len(messages) > 0 {
			r.last = lastAnswer(messages)
		}
	}
	if !record.True("willRetry") {
		c.probe()
	}
}

// probe finds out whether the run has settled where pi, before 1.0, doesn't
// say so itself: what follows on its own is told before the answer to
// get_state (docs/decisions/088).
func (c *conn) probe() {
	r := c.running()
	if r.settles || r.turn.Outside() {
		return
	}
	_, err := c.send(command{Type: "get_state"}, func(reply acp.Object) {
		busy := reply.Object("data").True("isStreaming") || reply.Object("data").True("isCompacting")
		if c.running() == r && !busy && !r.retrying && !r.compacting && refused(reply) == "" {
			c.finish(r, false)
		}
	})
	if err != nil {
		c.log().Debug("get_state", "error", err)
	}
}

// settled is the end of the turn.
func (c *conn) settled(record acp.Object) {
	r := c.running()
	r.settles = true
	c.finish(r, record.True("aborted"))
}

func (c *conn) retryStart(record acp.Object) {
	c.running().retrying = true
	text := "the agent tries the model again"
	if n, ok := record.Int("attempt"); ok {
		text = fmt.Sprintf("%s, attempt %d", text, n)
	}
	if n, ok := record.Int("maxAttempts"); ok {
		text = fmt.Sprintf("%s of %d", text, n)
	}
	if n, ok := record.Int("delayMs"); ok {
		text = fmt.Sprintf("%s in %d ms", text, n)
	}
	if why := record.Str("errorMessage"); why != "" {
		text += ": " + why
	}
	c.notice("warning", "agent_retry", text, record)
}

// retryEnd is told when a retry has worked, when there are no more, and when
// one was called off; no run follows on the last two.
func (c *conn) retryEnd(record acp.Object) {
	c.running().retrying = false
	if record.True("success") {
		c.session.Raw(c.session.Current(), record)
		return
	}
	c.notice("warning", "agent_retry_ended", "the agent doesn't try again: "+record.Str("finalError"), record)
	c.probe()
}

func (c *conn) compactionStart(record acp.Object) {
	c.running().compacting = true
	c.notice("info", "agent_compacting", "the agent sums up the conversation", record)
}

func (c *conn) compactionEnd(record acp.Object) {
	c.running().compacting = false
	if why := record.Str("errorMessage"); why != "" {
		c.notice("warning", "agent_compaction_failed", why, record)
	} else {
		c.notice("info", "agent_compacted", "the agent has summed up the conversation so far", record)
	}
	if !record.True("willRetry") {
		c.probe()
	}
}

func (c *conn) levelChanged(record acp.Object) {
	if level := record.Str("level"); level != "" {
		c.change(func(s *state) { s.level = level })
	}
	c.session.Raw(c.session.Current(), record)
}

func (c *conn) renamed(record acp.Object) {
	c.session.Emit(c.session.Current(), &agent.Event{Kind: agent.KindTitle, Text: record.Str("name"), Raw: record})
}

func (c *conn) extensionFailed(record acp.Object) {
	c.notice("warning", "agent_extension_error", record.Str("event")+": "+record.Str("error"), record)
}
