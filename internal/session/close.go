package session

import (
	"context"
	"time"
)

// A closeAttempt is one try to close; callers that come meanwhile share it.
type closeAttempt struct {
	done chan struct{}
	err  error // set before done is closed
}

// BeginClose starts closing (sidecar.md §2, "close"). From its return on no
// prompt is taken; those that wait fail with agent_session_closed. It never
// blocks. The function that it returns waits until nothing of the agent is
// left, or says what couldn't be ended: then the session stays closing, and
// close can be asked again.
func (s *Session) BeginClose() func(context.Context) error {
	s.mu.Lock()
	s.state = s.state.next(closing)
	a := s.attempt
	if a == nil {
		a = &closeAttempt{done: make(chan struct{})}
		s.attempt = a
		waiting := s.queue
		s.queue = nil
		s.stop()
		go s.close(a, waiting)
	}
	s.mu.Unlock()
	return func(ctx context.Context) error {
		select {
		case <-a.done:
			return a.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close is BeginClose and the wait.
func (s *Session) Close(ctx context.Context) error { return s.BeginClose()(ctx) }

func (s *Session) close(a *closeAttempt, waiting []*Turn) {
	s.host.Changed()
	for _, t := range waiting {
		t.settle(t.outcome, closedError(s.promptStage()))
	}
	s.waitIdle(promptGrace)
	a.err = s.conn.Close(context.WithoutCancel(s.ctx))
	if a.err == nil {
		s.waitIdle(-1)
	}
	s.mu.Lock()
	if a.err == nil {
		s.state = s.state.next(closed)
	} else {
		s.attempt = nil // the next close tries again
	}
	s.mu.Unlock()
	s.host.Changed()
	close(a.done)
}

// waitIdle waits until no turn runs, at most limit (below 0: for ever).
func (s *Session) waitIdle(limit time.Duration) {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	var late <-chan time.Time
	if limit >= 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-idle:
	case <-late:
	}
}

// promptStage is the stage of the prompts that the engine refuses.
func (s *Session) promptStage() string {
	if stage := s.conn.Info().PromptStage; stage != "" {
		return stage
	}
	return "session/prompt"
}
