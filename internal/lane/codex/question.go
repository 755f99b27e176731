package codex

import (
	"context"
	"strings"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// Ids of the options: Codex's words for a decision.
const (
	accept        = "accept"
	acceptSession = "acceptForSession"
	decline       = "decline"
	cancelTurn    = "cancel"
)

// An approval is a request that asks for a decision.
type approval struct {
	// id is the member that names the item.
	id string
	// words are the decisions by the option's id; nil where they are the same.
	words map[string]string
	// read adds what the request itself says.
	read func(c *agent.ToolCall, params acp.Object)
}

// oldWords are the decisions of older versions.
var oldWords = map[string]string{accept: "approved", acceptSession: "approved_for_session", decline: "denied", cancelTurn: "abort"}

// approvals are the requests that people decide.
var approvals = map[string]*approval{
	"item/commandExecution/requestApproval": {"itemId", nil, commandAsked},
	"item/fileChange/requestApproval":       {"itemId", nil, patchAsked},
	"execCommandApproval":                   {"callId", oldWords, oldCommandAsked},
	"applyPatchApproval":                    {"callId", oldWords, oldPatchAsked},
}

// declines are the answers to requests that nobody is asked about.
var declines = map[string]string{
	"item/permissions/requestApproval": `{"permissions":{},"scope":"turn"}`,
	"item/tool/requestUserInput":       `{"answers":{}}`,
	"mcpServer/elicitation/request":    `{"action":"decline","content":null}`,
	"elicitation/create":               `{"action":"decline"}`,
}

func commandAsked(c *agent.ToolCall, params acp.Object) {
	c.Kind = "execute"
	if line := params.Str("command"); line != "" {
		setCommand(c, line)
	}
	if c.Title == "" {
		c.Title = "Use the network" // what is left that is asked without a command
	}
	if input := acp.Object(params).Object("networkApprovalContext"); input != nil {
		c.Title, c.RawInput = strings.TrimSpace("Connect to "+input.Str("host")), input
	}
}

func patchAsked(c *agent.ToolCall, params acp.Object) {
	c.Kind = "edit"
	if c.Title == "" {
		c.Title = "Edit files"
	}
	if root := params.Str("grantRoot"); root != "" {
		c.Title += ", and allow writes below " + root
		c.Locations = append(c.Locations, agent.Location{Path: root})
	}
}

func oldCommandAsked(c *agent.ToolCall, params acp.Object) {
	c.Kind = "execute"
	words, _ := params.List("command")
	var argv []string
	for _, w := range words {
		if word, ok := acp.Text(w); ok {
			argv = append(argv, word)
		}
	}
	if len(argv) > 0 {
		c.Title, c.Shell = "", ""
		setArgv(c, argv)
	}
}

func oldPatchAsked(c *agent.ToolCall, params acp.Object) {
	oldPatch(c, params.Object("fileChanges"))
	patchAsked(c, params)
}

// asked takes a request for a decision.
func (c *conn) asked(m message, params acp.Object) {
	a := approvals[m.method]
	t := c.current()
	q := c.question(t, a, params)
	if t.fenced || c.closing.Load() || !t.opened() {
		m.answer <- a.decision(cancelTurn)
		return
	}
	ctx, cancel := context.WithCancel(t.ask)
	c.mu.Lock()
	c.withdraw[m.id] = cancel
	c.mu.Unlock()
	c.work.Go(func() {
		defer t.answered()
		got := c.l.Sink.Ask(ctx, q)
		withdrawn := ctx.Err() != nil
		c.forget(m.id)
		switch {
		case withdrawn, c.closing.Load():
			m.answer <- a.decision(cancelTurn)
		case got.Cancelled(), !q.Offered(got.OptionID):
			m.answer <- a.decision(decline) // the turn itself isn't cancelled
		default:
			m.answer <- a.decision(got.OptionID)
		}
	})
}

// forget ends the context of a question.
func (c *conn) forget(id string) {
	c.mu.Lock()
	cancel := c.withdraw[id]
	delete(c.withdraw, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// resolved takes back a question of the agent's; mostly we have answered it.
func (c *conn) resolved(m message, params acp.Object) {
	c.forget(string(params.Get("requestId")))
	c.emit(c.current(), raw(m))
}

// question joins what is asked with the item as it was told.
func (c *conn) question(t *turn, a *approval, params acp.Object) *agent.Question {
	id := params.Str(a.id)
	it := c.item(id)
	it.asked = true
	joined := it.ToolCall
	joined.ID = id
	a.read(&joined, params)
	if reason := params.Str("reason"); reason != "" && !joined.HasContent {
		joined.HasContent, joined.Content = true, []agent.ToolContent{{Type: "text", Text: reason}}
	}
	asked := true
	joined.Asked, joined.Status = &asked, "pending"
	return &agent.Question{Turn: t.number, ToolCall: joined, Raw: params, Options: []agent.Option{
		{ID: accept, Name: "Allow once", Kind: agent.AllowOnce},
		{ID: acceptSession, Name: "Allow for this session", Kind: agent.AllowAlways},
		{ID: decline, Name: "Reject", Kind: agent.RejectOnce, Then: agent.ThenContinues},
		{ID: cancelTurn, Name: "Reject and end the turn", Kind: agent.RejectOnce, Then: agent.ThenEndsTurn},
	}}
}

// decision is the result of a request.
func (a *approval) decision(option string) []byte {
	if word := a.words[option]; word != "" {
		option = word
	}
	return []byte(`{"decision":"` + option + `"}`)
}
