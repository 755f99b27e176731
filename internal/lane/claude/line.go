package claude

import (
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// Types of lines, both ways.
const (
	typeUser            = "user"
	typeControlRequest  = "control_request"
	typeControlResponse = "control_response"
)

// handlers are the types of lines that we know; others are kept raw.
var handlers = map[string]func(c *conn, record acp.Object){
	"system":                 (*conn).system,
	"assistant":              (*conn).assistant,
	typeUser:                 (*conn).user,
	"stream_event":           (*conn).streamed,
	"result":                 (*conn).result,
	typeControlRequest:       (*conn).asked,
	"control_cancel_request": (*conn).withdrawn,
	typeControlResponse:      (*conn).controlled,
	"rate_limit_event":       (*conn).rateLimited,
	"keep_alive":             func(*conn, acp.Object) {},
}

// handle takes one line of the agent's. The caller holds emitting.
func (c *conn) handle(record acp.Object) {
	if h := handlers[record.Str("type")]; h != nil {
		h(c, record)
		return
	}
	c.emit(c.current(), raw(record))
}

// raw keeps a line that isn't understood.
func raw(record acp.Object) *agent.Event {
	return &agent.Event{Kind: agent.KindRaw, Raw: record}
}

// rawText keeps a line that is no JSON object, as a string.
func rawText(line []byte) *agent.Event {
	return &agent.Event{Kind: agent.KindRaw, Raw: ndjson.AppendQuote(nil, string(line))}
}
