package opencode

import (
	"fmt"
	"net/http"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// Words of OpenCode's.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	statusIdle    = "idle"
	statusRetry   = "retry"
)

// An event is one record of the stream: its properties, and the session that
// it is about, "" for none.
type event struct {
	record, props acp.Object
	session       string
}

// handlers are the types of events of our session that we know; others are
// kept raw.
var handlers = map[string]func(c *conn, e event){
	"message.updated":      (*conn).message,
	"message.part.updated": func(c *conn, e event) { c.part(e, e.props.Object("part")) },
	"message.part.delta":   (*conn).delta,
	"permission.asked":     (*conn).question,
	"permission.replied":   (*conn).keep,
	"question.asked":       (*conn).declined,
	"session.created":      (*conn).keep,
	"session.updated":      (*conn).updated,
	"session.status":       (*conn).status,
	"session.idle":         (*conn).idle,
	"session.error":        (*conn).errored,
	"session.compacted":    (*conn).compacted,
	"todo.updated":         (*conn).planned,
}

// childHandlers are those of sessions that ours has started: what they say is
// the tool's business, what they do is told.
var childHandlers = map[string]func(c *conn, e event){
	"message.part.updated": (*conn).childPart,
	"permission.asked":     (*conn).question,
	"question.asked":       (*conn).declined,
}

// housekeeping are the server's own affairs, of no session.
var housekeeping = map[string]bool{
	"server.connected": true, "server.heartbeat": true, "plugin.added": true, "catalog.updated": true,
	"integration.updated": true, "reference.updated": true, "file.watcher.updated": true,
}

// handle takes one event.
func (c *conn) handle(record acp.Object) {
	kind, props := record.Str("type"), record.Object("properties")
	e := event{record, props, sessionOf(props)}
	var known func(*conn, event)
	switch _, child := c.children[e.session]; {
	case e.session == c.native:
		known = handlers[kind]
	case child:
		known = childHandlers[kind]
	case kind == "session.created" && c.ours(props.Object("info").Str("parentID")):
		c.children[e.session] = ""
	case housekeeping[kind]:
		return
	}
	if known == nil {
		known = (*conn).keep
	}
	known(c, e)
}

// ours reports whether a session is this one or one below it.
func (c *conn) ours(session string) bool {
	_, child := c.children[session]
	return child || session == c.native
}

// sessionOf is the session that an event is about.
func sessionOf(props acp.Object) string {
	if id := props.Str("sessionID"); id != "" {
		return id
	}
	for _, inner := range []string{"info", "part"} {
		if id := props.Object(inner).Str("sessionID"); id != "" {
			return id
		}
	}
	return props.Object("info").Str("id")
}

// keep keeps an event raw.
func (c *conn) keep(e event) { c.session.Raw(c.session.Current(), e.record) }

func (c *conn) notice(level, code, text string, record acp.Object) {
	c.session.Notice(c.session.Current(), agent.Notice{Level: level, Code: code, Text: text}, record)
}

// updated tells of a new title.
func (c *conn) updated(e event) {
	title := e.props.Object("info").Str("title")
	c.mu.Lock()
	changed := title != "" && title != c.state.title
	c.state.title = title
	c.mu.Unlock()
	if changed {
		c.session.Emit(c.session.Current(), &agent.Event{Kind: agent.KindTitle, Text: title, Raw: e.record})
	}
}

func (c *conn) status(e event) {
	status := e.props.Object("status")
	if status.Str("type") != statusRetry {
		return // busy, and idle, which session.idle tells
	}
	text := "the agent tries the model again"
	if n, ok := status.Int("attempt"); ok {
		text = fmt.Sprintf("%s, attempt %d", text, n)
	}
	if why := status.Str("message"); why != "" {
		text += ": " + why
	}
	c.notice("warning", "agent_retry", text, e.record)
}

func (c *conn) compacted(e event) {
	c.notice("info", "agent_compacted", "the agent has summed up the conversation so far", e.record)
}

// planned tells the list of things to do, which has ACP's members.
func (c *conn) planned(e event) {
	if todos := e.props.Get("todos"); todos != nil {
		c.session.Emit(c.session.Current(), &agent.Event{Kind: agent.KindPlan, Value: todos, Raw: e.record})
	}
}

// declined turns a question of the agent's own down: there is nobody to type
// an answer.
func (c *conn) declined(e event) {
	if id := e.props.Str("id"); isID(id) {
		c.spawn(func() {
			if _, err := c.client.call(c.base, http.MethodPost, "/question/"+id+"/reject", nil); err != nil {
				c.log().Debug("a question of the agent's", "error", err)
			}
		})
	}
	c.keep(e)
}
