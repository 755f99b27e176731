package claude

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
	// interrupted: we have asked the agent to end it.
	interrupted atomic.Bool
	// fenced: it has settled without its result. Under conn.emitting.
	fenced bool

	// done is closed when the result line was handled; what follows belongs to
	// the reading goroutine until then, then to Prompt.
	done     chan struct{}
	budget   budget.Budget
	cut      bool // the end of the budget was told
	spoke    bool // a message came
	produced bool // anything came that the agent did
	// context is how full the window was at the last answer of the model.
	context *int64
	outcome agent.Outcome
	err     error

	mu     sync.Mutex
	sealed bool
	open   int
	idle   chan struct{} // closed when open falls to 0
}

func newTurn(parent context.Context, number uint64, maxOutput *int64) *turn {
	t := &turn{number: number, budget: budget.New(maxOutput), done: make(chan struct{})}
	t.ask, t.dismiss = context.WithCancel(parent)
	return t
}

// ended reports whether the result was read. On the reading goroutine it
// becomes true exactly there.
func (t *turn) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
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
	open, idle := t.open, t.idle
	t.mu.Unlock()
	if open == 0 {
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
		t.spoke = t.spoke || ev.Kind == agent.KindMessage
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
