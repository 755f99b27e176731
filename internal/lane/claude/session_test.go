package claude

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test.
const patience = 20 * time.Second

// A table is one session under test.
type table struct {
	*lanetest.Sink
	t       *testing.T
	fake    *fake
	starter *lanetest.Starter
	conn    *conn
	ctx     context.Context
	next    uint64
}

// try opens a session.
func try(t *testing.T, f *fake, more string, options agent.Options, resume string) (*table, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	tb := &table{Sink: lanetest.NewSink(), t: t, fake: f, starter: lanetest.PipeStarter(f.run), ctx: ctx}
	plan, err := Driver{}.Parse(spec(t, "claude", more))
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Check(options, resume); err != nil {
		return tb, err
	}
	opened, err := plan.Open(ctx, lane.Launch{
		Dir: t.TempDir(), Options: options, Resume: resume, ConnectTimeout: patience, OpenTimeout: patience,
		Starter: tb.starter, Sink: tb.Sink, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		if n := tb.starter.Running(); n > 0 {
			t.Errorf("%d processes run after a failed open", n)
		}
		return tb, err
	}
	tb.conn = opened.(*conn)
	t.Cleanup(tb.close)
	return tb, nil
}

func (tb *table) close() {
	for range 2 {
		if err := tb.conn.Close(context.Background()); err != nil {
			tb.t.Errorf("Close: %v", err)
		}
	}
	if tb.starter.Running() > 0 || tb.Open() > 0 || tb.Overlaps() > 0 {
		tb.t.Errorf("%d processes, %d questions, %d overlaps", tb.starter.Running(), tb.Open(), tb.Overlaps())
	}
}

func open(t *testing.T, f *fake, more string, options agent.Options) *table {
	t.Helper()
	tb, err := try(t, f, more, options, "")
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// prompt runs a turn.
func (tb *table) prompt(text string) (agent.Outcome, error) {
	tb.t.Helper()
	tb.next++
	return tb.conn.Prompt(tb.ctx, lane.Turn{Number: tb.next, Text: text})
}

// scripted answers each prompt with lines.
func scripted(lines ...string) *fake {
	return &fake{script: func(string) []string { return lines }}
}

// read are the lines of a type that the fake got.
func (f *fake) read(kind string) []acp.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []acp.Object
	for _, o := range f.got {
		if o.Str("type") == kind {
			list = append(list, o)
		}
	}
	return list
}

// controls are the subtypes of the control requests that the fake got.
func (f *fake) controls() []string {
	var list []string
	for _, o := range f.read(typeControlRequest) {
		list = append(list, o.Object("request").Str("subtype"))
	}
	return list
}

// kinds lists the kinds of a turn's events.
func (tb *table) kinds(turn uint64) []agent.EventKind {
	var list []agent.EventKind
	for _, ev := range tb.Events() {
		if ev.Turn == turn {
			list = append(list, ev.Kind)
		}
	}
	return list
}

// event is the last event of a kind.
func (tb *table) event(kind agent.EventKind) *agent.Event {
	tb.t.Helper()
	var last *agent.Event
	for _, ev := range tb.Events() {
		if ev.Kind == kind {
			last = ev
		}
	}
	if last == nil {
		tb.t.Fatalf("no event of kind %s among %v", kind, tb.kinds(tb.next))
	}
	return last
}

func wantCode(t *testing.T, err error, code, stage string) *agent.Error {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) || e.Code != code || e.Stage != stage {
		t.Fatalf("error %v, want %s [%s]", err, code, stage)
	}
	return e
}

func text(s string) *string { return &s }
