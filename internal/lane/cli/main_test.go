package cli

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/internal/proc"
	"dragoman/wire/agent"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

// processes starts what the tests run for real.
var processes *proc.Supervisor

func TestMain(m *testing.M) {
	var err error
	if processes, err = proc.New(proc.Options{Grace: 200 * time.Millisecond}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		processes.Close(context.Background())
		os.Exit(code)
	}), goleak.IgnoreCurrent())
}

// members are those of a spec beside id, lane and command.
type members map[string]any

// specOf makes the spec of a program.
func specOf(t testing.TB, program string, args []string, m members) *agent.Spec {
	t.Helper()
	all := members{"id": "x", "lane": "cli", "command": map[string]any{"program": program, "args": args}}
	for k, v := range m {
		all[k] = v
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	s, err := agent.ParseSpec(raw)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// parse makes the plan of a program that isn't started.
func parse(t testing.TB, m members) *spec {
	t.Helper()
	plan, err := Driver{}.Parse(specOf(t, "agent", []string{"{prompt}"}, m))
	if err != nil {
		t.Fatal(err)
	}
	return plan.(*spec)
}

func ptr(s string) *string { return &s }

// A session is an open session of a test and what it told.
type session struct {
	*lanetest.Sink
	t     *testing.T
	conn  lane.Conn
	dir   string
	turns uint64
}

// openSession opens a session of s, which is closed at the end of the test.
func openSession(t *testing.T, s *agent.Spec, starter lane.Starter, change func(*lane.Launch)) (*session, error) {
	t.Helper()
	plan, err := Driver{}.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	sink := lanetest.NewSink()
	l := lane.Launch{
		Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, ConnectTimeout: 30 * time.Second,
		OpenTimeout: 120 * time.Second, Starter: starter, Sink: sink, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&l)
	}
	conn, err := plan.Open(context.Background(), l)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &session{Sink: sink, t: t, conn: conn, dir: l.Dir}, nil
}

// prompt runs one turn.
func (s *session) prompt(text string, o agent.Options) (agent.Outcome, error) {
	s.turns++
	return s.conn.Prompt(context.Background(), lane.Turn{Number: s.turns, Text: text, Options: o, Cancel: make(chan struct{})})
}

// turn runs one turn that has to succeed.
func (s *session) turn(text string) agent.Outcome {
	s.t.Helper()
	out, err := s.prompt(text, agent.Options{})
	if err != nil {
		s.t.Fatalf("Prompt: %v", err)
	}
	return out
}
