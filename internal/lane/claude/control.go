package claude

import (
	"context"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// Subtypes of our control requests.
const (
	controlInitialize  = "initialize"
	controlInterrupt   = "interrupt"
	controlSetModel    = "set_model"
	controlSetMode     = "set_permission_mode"
	controlSetThinking = "set_max_thinking_tokens"
)

// controlRequest is a request of the control protocol. Members that a subtype
// doesn't have are absent.
type controlRequest struct {
	Subtype  string         `json:"subtype"`
	Hooks    jsontext.Value `json:"hooks,omitzero"`
	Model    string         `json:"model,omitzero"`
	Mode     string         `json:"mode,omitzero"`
	Thinking jsontext.Value `json:"max_thinking_tokens,omitzero"`
}

type controlMessage struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Request   *controlRequest `json:"request,omitzero"`
}

// controlAnswer is our answer to a request of the agent's.
type controlAnswer struct {
	Type     string            `json:"type"`
	Response controlAnswerBody `json:"response"`
}

type controlAnswerBody struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response,omitzero"`
	Error     string `json:"error,omitzero"`
}

// encode makes a line that no reader can break: one object, valid UTF-8, and
// none of the characters that some JavaScript readers take for an end of line.
func encode(message any) ([]byte, error) {
	return json.Marshal(message, jsontext.AllowInvalidUTF8(true), jsontext.EscapeForJS(true))
}

// A reply answers a control request.
type reply struct {
	response acp.Object
	// fault is the agent's error text; lost means that it can't answer any
	// more.
	fault string
	lost  bool
}

// controls are our control requests that have no answer yet. Safe for
// concurrent use.
type controls struct {
	mu      sync.Mutex
	next    int
	ended   bool
	pending map[string]chan reply
}

// add makes a request's id and what its answer comes on.
func (s *controls) add() (string, chan reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	id, answer := "dragoman-"+strconv.Itoa(s.next), make(chan reply, 1)
	if s.ended {
		answer <- reply{lost: true}
		return id, answer
	}
	s.pending[id] = answer
	return id, answer
}

// settle gives a reply to who waits for it, and reports whether somebody did.
func (s *controls) settle(id string, r reply) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, ok := s.pending[id]
	if ok {
		delete(s.pending, id)
		answer <- r
	}
	return ok
}

// end settles all as lost, and whatever is added later.
func (s *controls) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for id, answer := range s.pending {
		delete(s.pending, id)
		answer <- reply{lost: true}
	}
}

// send sends a control request.
func (c *conn) send(r controlRequest) (id string, answer <-chan reply, err error) {
	id, pending := c.control.add()
	if err := c.write(controlMessage{Type: typeControlRequest, RequestID: id, Request: &r}); err != nil {
		c.control.settle(id, reply{lost: true})
		return id, pending, err
	}
	return id, pending, nil
}

// call sends a control request and waits for its reply. A refusal is
// agent_configuration_rejected at stage.
func (c *conn) call(ctx context.Context, stage string, r controlRequest) (acp.Object, error) {
	id, answer, err := c.send(r)
	if err != nil {
		return nil, c.lost(ctx, stage)
	}
	select {
	case got := <-answer:
		switch {
		case got.lost:
			return nil, c.lost(ctx, stage)
		case got.fault != "":
			return nil, agent.Fail(agent.CodeConfigurationRejected, stage, r.Subtype+": "+got.fault)
		}
		return got.response, nil
	case <-ctx.Done():
		c.control.settle(id, reply{lost: true})
		return nil, context.Cause(ctx)
	}
}

// interrupt asks the agent to end the turn; its result line is the answer.
func (c *conn) interrupt() {
	if _, _, err := c.send(controlRequest{Subtype: controlInterrupt}); err != nil {
		c.log().Debug("interrupt", "error", err)
	}
}

// answer answers a control request of the agent's.
func (c *conn) answer(id string, body any) {
	c.respond(controlAnswerBody{Subtype: "success", RequestID: id, Response: body})
}

func (c *conn) respond(body controlAnswerBody) {
	if err := c.write(controlAnswer{Type: typeControlResponse, Response: body}); err != nil {
		c.log().Debug("answer to the agent", "error", err)
	}
}

// lost is the error of a session whose agent is gone.
func (c *conn) lost(ctx context.Context, stage string) *agent.Error {
	if c.closing.Load() {
		return closedError()
	}
	return agent.Fail(agent.CodeProtocolFailed, stage, lane.Ending(ctx, c.process))
}

// controlled takes the answer to a control request of ours.
func (c *conn) controlled(record acp.Object) {
	body := record.Object("response")
	got := reply{response: body.Object("response")}
	if body.Str("subtype") == "error" {
		if got.fault = body.Str("error"); got.fault == "" {
			got.fault = "refused"
		}
	}
	if got.response.Get("commands") != nil || got.response.Get("models") != nil {
		c.greet(record, got.response)
	}
	if !c.control.settle(body.Str("request_id"), got) {
		c.emit(c.current(), raw(record))
	}
}
