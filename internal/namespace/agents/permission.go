package agents

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/agent"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A question is one that waits for the first answer.
type question struct {
	request core.PermissionRequest
	q       *agent.Question
	answers chan answer // one
}

type answer struct {
	agent.Answer
	by jsontext.Value
}

// Ask implements session.Host: the first answer wins, whoever gives it.
func (h *held) Ask(ctx context.Context, q *agent.Question) agent.Answer {
	t := h.ticketOf(q.Turn)
	w := &question{q: q, answers: make(chan answer, 1), request: h.request(t, q)}
	id := w.request.Request
	h.mu.Lock()
	h.asked[id] = w
	h.mu.Unlock()
	h.keepOrLog() // the question is known after a crash
	h.changed()
	h.emit(t, core.AgentPermission.With(w.request))
	var a answer
	select {
	case a = <-w.answers:
	case <-ctx.Done():
		if a = (answer{by: jsontext.Value(`"cancel"`)}); !h.settle(id, a.by) {
			a = <-w.answers // somebody was faster
		}
	}
	h.emit(t, core.AgentPermitted.With(core.AgentPermittedParams{
		Request: id, Session: h.id, Option: a.OptionID, Cancelled: a.Cancelled(), By: a.by,
	}))
	h.record(t, w, a)
	h.changed()
	h.keepOrLog()
	return a.Answer
}

// emit sends an event that isn't of the history.
func (h *held) emit(t *ticket, m op.Message) {
	h.out.Lock()
	defer h.out.Unlock()
	if t != nil {
		t.run.Emit(m)
		return
	}
	h.space.o.Events.Emit(m)
}

// settle takes a question off the list; false when it was taken before.
func (h *held) settle(id string, by jsontext.Value) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked[id] == nil {
		return false
	}
	delete(h.asked, id)
	h.note.Settled[id] = by
	return true
}

// request is a question as clients see it.
func (h *held) request(t *ticket, q *agent.Question) core.PermissionRequest {
	r := core.PermissionRequest{Request: randomID("q"), Session: h.id, ToolCall: toolCallJSON(&q.ToolCall), CreatedAt: now(), Options: []core.PermissionOption{}}
	if t != nil {
		run := t.id
		r.Run, r.Turn = &run, int64(t.turn)
	}
	for _, o := range q.Options {
		r.Options = append(r.Options, core.PermissionOption{OptionID: o.ID, Name: o.Name, Kind: o.Kind, Then: cmp.Or(o.Then, agent.ThenUnknown)})
	}
	return r
}

// toolCallJSON is a tool call as events have it.
func toolCallJSON(c *agent.ToolCall) jsontext.Value {
	members := agent.AppendMembers(nil, &agent.Event{Kind: agent.KindToolCall, ToolCall: c})
	return append(append([]byte{'{'}, bytes.TrimPrefix(members, []byte{','})...), '}')
}

// record adds a decision to the audit.
func (h *held) record(t *ticket, w *question, a answer) {
	decision := "cancelled"
	for _, o := range w.q.Options {
		if !a.Cancelled() && o.ID == a.OptionID {
			decision = o.Kind
		}
	}
	_, err := h.space.audit.Append(func(index int64) []byte {
		raw, err := json.Marshal(audited{Session: h.id, AuditEntry: core.AuditEntry{
			Index: index, At: now(), Run: w.request.Run, ToolCall: w.request.ToolCall, Asked: true, Decision: decision, By: a.by,
		}})
		if err != nil {
			return []byte("null")
		}
		return raw
	})
	if err != nil {
		h.space.o.Log.Error("the audit", "err", err)
	}
}

// audited is an entry of the audit on disk.
type audited struct {
	Session string `json:"session"`
	core.AuditEntry
}

// permit serves agent.permit.
func (s *Space) permit(_ context.Context, c op.Call, p core.AgentPermitParams) (core.AgentPermitResult, error) {
	none := core.AgentPermitResult{}
	for _, h := range s.all() {
		h.mu.Lock()
		w, by := h.asked[p.Request], h.note.Settled[p.Request]
		h.mu.Unlock()
		if w == nil && by == nil {
			continue
		}
		if w != nil && p.Option != "" && !w.q.Offered(p.Option) {
			return none, op.BadRequest("option", op.ReasonNotOneOf)
		}
		client, err := json.Marshal(map[string]string{"client": c.Client})
		if err != nil {
			return none, err
		}
		if w != nil && h.settle(p.Request, client) {
			w.answers <- answer{Answer: agent.Answer{OptionID: p.Option, Reason: p.Reason}, by: client}
			return none, nil
		}
		h.mu.Lock()
		by = h.note.Settled[p.Request]
		h.mu.Unlock()
		return none, op.Conflict(op.ConflictResolved, "request %s is settled", p.Request).With("by", by)
	}
	return none, op.NotFound("request", p.Request)
}

func (s *Space) pending(context.Context, op.Call, core.None) (core.AgentPendingResult, error) {
	list := []core.PermissionRequest{}
	for _, h := range s.all() {
		h.mu.Lock()
		for _, w := range h.asked {
			list = append(list, w.request)
		}
		h.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b core.PermissionRequest) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Request, b.Request))
	})
	return core.AgentPendingResult{Requests: list}, nil
}
