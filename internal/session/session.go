package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// DefaultStallAfter is the silence in a turn after which a stalled event is
// told (lanes.md §1).
const DefaultStallAfter = 60 * time.Second

// promptGrace is how long closing waits for a running turn to return after
// its context ended, before the lane is closed under it.
const promptGrace = 5 * time.Second

// Config is what a session needs beside the launch.
type Config struct {
	Host Host
	// StallAfter is the silence before a stalled event; 0 for the default.
	StallAfter time.Duration
	// Log gets what no event says; nil discards it.
	Log *slog.Logger
}

// A Session is one open session with an agent. Its methods are safe for
// concurrent use.
type Session struct {
	conn  lane.Conn
	host  Host
	log   *slog.Logger
	stall time.Duration

	// ctx ends when closing begins.
	ctx  context.Context
	stop context.CancelFunc

	mu          sync.Mutex
	state       State
	turns       uint64
	current     *Turn   // runs, or is about to
	queue       []*Turn // wait behind it
	runner      bool    // the turn goroutine is there
	afterCancel bool    // the turn before was cancelled
	attempt     *closeAttempt
	idle        chan struct{} // closed while no runner is there

	emit sync.Mutex // one event at a time

	seq  uint64
	turn *watch // of the running turn; nil outside one

	last atomic.Int64 // when the agent last said something, since base
	base time.Time
	asks atomic.Int64 // questions that wait for an answer
}

// Open opens plan and returns the session, idle. launch.Sink is the engine's.
// When ctx ends first the attempt is given up and nothing of it is left.
func Open(ctx context.Context, plan lane.Plan, launch lane.Launch, c Config) (*Session, error) {
	if c.StallAfter == 0 {
		c.StallAfter = DefaultStallAfter
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Session{host: c.Host, log: c.Log, stall: c.StallAfter, base: time.Now(), idle: make(chan struct{})}
	close(s.idle)
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	launch.Sink = sink{s}
	conn, err := plan.Open(ctx, launch)
	if err != nil {
		s.stop()
		s.mu.Lock()
		s.state = s.state.next(lost)
		s.mu.Unlock()
		return nil, err
	}
	s.mu.Lock()
	s.conn = conn
	s.state = s.state.next(opened)
	s.mu.Unlock()
	s.changed()
	return s, nil
}

// Info is what the lane knows now.
func (s *Session) Info() lane.Info { return s.conn.Info() }

// Conn is the lane's session, for what only some lanes can do
// ([lane.Configurer], [lane.Forker], [lane.Resizer]).
func (s *Session) Conn() lane.Conn { return s.conn }

// State is the session's state now, and how many prompts wait.
func (s *Session) State() (State, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, len(s.queue)
}

// Turn is the number of the running turn, 0 when none runs.
func (s *Session) Turn() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	return s.current.number
}

// Submit takes a prompt. It checks, in this order, that the session isn't
// closing and that the turn's selectors are good (sidecar.md §2), and returns
// without waiting for the agent. Its error is an [*agent.Error] or [ErrBusy].
func (s *Session) Submit(p Prompt) (*Turn, error) {
	if s.ctx.Err() != nil {
		return nil, closedError(agent.StagePrompt)
	}
	if err := s.conn.CheckTurn(p.Options); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state == Closing || s.state == Closed:
		return nil, closedError(agent.StagePrompt)
	case p.Queue == RefuseIfBusy && (s.current != nil || len(s.queue) > 0):
		return nil, ErrBusy
	}
	s.turns++
	t := &Turn{number: s.turns, prompt: p, cancel: make(chan struct{}), done: make(chan struct{})}
	if s.current != nil || len(s.queue) > 0 {
		s.queue = append(s.queue, t)
		return t, nil
	}
	// It is the running turn from here on, so that a cancel right behind its
	// prompt meets it, even while the turn before is still being answered.
	s.current = t
	if !s.runner {
		s.runner = true
		s.idle = make(chan struct{})
		go s.run()
	}
	return t, nil
}

func closedError(stage string) *agent.Error {
	return agent.Fail(agent.CodeSessionClosed, stage, "the session is closed")
}

// BeginCancel cancels the running turn, if there is one; the next is
// untouched. It decides at once; the function that it returns waits for the
// lane's answer, nil where the lane has none of its own.
func (s *Session) BeginCancel() func(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancelLocked(s.current)
}

// BeginCancelTurn is BeginCancel for one turn, also for one that waits: that
// one settles as cancelled when its time comes, unsent.
func (s *Session) BeginCancelTurn(number uint64) func(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.current; t != nil && t.number == number {
		return s.cancelLocked(t)
	}
	for _, t := range s.queue {
		if t.number == number {
			return s.cancelLocked(t)
		}
	}
	return s.cancelLocked(nil)
}

func (s *Session) cancelLocked(t *Turn) func(context.Context) error {
	nothing := func(context.Context) error { return nil }
	if t == nil {
		return nothing
	}
	if !t.cancelled {
		t.cancelled = true
		close(t.cancel)
	}
	canceller, ok := s.conn.(lane.Canceller)
	if !ok || !t.sent {
		return nothing
	}
	return func(ctx context.Context) error { return canceller.CancelTurn(ctx, t.number) }
}

// changed follows the lane's info and tells the host.
func (s *Session) changed() {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn == nil {
		return // still opening; the open's answer says it
	}
	if conn.Info().Dead {
		s.move(lost)
	}
	s.host.Changed()
}

func (s *Session) move(e edge) {
	s.mu.Lock()
	s.state = s.state.next(e)
	s.mu.Unlock()
}

// asError makes an [*agent.Error] of what a lane returned.
func asError(err error) *agent.Error {
	var e *agent.Error
	if errors.As(err, &e) {
		return e
	}
	return agent.Fail(agent.CodeProtocolFailed, agent.StagePrompt, err.Error())
}
