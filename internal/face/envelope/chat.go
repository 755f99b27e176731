package envelope

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/client"
	"dragoman/envelope/agent"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A conversation is the one session of agent.prompt.
type conversation struct {
	face *Face
	turn chan struct{} // holds a token while a prompt runs

	mu        sync.Mutex
	agent     string
	session   string
	questions map[string]bool // that a prompt of this connection was asked
}

// promptInput is the input of agent.prompt.
type promptInput struct {
	Text  *string `json:"text"`
	Agent string  `json:"agent"`
}

// prompt runs one turn; the first opens the session.
func (c *conversation) prompt(ctx context.Context, r *agent.Request) ([]byte, error) {
	var input promptInput
	if err := json.Unmarshal(r.Input, &input); err != nil || input.Text == nil {
		return nil, badRequest("text must be a string")
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	default:
		return nil, &agent.Error{Code: "CONFLICT", Message: "a turn is running", Retryable: true}
	}
	session, err := c.open(ctx, input.Agent)
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(map[string]string{"session": session, "text": *input.Text})
	if err != nil {
		return nil, err
	}
	result, err := c.face.run(ctx, opSend, params, func(e client.Event) error { return c.tell(r, e) })
	if err != nil {
		return nil, err
	}
	return outcome(result)
}

// outcome is the result of agent.send as the output of completed.
func outcome(result []byte) ([]byte, error) {
	var sent struct {
		StopReason string         `json:"stopReason"`
		Text       *string        `json:"text,omitzero"`
		Usage      jsontext.Value `json:"usage,omitzero"`
		Suspect    string         `json:"suspect,omitzero"`
	}
	if err := json.Unmarshal(result, &sent); err != nil {
		return nil, err
	}
	if string(sent.Usage) == "null" {
		sent.Usage = nil
	}
	return json.Marshal(sent)
}

// open returns the session, which the first prompt opens.
func (c *conversation) open(ctx context.Context, agentID string) (string, error) {
	c.mu.Lock()
	session, now := c.session, c.agent
	c.mu.Unlock()
	if session != "" {
		if agentID != "" && agentID != now {
			return "", &agent.Error{Code: "CONFLICT", Message: "this connection's session is one of " + now}
		}
		return session, nil
	}
	if agentID == "" {
		agentID = c.face.config.Agent
	}
	if agentID == "" {
		var err error
		if agentID, err = c.firstInstalled(ctx); err != nil {
			return "", err
		}
	}
	result, err := c.face.run(ctx, opOpen, fmt.Appendf(nil, `{"agent":%s}`, quoted(agentID)), func(client.Event) error { return nil })
	if err != nil {
		return "", err
	}
	var opened struct {
		Session string `json:"session"`
	}
	if err := json.Unmarshal(result, &opened); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.agent = opened.Session, agentID
	return c.session, nil
}

func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`) // only invalid UTF-8, which no input holds
	}
	return b
}

func (c *conversation) firstInstalled(ctx context.Context) (string, error) {
	raw, err := c.face.core.Raw(ctx, opList, []byte("{}"))
	if err != nil {
		return "", failure(err)
	}
	var known core.AgentListResult
	if err := json.Unmarshal(raw, &known); err != nil {
		return "", err
	}
	for _, a := range known.Agents {
		if a.Installed {
			return a.ID, nil
		}
	}
	return "", &agent.Error{Code: "NOT_FOUND", Message: "no agent is installed"}
}

// tell says one event of a turn as lanes.md §10 has it.
func (c *conversation) tell(r *agent.Request, e client.Event) error {
	if e.Name == core.RunStarted.Name {
		return nil
	}
	if e.Name == core.AgentPermission.Name {
		var q struct {
			Request string `json:"request"`
		}
		if err := json.Unmarshal(e.Params, &q); err != nil {
			return err
		}
		c.mu.Lock()
		c.questions[q.Request] = true
		c.mu.Unlock()
	}
	known, ok := chatEvents[e.Name]
	if !ok {
		return send(r, kebab(e.Name), e.Params)
	}
	output, err := known.write(e.Params)
	if err != nil {
		return err
	}
	return send(r, known.name, output)
}

// permit answers a question of this connection's own prompt.
func (c *conversation) permit(ctx context.Context, r *agent.Request) ([]byte, error) {
	var input struct {
		PermissionID string `json:"permissionId"`
		OptionID     string `json:"optionId"`
		Cancelled    bool   `json:"cancelled"`
	}
	if err := json.Unmarshal(r.Input, &input); err != nil || (input.OptionID == "") != input.Cancelled {
		return nil, badRequest("permissionId, and optionId or cancelled")
	}
	c.mu.Lock()
	known := c.questions[input.PermissionID]
	c.mu.Unlock()
	if !known {
		return nil, &agent.Error{Code: "NOT_FOUND", Message: "this connection has no such question"}
	}
	params, err := json.Marshal(core.AgentPermitParams{Request: input.PermissionID, Option: input.OptionID, Cancelled: input.Cancelled})
	if err != nil {
		return nil, err
	}
	_, err = c.face.core.Raw(ctx, opPermit, params)
	return nil, failure(err)
}

// close ends the session.
func (c *conversation) close(ctx context.Context) error {
	c.mu.Lock()
	session := c.session
	c.session = ""
	c.mu.Unlock()
	if session == "" {
		return nil
	}
	ctx, stop := detached(ctx)
	defer stop()
	_, err := c.face.run(ctx, opClose, fmt.Appendf(nil, `{"session":%s}`, quoted(session)), func(client.Event) error { return nil })
	var gone *op.Error
	if errors.Is(err, errLost) || errors.As(err, &gone) {
		return nil // the core has ended it already
	}
	return err
}
