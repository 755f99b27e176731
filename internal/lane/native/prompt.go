package native

import (
	"context"
	"errors"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// The clocks of a turn.
const (
	// cancelWait is how long an agent has to end a cancelled turn, and how
	// long the next prompt waits for that end (sidecar.md §2).
	cancelWait = 10 * time.Second
	// interruptAgain is how often the interrupt is repeated until then: one
	// that comes before the agent has begun the turn may be lost.
	interruptAgain = 2 * time.Second
	// heldRetry is how often the cancel clock looks again while the host
	// doesn't take an event.
	heldRetry = 100 * time.Millisecond
)

// errTurnCancelled is the cause of a setup's context when its turn is
// cancelled.
var errTurnCancelled = errors.New("the turn was cancelled")

// Cancelled is the outcome of a cancelled turn.
func Cancelled() agent.Outcome { return agent.Outcome{StopReason: agent.StopCancelled} }

// Closed is the error of what a close ends.
func Closed() *agent.Error {
	return agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "the session was closed", agent.FlagsUncertain)
}

// Prompt runs one turn (lane.Conn).
func (s *Session) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	defer context.AfterFunc(ctx, s.mute)() // the session closes
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.host, func() {
		if s.closing.Load() || s.link.Err() == nil {
			cancel()
		}
	})()
	switch err := s.prepare(ctx, t); {
	case err == nil:
	case errors.Is(err, errTurnCancelled):
		return Cancelled(), nil
	case ctx.Err() != nil:
		return agent.Outcome{}, Closed()
	default:
		return agent.Outcome{}, err
	}
	turn := newTurn(s.link, t.Number, s.maxOutput)
	s.mu.Lock()
	s.turn = turn
	s.mu.Unlock()
	if err := s.dialect.Send(ctx, t); err != nil {
		s.Handle(func() { turn.End(agent.Outcome{}, err) })
	}
	return s.await(ctx, turn, t.Cancel)
}

// prepare does what comes before the prompt is sent; a cancel ends it.
func (s *Session) prepare(ctx context.Context, t lane.Turn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-t.Cancel:
			cancel(errTurnCancelled)
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(nil); <-watched }()
	err := s.recover(ctx)
	if err == nil && s.link.Err() != nil {
		err = s.dialect.Lost(ctx, agent.StagePrompt)
	}
	if err == nil {
		err = s.dialect.Prepare(ctx, t)
	}
	select {
	case <-t.Cancel:
		return errTurnCancelled
	default:
		return err
	}
}

// recover waits for the end of a turn that was given up.
func (s *Session) recover(ctx context.Context) error {
	last := s.last()
	if last == nil || last.Ended() || s.link.Err() != nil {
		return nil
	}
	timer := time.NewTimer(cancelWait)
	defer timer.Stop()
	select {
	case <-last.done:
		return nil
	case <-s.link.Done():
		return nil
	case <-timer.C:
		return agent.Fail(agent.CodeRecoveryRequired, agent.StagePrompt, "the agent has not ended the turn that was cancelled")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await waits for the end of a turn, and tells the agent of a cancel.
func (s *Session) await(ctx context.Context, t *Turn, cancel <-chan struct{}) (agent.Outcome, error) {
	defer t.dismiss()
	clock, again := time.NewTimer(cancelWait), time.NewTicker(interruptAgain)
	clock.Stop()
	again.Stop()
	defer clock.Stop()
	defer again.Stop()
	for {
		select {
		case <-t.done:
			return s.finish(ctx, t)
		case <-cancel:
			cancel = nil
			t.interrupted.Store(true)
			s.dialect.Interrupt()
			t.dismiss()
			clock.Reset(cancelWait)
			again.Reset(interruptAgain)
		case <-again.C:
			s.dialect.Interrupt()
		case <-clock.C:
			if !s.emitting.TryLock() { // it's the host that doesn't read, not the agent
				clock.Reset(heldRetry)
				continue
			}
			t.fenced = !t.Ended()
			s.emitting.Unlock()
			if !t.fenced {
				return s.finish(ctx, t)
			}
			out := Cancelled()
			out.Suspect = agent.SuspectCancelUnanswered
			return out, nil
		case <-s.link.Done():
			if !t.Ended() {
				t.dismiss()
				t.settle(ctx)
				return agent.Outcome{}, s.dialect.Lost(ctx, agent.StagePrompt)
			}
		case <-ctx.Done():
			s.mute()
			s.emitting.Lock() // what is on its way belongs to the turn
			defer s.emitting.Unlock()
			return agent.Outcome{}, Closed()
		}
	}
}

// finish gives the outcome of a turn that has ended.
func (s *Session) finish(ctx context.Context, t *Turn) (agent.Outcome, error) {
	t.dismiss()
	t.settle(ctx)
	if s.closing.Load() || ctx.Err() != nil {
		return agent.Outcome{}, Closed()
	}
	return t.outcome, t.err
}
