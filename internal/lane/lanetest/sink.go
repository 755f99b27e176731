package lanetest

import (
	"context"
	"strings"
	"sync"

	"dragoman/wire/agent"
)

// A Sink records what a lane tells, and answers its questions. It is safe
// for concurrent use; it reports events that come from two goroutines at
// once.
type Sink struct {
	mu        sync.Mutex
	answer    func(ctx context.Context, q *agent.Question) agent.Answer
	hold      <-chan struct{}
	changed   chan struct{} // closed and replaced at every change
	events    []*agent.Event
	questions []*agent.Question
	open      int
	emitting  bool
	overlaps  int
	changes   int
}

// NewSink returns a Sink that leaves questions open.
func NewSink() *Sink { return &Sink{changed: make(chan struct{})} }

// AnswerWith sets what answers questions; nil leaves them open until their
// context ends.
func (s *Sink) AnswerWith(f func(ctx context.Context, q *agent.Question) agent.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// HoldUntil makes Emit wait until c is closed, like a host that doesn't read.
func (s *Sink) HoldUntil(c <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = c
}

// Emit records ev.
func (s *Sink) Emit(ctx context.Context, ev *agent.Event) {
	s.mu.Lock()
	if s.emitting {
		s.overlaps++
	}
	s.emitting = true
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitting = false
	s.events = append(s.events, ev)
	s.wake()
}

// wake tells those who wait. s.mu is held.
func (s *Sink) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Ask records q and answers it.
func (s *Sink) Ask(ctx context.Context, q *agent.Question) agent.Answer {
	s.mu.Lock()
	s.questions = append(s.questions, q)
	s.open++
	answer := s.answer
	s.wake()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.open--
		s.wake()
		s.mu.Unlock()
	}()
	if answer == nil {
		<-ctx.Done()
		return agent.Answer{}
	}
	return answer(ctx, q)
}

// Changed counts.
func (s *Sink) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	s.wake()
}

// Events returns those so far.
func (s *Sink) Events() []*agent.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*agent.Event(nil), s.events...)
}

// Questions returns those so far.
func (s *Sink) Questions() []*agent.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*agent.Question(nil), s.questions...)
}

// Open counts the questions without an answer.
func (s *Sink) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Changes counts the calls of Changed.
func (s *Sink) Changes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// Overlaps counts the events that came while another was being taken, which
// the contract of lane.Sink forbids.
func (s *Sink) Overlaps() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.overlaps
}

// Text joins the message chunks of a turn.
func (s *Sink) Text(turn uint64) string {
	var b strings.Builder
	for _, ev := range s.Events() {
		if ev.Kind == agent.KindMessage && ev.Turn == turn {
			b.WriteString(ev.Text)
		}
	}
	return b.String()
}

// Wait waits until done reports true of s, or ctx ends; it reports which.
// done is called again after every change.
func (s *Sink) Wait(ctx context.Context, done func(*Sink) bool) bool {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if done(s) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return done(s)
		}
	}
}
