package codex

import (
	"strings"

	"github.com/go-json-experiment/json"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// Methods that more than one place names.
const (
	methodCommandOutput = "item/commandExecution/outputDelta"
	methodFileOutput    = "item/fileChange/outputDelta"
	methodToolProgress  = "item/mcpToolCall/progress"
)

// handlers are the notifications that we know; others are kept raw.
var handlers = map[string]func(c *conn, m message, params acp.Object){
	"turn/started":                    (*conn).turnStarted,
	"turn/completed":                  (*conn).turnCompleted,
	"turn/plan/updated":               (*conn).planUpdated,
	"item/started":                    (*conn).itemStarted,
	"item/updated":                    (*conn).itemStarted,
	"item/completed":                  (*conn).itemCompleted,
	"item/agentMessage/delta":         said(agent.KindMessage),
	"item/reasoning/summaryTextDelta": said(agent.KindThought),
	"item/reasoning/textDelta":        said(agent.KindThought),
	"item/reasoning/summaryPartAdded": (*conn).thoughtPart,
	"item/fileChange/patchUpdated":    (*conn).patchUpdated,
	"thread/tokenUsage/updated":       (*conn).tokensUpdated,
	"thread/name/updated":             (*conn).named,
	"thread/compacted":                told("info", "agent_compacted", "the agent has summed up the conversation so far"),
	"model/rerouted":                  (*conn).rerouted,
	"serverRequest/resolved":          (*conn).resolved,
	"error":                           (*conn).failed,
	"warning":                         told("warning", "agent_warning", ""),
	"guardianWarning":                 told("warning", "agent_warning", ""),
	"configWarning":                   told("warning", "agent_config_warning", ""),
	"deprecationNotice":               told("info", "agent_deprecation", ""),
	"windows/worldWritableWarning":    told("warning", "agent_warning", "the sandbox can't protect folders that everybody may write"),
	"mcpServer/startupStatus/updated": (*conn).serverStarted,
	"account/rateLimits/updated":      (*conn).limitsUpdated,
}

// handle takes one message of the agent's. What comes of another thread, a
// sub-agent's, is kept raw, but for its questions.
func (c *conn) handle(m message) {
	params := acp.AsObject(m.params)
	thread, _ := threadOf(params)
	c.mu.Lock()
	other := thread != "" && c.thread != "" && thread != c.thread
	c.mu.Unlock()
	switch h := handlers[m.method]; {
	case m.answer != nil:
		c.asked(m, params)
	case h != nil && !other && m.id == "":
		h(c, m, params)
	default:
		c.emit(c.current(), raw(m))
	}
}

// raw keeps a message that isn't understood.
func raw(m message) *agent.Event { return &agent.Event{Kind: agent.KindRaw, Raw: m.line} }

// said takes a piece of a text.
func said(kind agent.EventKind) func(*conn, message, acp.Object) {
	return func(c *conn, m message, params acp.Object) {
		piece := params.Str("delta")
		c.item(params.Str("itemId")).pieces += piece
		c.say(kind, piece, m.line)
	}
}

// say emits a piece of text, none for an empty one.
func (c *conn) say(kind agent.EventKind, text string, line []byte) {
	if text != "" {
		c.emit(c.current(), &agent.Event{Kind: kind, Text: text, Raw: line})
	}
}

// partBreak stands between the parts of a summary of thoughts.
const partBreak = "\n\n"

func (c *conn) thoughtPart(m message, params acp.Object) {
	if it := c.item(params.Str("itemId")); it.pieces != "" {
		it.pieces += partBreak
		c.say(agent.KindThought, partBreak, m.line)
	}
}

// told makes a notice. Without a text of ours it is the agent's.
func told(level, code, text string) func(*conn, message, acp.Object) {
	return func(c *conn, m message, params acp.Object) {
		words := text
		if words == "" {
			words = wordsOf(params)
		}
		c.notice(level, code, words, m.line)
	}
}

// wordsOf finds what a notice of the agent's says.
func wordsOf(params acp.Object) string {
	for _, name := range []string{"message", "summary"} {
		if text := params.Str(name); text != "" {
			if details := params.Str("details"); details != "" {
				text += ": " + details
			}
			return text
		}
	}
	return ""
}

func (c *conn) notice(level, code, text string, line []byte) {
	c.emit(c.current(), &agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{Level: level, Code: code, Text: text}, Raw: line})
}

func (c *conn) turnStarted(m message, params acp.Object) {
	t := c.current()
	t.setNative(params.Object("turn").Str("id"))
	c.emit(t, raw(m))
}

// turnCompleted ends the turn. The end of another one is late traffic.
func (c *conn) turnCompleted(m message, params acp.Object) {
	t, turn := c.current(), params.Object("turn")
	if id := t.native(); t == c.outside || id != "" && turn.Str("id") != "" && turn.Str("id") != id {
		c.emit(t, raw(m))
		return
	}
	report := c.tokens.turn()
	c.emit(t, &agent.Event{Kind: agent.KindUsage, Usage: report, Raw: m.line})
	t.outcome, t.err = outcome(t, turn)
	t.outcome.Usage, t.outcome.Truncated = report.Usage, t.cut
	clear(c.items)
	close(t.done)
}

// planEntry is one of ACP's plan entries.
type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// planStatus are Codex's words by ACP's.
var planStatus = map[string]string{"inProgress": "in_progress", "in_progress": "in_progress", "completed": "completed"}

func (c *conn) planUpdated(m message, params acp.Object) {
	steps, _ := params.List("plan")
	entries := planOf(steps, func(o acp.Object) planEntry {
		return planEntry{o.Str("step"), "medium", planStatus[o.Str("status")]}
	})
	c.emit(c.current(), &agent.Event{Kind: agent.KindPlan, Value: entries, Raw: m.line})
}

// planOf makes ACP's entries of steps.
func planOf(steps [][]byte, read func(acp.Object) planEntry) []byte {
	entries := []planEntry{}
	for _, s := range steps {
		e := read(acp.AsObject(s))
		if e.Status == "" {
			e.Status = "pending"
		}
		entries = append(entries, e)
	}
	b, err := json.Marshal(entries)
	if err != nil {
		return []byte("[]")
	}
	return b
}

func (c *conn) named(m message, params acp.Object) {
	name := params.Str("threadName")
	if name == "" {
		name = params.Str("name")
	}
	if name == "" {
		c.emit(c.current(), raw(m))
		return
	}
	c.emit(c.current(), &agent.Event{Kind: agent.KindTitle, Text: name, Raw: m.line})
}

func (c *conn) rerouted(m message, params acp.Object) {
	c.notice("warning", "agent_model_rerouted", "the model "+params.Str("fromModel")+" was replaced by "+params.Str("toModel"), m.line)
}

// failed takes an error: the agent tries again, or the turn's end tells it.
func (c *conn) failed(m message, params acp.Object) {
	fault := params.Object("error")
	text := fault.Str("message")
	if more := fault.Str("additionalDetails"); more != "" {
		text += ": " + more
	}
	if params.True("willRetry") {
		c.notice("warning", "agent_retry", text, m.line)
		return
	}
	c.notice("error", "agent_model_error", text, m.line)
}

func (c *conn) serverStarted(m message, params acp.Object) {
	if params.Str("status") != "failed" {
		c.emit(c.current(), raw(m))
		return
	}
	c.notice("warning", "agent_mcp_server_failed", strings.TrimSuffix(params.Str("name")+": "+params.Str("error"), ": "), m.line)
}

// limitsUpdated tells of limits that are reached.
func (c *conn) limitsUpdated(m message, params acp.Object) {
	reached := params.Object("rateLimits").Str("rateLimitReachedType")
	if reached == "" {
		c.emit(c.current(), raw(m))
		return
	}
	c.notice("warning", "agent_rate_limit", "rate limit reached: "+reached, m.line)
}
