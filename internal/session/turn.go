package session

import (
	"context"
	"errors"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// ErrBusy refuses a prompt with Queue RefuseIfBusy while a turn runs.
var ErrBusy = errors.New("a turn is running")

// Queueing says what a prompt does while another turn runs.
type Queueing int

// The ways of a second prompt. It never reaches the agent before the first
// turn has settled.
const (
	WaitInLine Queueing = iota
	RefuseIfBusy
)

// A Prompt is a turn to run.
type Prompt struct {
	Text        string
	Attachments []lane.Attachment
	// Options: model and effort only.
	Options agent.Options
	Queue   Queueing
	// OnSettle, if not nil, is called once when the turn has settled and
	// before the next one begins; the next turn waits for it.
	OnSettle func(*Turn)
}

// A Turn is a prompt that was taken.
type Turn struct {
	number uint64
	prompt Prompt
	cancel chan struct{}
	done   chan struct{}

	// Guarded by Session.mu.
	cancelled bool
	sent      bool // the lane has it

	// Set before done is closed.
	outcome agent.Outcome
	err     error
}

// Number is the turn's number in its session, from 1.
func (t *Turn) Number() uint64 { return t.number }

// Done is closed when the turn has settled and OnSettle has returned.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Result is how the turn ended: an outcome or an [*agent.Error]. It may be
// called in OnSettle and once Done is closed.
func (t *Turn) Result() (agent.Outcome, error) { return t.outcome, t.err }

// Wait waits for Done or ctx and returns the result.
func (t *Turn) Wait(ctx context.Context) (agent.Outcome, error) {
	select {
	case <-t.done:
		return t.outcome, t.err
	case <-ctx.Done():
		return agent.Outcome{}, ctx.Err()
	}
}

// settle records the result and tells who waits.
func (t *Turn) settle(out agent.Outcome, err error) {
	t.outcome, t.err = out, err
	if t.prompt.OnSettle != nil {
		t.prompt.OnSettle(t)
	}
	close(t.done)
}
