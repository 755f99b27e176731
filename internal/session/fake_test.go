package session

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakePlan opens a fakeConn.
type fakePlan struct {
	conn    *fakeConn
	openErr error
	during  func(lane.Sink) // while it opens
}

func (p fakePlan) CheckEnv() error                   { return nil }
func (p fakePlan) Check(agent.Options, string) error { return nil }
func (p fakePlan) Open(_ context.Context, l lane.Launch) (lane.Conn, error) {
	p.conn.sink = l.Sink
	if p.during != nil {
		p.during(l.Sink)
	}
	if p.openErr != nil {
		return nil, p.openErr
	}
	return p.conn, nil
}

// fakeConn is an agent whose turns are a Go function.
type fakeConn struct {
	sink   lane.Sink
	prompt func(ctx context.Context, t lane.Turn, sink lane.Sink) (agent.Outcome, error)

	mu        sync.Mutex
	info      lane.Info
	closeErrs []error // one an attempt
	closes    int
	started   []uint64
}

func (c *fakeConn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}

func (c *fakeConn) setInfo(change func(*lane.Info)) {
	c.mu.Lock()
	change(&c.info)
	c.mu.Unlock()
	c.sink.Changed()
}

func (c *fakeConn) CheckTurn(o agent.Options) error {
	if o.Mode != nil {
		return agent.Fail(agent.CodeModeUnsupported, agent.StageTurnConfig, "no modes")
	}
	return nil
}

func (c *fakeConn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	c.mu.Lock()
	c.started = append(c.started, t.Number)
	c.mu.Unlock()
	return c.prompt(ctx, t, c.sink)
}

func (c *fakeConn) Close(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closes++
	if len(c.closeErrs) >= c.closes {
		return c.closeErrs[c.closes-1]
	}
	return nil
}

// untilCancelled is a turn that says one word and hangs until it is cancelled.
func untilCancelled(ctx context.Context, t lane.Turn, sink lane.Sink) (agent.Outcome, error) {
	say(ctx, sink, t.Number, "working")
	select {
	case <-t.Cancel:
		return agent.Outcome{StopReason: agent.StopCancelled}, nil
	case <-ctx.Done():
		return agent.Outcome{}, agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "closed", agent.FlagsUncertain)
	}
}

func echo(ctx context.Context, t lane.Turn, sink lane.Sink) (agent.Outcome, error) {
	say(ctx, sink, t.Number, t.Text)
	return agent.Outcome{StopReason: agent.StopEndTurn}, nil
}

func say(ctx context.Context, sink lane.Sink, turn uint64, text string) {
	sink.Emit(ctx, &agent.Event{Kind: agent.KindMessage, Turn: turn, Text: text})
}

// fakeHost records what it is told.
type fakeHost struct {
	ask func(ctx context.Context, q *agent.Question) agent.Answer

	mu      sync.Mutex
	events  []*agent.Event
	changes int
}

func (h *fakeHost) Event(_ context.Context, ev *agent.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, ev)
}

func (h *fakeHost) Ask(ctx context.Context, q *agent.Question) agent.Answer { return h.ask(ctx, q) }

func (h *fakeHost) Changed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes++
}

func (h *fakeHost) got() []*agent.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*agent.Event(nil), h.events...)
}

func (h *fakeHost) texts() []string {
	var list []string
	for _, ev := range h.got() {
		list = append(list, ev.Text)
	}
	return list
}

func open(t *testing.T, c *fakeConn) (*Session, *fakeHost) {
	t.Helper()
	h := &fakeHost{}
	s, err := Open(t.Context(), fakePlan{conn: c}, lane.Launch{}, Config{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

func submit(t *testing.T, s *Session, text string) *Turn {
	t.Helper()
	turn, err := s.Submit(Prompt{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func mustClose(t *testing.T, s *Session) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func wantCode(t *testing.T, err error, code, stage string, f agent.Flags) {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want %s", err, code)
	}
	if e.Code != code || e.Stage != stage || e.Retryable != f.Retryable || e.UncertainEffect != f.Uncertain {
		t.Errorf("got %+v, want %s [%s] %+v", e, code, stage, f)
	}
}

func (c *fakeConn) isClosed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closes
}

// synctestSleep lets a second of the bubble's time pass.
func synctestSleep() { time.Sleep(time.Second) }
