package opencode

import (
	"context"
	"errors"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// patience bounds every wait for a fake.
const patience = 60 * time.Second

// A table is one session with a fake.
type table struct {
	*lanetest.Sink
	t    testing.TB
	ctx  context.Context
	fake *fake
	conn *conn
	next uint64
}

// try opens a session with a fake.
func try(t testing.TB, f *fake, more string, l lane.Launch) (*table, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	tb := &table{Sink: lanetest.NewSink(), t: t, ctx: ctx, fake: f}
	plan, err := Driver{}.Parse(spec(t, "opencode", more))
	if err != nil {
		return nil, err
	}
	if err := plan.Check(l.Options, l.Resume); err != nil {
		return nil, err
	}
	l.Dir, l.Starter, l.Sink = t.TempDir(), lanetest.PipeStarter(f.run), tb.Sink
	l.ConnectTimeout, l.OpenTimeout = patience, patience
	c, err := plan.Open(ctx, l)
	if err != nil {
		return nil, err
	}
	tb.conn = c.(*conn)
	t.Cleanup(func() {
		f.end <- lane.ExitStatus{} // at once, not after the grace of a signal
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tb, nil
}

func open(t testing.TB, f *fake, more string) *table {
	t.Helper()
	tb, err := try(t, f, more, lane.Launch{})
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

func (tb *table) prompt(text string) (agent.Outcome, error) {
	tb.t.Helper()
	return tb.turn(lane.Turn{Text: text})
}

func (tb *table) turn(t lane.Turn) (agent.Outcome, error) {
	tb.t.Helper()
	tb.next++
	t.Number = tb.next
	if t.Cancel == nil {
		t.Cancel = make(chan struct{})
	}
	return tb.conn.Prompt(tb.ctx, t)
}

// event is the last event of a kind.
func (tb *table) event(kind agent.EventKind) *agent.Event {
	tb.t.Helper()
	list := tb.Events()
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Kind == kind {
			return list[i]
		}
	}
	tb.t.Fatalf("no event %s", kind)
	return nil
}

func wantCode(t testing.TB, err error, code, stage string) {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) || e.Code != code || e.Stage != stage {
		t.Errorf("error %v, want %s [%s]", err, code, stage)
	}
}
