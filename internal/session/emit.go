package session

import (
	"context"
	"time"

	"dragoman/wire/agent"
)

// sink is the engine's side of [lane.Sink].
type sink struct{ s *Session }

// A watch is what the engine keeps of a running turn while events pass.
// Guarded by Session.emit, but for ctx and number, which don't change.
type watch struct {
	number   uint64
	ctx      context.Context // ends with the turn
	inChunks bool            // the chunks are the text

	said  bool // a message, thought or tool event came
	tools bool // a tool event came
	text  paragraphs
}

func (s *Session) setWatch(w *watch) {
	s.emit.Lock()
	s.turn = w
	s.emit.Unlock()
}

// Emit stamps an event and hands it to the host. Late traffic, of a turn that
// is over, ends here.
func (k sink) Emit(ctx context.Context, ev *agent.Event) {
	s := k.s
	now := time.Now()
	s.last.Store(int64(now.Sub(s.base)))
	s.emit.Lock()
	defer s.emit.Unlock()
	if ev.Turn != 0 {
		if s.turn == nil || s.turn.number != ev.Turn {
			s.log.Debug("late event dropped", "kind", string(ev.Kind), "turn", ev.Turn)
			return
		}
		s.turn.note(ev)
	}
	s.stampLocked(ctx, ev, now)
}

func (s *Session) stampLocked(ctx context.Context, ev *agent.Event, now time.Time) {
	s.seq++
	ev.Seq, ev.Time = s.seq, now
	s.host.Event(ctx, ev)
	// A host that held us back isn't the agent's silence.
	s.last.Store(int64(time.Since(s.base)))
}

// tellStalled emits a stalled event, unless an event is on its way just now.
func (s *Session) tellStalled(ctx context.Context, turn uint64, silence time.Duration) {
	if !s.emit.TryLock() {
		return
	}
	defer s.emit.Unlock()
	last := s.last.Load()
	ev := &agent.Event{Kind: agent.KindStalled, Turn: turn, IdleMs: silence.Milliseconds()}
	s.stampLocked(ctx, ev, time.Now())
	s.last.Store(last)
}

// Changed is told when the lane's info changed.
func (k sink) Changed() { k.s.changed() }

// Ask puts a question of the running turn, or of none, to the host. Whatever
// comes back was offered or is cancelled; a question of a turn that is over
// is cancelled unasked.
func (k sink) Ask(ctx context.Context, q *agent.Question) agent.Answer {
	s := k.s
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)()
	if q.Turn != 0 {
		s.emit.Lock()
		w := s.turn
		s.emit.Unlock()
		if w == nil || w.number != q.Turn {
			return agent.Answer{}
		}
		defer context.AfterFunc(w.ctx, stop)()
	}
	if ctx.Err() != nil {
		return agent.Answer{}
	}
	s.asks.Add(1)
	defer func() {
		s.last.Store(int64(time.Since(s.base)))
		s.asks.Add(-1)
	}()
	answer := s.host.Ask(ctx, q)
	if ctx.Err() != nil || !q.Offered(answer.OptionID) {
		return agent.Answer{}
	}
	return answer
}
