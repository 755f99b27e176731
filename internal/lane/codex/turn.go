package codex

import (
	"context"
	"sync"
	"sync/atomic"

	"dragoman/internal/lane/budget"
	"dragoman/wire/agent"
)

// A turn is one prompt, or the outside of all prompts (number 0).
type turn struct {
	number uint64
	// ask ends when open questions are to be dismissed.
	ask     context.Context
	dismiss context.CancelFunc
	// interrupted: we have asked the agent to end it, or want to.
	interrupted atomic.Bool
	// fenced: it has settled without its end. Under conn.emitting.
	fenced bool

	// done is closed when turn/completed was handled; what follows belongs to
	// the session's goroutine until then, then to Prompt.
	done     chan struct{}
	budget   budget.Budget
	cut      bool // the end of the budget was told
	produced bool // anything came that the agent did
	outcome  agent.Outcome
	err      error

	mu     sync.Mutex
	id     string // the agent's, "" until known
	sealed bool
	open   int
	idle   chan struct{} // closed when open falls to 0
}

func newTurn(parent context.Context, number uint64, maxOutput *int64) *turn {
	t := &turn{number: number, budget: budget.New(maxOutput), done: make(chan struct{})}
	t.ask, t.dismiss = context.WithCancel(parent)
	return t
}

// ended reports whether the end was read.
func (t *turn) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// native is the agent's id of the turn; setNative sets it once.
func (t *turn) native() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.id
}

func (t *turn) setNative(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.id == "" {
		t.id = id
	}
}

// opened counts a question. It is false once the turn takes none any more.
func (t *turn) opened() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return false
	}
	if t.open == 0 {
		t.idle = make(chan struct{})
	}
	t.open++
	return true
}

// answered counts an answer.
func (t *turn) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	if t.open == 0 {
		close(t.idle)
	}
}

// settle takes no more questions and waits until none is open, or ctx ends.
func (t *turn) settle(ctx context.Context) {
	t.mu.Lock()
	t.sealed = true
	idle := t.idle
	if t.open == 0 {
		idle = nil
	}
	t.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// admit takes what an event says out of the turn's budget (sidecar.md §3). It
// returns what of it may go out, nil for nothing, and whether this one is the
// first that didn't fit.
func (t *turn) admit(ev *agent.Event) (out *agent.Event, cut bool) {
	whole := true
	switch ev.Kind {
	case agent.KindMessage, agent.KindThought:
		t.produced = true
		var short bool
		ev.Text, short = t.budget.Text(ev.Text)
		whole = !short
		if short && ev.Text == "" {
			ev = nil
		}
	case agent.KindToolCall, agent.KindToolCallUpdate, agent.KindPlan, agent.KindRaw:
		t.produced = t.produced || ev.Kind != agent.KindRaw
		if whole = t.budget.Whole(len(ev.Raw)); !whole {
			ev = nil
		}
	}
	cut = !whole && !t.cut
	t.cut = t.cut || cut
	return ev, cut
}
