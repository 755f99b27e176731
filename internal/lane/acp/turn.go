package acp

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
	"dragoman/wire/ndjson"
)

// A turn is one prompt, or the outside of all prompts (number 0).
type turn struct {
	number uint64
	// ask ends when open questions are dismissed.
	ask    context.Context
	cancel context.CancelFunc

	// call is the prompt's, set under conn.mu when it is sent.
	call *jsonrpc.Call
	// fenced: the turn has settled without its answer. Under conn.emitting.
	fenced bool

	// budget and produced belong to the reading goroutine until the call is
	// done, then to Prompt.
	budget budget
	// produced: the agent has done something that a refusal doesn't undo.
	produced bool

	mu        sync.Mutex
	open      int
	idle      chan struct{} // closed when open falls to 0
	dismissed bool          // no question is opened any more
}

func newTurn(parent context.Context, number uint64, maxOutput *int64) *turn {
	t := &turn{number: number, budget: newBudget(maxOutput)}
	t.ask, t.cancel = context.WithCancel(parent)
	return t
}

// answered reports whether the agent has answered the prompt. On the reading
// goroutine it becomes true exactly when the answer is read.
func (t *turn) answered() bool {
	if t.call == nil {
		return false
	}
	select {
	case <-t.call.Done():
		return true
	default:
		return false
	}
}

// opened counts a question, unless the turn takes none any more.
func (t *turn) opened() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dismissed || t.ask.Err() != nil {
		return false
	}
	if t.open == 0 {
		t.idle = make(chan struct{})
	}
	t.open++
	return true
}

// answeredOne counts an answer.
func (t *turn) answeredOne() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	if t.open == 0 {
		close(t.idle)
	}
}

// dismiss ends the open questions and lets none be opened.
func (t *turn) dismiss() {
	t.mu.Lock()
	t.dismissed = true
	t.mu.Unlock()
	t.cancel()
}

// settled waits until no question is open, for partingWait at most.
func (t *turn) settled() {
	t.mu.Lock()
	open, idle := t.open, t.idle
	t.mu.Unlock()
	if open == 0 {
		return
	}
	timer := time.NewTimer(partingWait)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

// A budget bounds a turn's output (sidecar.md §3): text and the JSON of whole
// other events share it.
type budget struct {
	limited bool
	left    int64
	// spent: something didn't fit, nothing more is let through.
	spent bool
}

func newBudget(limit *int64) budget {
	if limit == nil {
		return budget{}
	}
	return budget{limited: true, left: *limit}
}

// admit takes an event out of the budget. It returns what of it may go out,
// nil for nothing, and whether this one is the first that didn't fit.
func (b *budget) admit(ev *agent.Event) (out *agent.Event, truncated bool) {
	if !b.limited {
		return ev, false
	}
	if b.spent {
		return nil, false
	}
	size := int64(len(ev.Text))
	if ev.Kind != agent.KindMessage {
		size = plainSize(ev)
	}
	if size <= b.left {
		b.left -= size
		return ev, false
	}
	b.spent = true
	if ev.Kind != agent.KindMessage {
		return nil, true
	}
	ev.Text = ev.Text[:wholeCharacters(ev.Text, int(b.left))]
	if ev.Text == "" {
		return nil, true
	}
	return ev, true
}

// wholeCharacters is the length of the longest prefix of at most limit bytes
// that doesn't split a character.
func wholeCharacters(text string, limit int) int {
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}

// plainSize is the length of an event in the sidecar's plain form.
func plainSize(ev *agent.Event) int64 {
	switch ev.Kind {
	case agent.KindToolCall, agent.KindToolCallUpdate:
		summary := ndjson.AppendQuote(nil, summary(ev))
		raw := ndjson.Cut(ev.Raw, "sessionUpdate")
		return int64(len(`{"kind":"tool-call","summary":,"raw":}`) + len(summary) + len(raw))
	case agent.KindPlan:
		return int64(len(`{"kind":"plan","raw":}`) + len(ndjson.Cut(ev.Raw, "sessionUpdate")))
	}
	return int64(len(`{"kind":"raw","raw":}`) + len(ev.Raw))
}

// summary is the plain form's (sidecar.md §3).
func summary(ev *agent.Event) string {
	switch {
	case ev.Kind == agent.KindToolCallUpdate:
		return "Agent tool call update"
	case ev.ToolCall.Title != "":
		return ev.ToolCall.Title
	}
	return "Agent tool call"
}
