package native

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// partingWait bounds how long a close waits for the end of the turn that it
// ends.
const partingWait = 2 * time.Second

// A Dialect is what a lane adds.
type Dialect interface {
	// Prepare does what comes before a turn's prompt: its model and effort.
	// ctx ends when the turn is cancelled. Its error is an [*agent.Error], or
	// ctx's cause.
	Prepare(ctx context.Context, t lane.Turn) error
	// Send sends a prompt. Its turn is the current one already.
	Send(ctx context.Context, t lane.Turn) error
	// Interrupt asks the agent to end the running turn, without waiting for
	// the answer; it is called again while the turn goes on.
	Interrupt()
	// Lost is the error of a session whose agent has gone.
	Lost(ctx context.Context, stage string) *agent.Error
}

// A Session is what happens in one session. It is safe for concurrent use.
type Session struct {
	dialect   Dialect
	sink      lane.Sink
	maxOutput *int64

	// link ends when the agent has gone, host when the session begins to
	// close: then nothing more is emitted.
	link, host  context.Context
	sever, mute context.CancelFunc
	closing     atomic.Bool
	work        sync.WaitGroup // the questions' goroutines
	outside     *Turn
	// emitting is held while a record is handled. Who holds it knows that no
	// event is on its way. It is taken before mu.
	emitting sync.Mutex

	mu   sync.Mutex
	turn *Turn // the last one
}

// NewSession returns a session whose turns have maxOutput bytes each, nil for
// no limit.
func NewSession(d Dialect, sink lane.Sink, maxOutput *int64) *Session {
	s := &Session{dialect: d, sink: sink, maxOutput: maxOutput}
	s.link, s.sever = context.WithCancel(context.Background())
	s.host, s.mute = context.WithCancel(s.link)
	s.outside = newTurn(s.link, 0, nil)
	return s
}

// Handle runs f, in which events may be emitted and turns ended. Calls don't
// overlap.
func (s *Session) Handle(f func()) {
	s.emitting.Lock()
	defer s.emitting.Unlock()
	f()
}

// Emit gives an event of a turn to the host, within the turn's budget. It is
// for [Session.Handle].
func (s *Session) Emit(t *Turn, ev *agent.Event) {
	if t.fenced || s.host.Err() != nil {
		return
	}
	ev.Turn = t.Number
	ev, cut := t.admit(ev)
	if ev != nil {
		s.sink.Emit(s.host, ev)
	}
	if cut {
		s.sink.Emit(s.host, &agent.Event{Kind: agent.KindTruncated, Turn: t.Number})
	}
}

// Raw emits a record that isn't understood.
func (s *Session) Raw(t *Turn, record acp.Object) {
	s.Emit(t, &agent.Event{Kind: agent.KindRaw, Raw: record})
}

// RawText emits something that is no JSON object, as a string.
func (s *Session) RawText(t *Turn, line []byte) {
	s.Emit(t, &agent.Event{Kind: agent.KindRaw, Raw: ndjson.AppendQuote(nil, string(line))})
}

// Notice emits a notice that comes from a record.
func (s *Session) Notice(t *Turn, n agent.Notice, record acp.Object) {
	s.Emit(t, &agent.Event{Kind: agent.KindNotice, Notice: &n, Raw: record})
}

// Current is the turn that runs, else the outside.
func (s *Session) Current() *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn.Ended() {
		return s.outside
	}
	return s.turn
}

func (s *Session) last() *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

// Outside is what belongs to no turn.
func (s *Session) Outside() *Turn { return s.outside }

// Ask puts a question of a turn and gives its answer to answered, on a
// goroutine of its own. A turn that takes no questions any more answers at
// once, as cancelled; a withdrawn ctx, too. It is for [Session.Handle].
func (s *Session) Ask(ctx context.Context, t *Turn, q *agent.Question, answered func(agent.Answer)) {
	q.Turn = t.Number
	if t.fenced || s.closing.Load() || !t.opened() {
		answered(agent.Answer{})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(t.ask, cancel)
	s.work.Go(func() {
		defer t.answered()
		defer cancel()
		defer unhook()
		got := s.sink.Ask(ctx, q)
		if ctx.Err() != nil || !q.Offered(got.OptionID) {
			got = agent.Answer{}
		}
		answered(got)
	})
}

// Sever says that the agent has gone. What it said was handled before.
func (s *Session) Sever() { s.sever() }

// Severed is closed when the agent has gone.
func (s *Session) Severed() <-chan struct{} { return s.link.Done() }

// Mute ends what is being emitted, for good: the session closes.
func (s *Session) Mute() { s.mute() }

// Closing reports whether the session closes.
func (s *Session) Closing() bool { return s.closing.Load() }

// Part tells the agent that the turn is over, answers its questions and waits
// a moment for the turn's end. After it no question is open and none is put
// any more.
func (s *Session) Part(ctx context.Context) {
	s.mute()
	if s.closing.Swap(true) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, partingWait)
	defer cancel()
	t := s.Current()
	if !t.Outside() {
		s.dialect.Interrupt()
	}
	for _, asking := range []*Turn{t, s.outside} {
		asking.dismiss()
		asking.settle(ctx)
	}
	if t.Outside() {
		return
	}
	select {
	case <-t.done:
	case <-s.link.Done():
	case <-ctx.Done():
	}
}

// Wait waits for the questions' goroutines. It is called after Part.
func (s *Session) Wait() { s.work.Wait() }
