package session

import (
	"context"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// run is the turn goroutine: it runs turns until none is left. Close waits
// for it.
func (s *Session) run() {
	for {
		t := s.begin()
		if t == nil {
			return
		}
		out, err := s.runTurn(t)
		s.end(t)
		t.settle(out, err)
	}
}

// begin returns the turn to run, or nil after it has signed off.
func (s *Session) begin() *Turn {
	s.mu.Lock()
	if s.current == nil && len(s.queue) > 0 {
		s.current, s.queue = s.queue[0], s.queue[1:]
	}
	t := s.current
	before := s.state
	if t == nil {
		s.runner = false
		s.state = s.state.next(settled)
		close(s.idle)
	} else {
		s.state = s.state.next(started)
	}
	after := s.state
	s.mu.Unlock()
	if before != after {
		s.host.Changed()
	}
	return t
}

// end takes t from its place. From here on a cancel doesn't meet it.
func (s *Session) end(t *Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	if t.cancelled && t.sent {
		s.afterCancel = true
	}
}

// take tells whether t may go to the lane, and whether it is the first turn
// after a cancelled one.
func (s *Session) take(t *Turn) (goOn, afterCancel bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.cancelled || s.ctx.Err() != nil {
		return false, false
	}
	t.sent = true
	afterCancel, s.afterCancel = s.afterCancel, false
	return true, afterCancel
}

func (s *Session) runTurn(t *Turn) (agent.Outcome, error) {
	goOn, afterCancel := s.take(t)
	if !goOn {
		if s.ctx.Err() != nil {
			return agent.Outcome{}, closedError(s.promptStage())
		}
		return agent.Outcome{StopReason: agent.StopCancelled}, nil
	}
	w := &watch{number: t.number, inChunks: s.conn.Info().TextInChunks}
	ctx, stop := context.WithCancel(s.ctx)
	w.ctx = ctx
	s.setWatch(w)
	silence := s.watchSilence(ctx, t.number)
	out, err := s.conn.Prompt(s.ctx, lane.Turn{
		Number: t.number, Text: t.prompt.Text, Attachments: t.prompt.Attachments,
		Options: t.prompt.Options, Cancel: t.cancel,
	})
	s.setWatch(nil)
	stop()
	<-silence
	if err != nil {
		return agent.Outcome{}, asError(err)
	}
	if out.Suspect == "" {
		out.Suspect = w.suspect(&out, afterCancel)
	}
	return out, nil
}

// watchSilence tells the host of a turn in which nothing is heard. The
// channel that it returns is closed when its goroutine has ended, after ctx.
func (s *Session) watchSilence(ctx context.Context, turn uint64) <-chan struct{} {
	s.last.Store(int64(time.Since(s.base)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		timer := time.NewTimer(s.stall)
		defer timer.Stop()
		told := time.Duration(0) // the silence that was told last
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			silence := time.Since(s.base) - time.Duration(s.last.Load())
			if s.asks.Load() > 0 {
				silence = 0 // it waits for a person
			}
			if silence < told {
				told = 0
			}
			if silence >= told+s.stall {
				told = silence
				s.tellStalled(ctx, turn, silence)
			}
			timer.Reset(max(told+s.stall-silence, s.stall/60))
		}
	}()
	return done
}
