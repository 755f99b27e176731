package native

import (
	"context"
	"sync"
	"sync/atomic"

	"dragoman/internal/lane/budget"
	"dragoman/wire/agent"
)

// A Turn is one prompt, or the outside of all prompts (number 0).
type Turn struct {
	// Number is the turn's, 0 for the outside.
	Number uint64

	ask         context.Context
	dismiss     context.CancelFunc
	interrupted atomic.Bool

	// done is closed by End; what follows belongs to the goroutine that
	// handles records until then, then to Prompt. fenced: the turn has settled
	// without its end.
	done     chan struct{}
	fenced   bool
	budget   budget.Budget
	cut      bool // the end of the budget was told
	produced bool
	outcome  agent.Outcome
	err      error

	mu     sync.Mutex
	sealed bool
	open   int
	idle   chan struct{} // closed when open falls to 0
}

func newTurn(parent context.Context, number uint64, maxOutput *int64) *Turn {
	t := &Turn{Number: number, budget: budget.New(maxOutput), done: make(chan struct{})}
	t.ask, t.dismiss = context.WithCancel(parent)
	return t
}

// Outside reports whether this is no turn.
func (t *Turn) Outside() bool { return t.Number == 0 }

// Interrupted reports whether the agent was asked to end the turn.
func (t *Turn) Interrupted() bool { return t.interrupted.Load() }

// Ended reports whether the end of the turn was handled.
func (t *Turn) Ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Certainty says whether the turn, should it have failed, can have had an
// effect. It is for [Session.Handle].
func (t *Turn) Certainty() agent.Certainty {
	if t.produced {
		return agent.Uncertain
	}
	return agent.Certain
}

// End settles the turn. It is for [Session.Handle]; only the first call
// counts, and the outside doesn't end.
func (t *Turn) End(out agent.Outcome, err error) {
	if t.Outside() || t.Ended() {
		return
	}
	out.Truncated = t.cut
	t.outcome, t.err = out, err
	close(t.done)
}

// opened counts a question. It is false once the turn takes none any more.
func (t *Turn) opened() bool {
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
func (t *Turn) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	if t.open == 0 {
		close(t.idle)
	}
}

// settle takes no more questions and waits until none is open, or ctx ends.
func (t *Turn) settle(ctx context.Context) {
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
func (t *Turn) admit(ev *agent.Event) (out *agent.Event, cut bool) {
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
