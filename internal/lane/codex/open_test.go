package codex

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// open opens a session with starter; f changes the launch.
func open(t *testing.T, d Driver, starter lane.Starter, more string, f func(*lane.Launch)) (lane.Conn, *lanetest.Sink, error) {
	t.Helper()
	plan, err := d.Parse(spec(t, "codex", more))
	if err != nil {
		t.Fatal(err)
	}
	sink := lanetest.NewSink()
	l := lane.Launch{
		Dir: "/work", Env: []string{"PATH=/bin"}, Starter: starter, Sink: sink,
		ConnectTimeout: 30 * time.Second, OpenTimeout: 120 * time.Second,
	}
	if f != nil {
		f(&l)
	}
	c, err := plan.Open(t.Context(), l)
	return c, sink, err
}

func mustOpen(t *testing.T, d Driver, starter lane.Starter, more string, f func(*lane.Launch)) (lane.Conn, *lanetest.Sink) {
	t.Helper()
	c, sink, err := open(t, d, starter, more, f)
	if err != nil {
		t.Fatal(err)
	}
	return c, sink
}

func prompt(t *testing.T, c lane.Conn, number uint64, text string) (agent.Outcome, error) {
	t.Helper()
	return c.Prompt(t.Context(), lane.Turn{Number: number, Text: text, Cancel: make(chan struct{})})
}

func shut(t *testing.T, c lane.Conn) {
	t.Helper()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Sessions of one environment share a process; the last one ends it.
func TestSessionsShareAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		starter := lanetest.PipeStarter(f.run)
		d := New("1")
		a, sinkA := mustOpen(t, d, starter, "", nil)
		b, sinkB := mustOpen(t, d, starter, "", func(l *lane.Launch) { l.Dir = "/else" })
		other, _ := mustOpen(t, d, lanetest.PipeStarter((&fake{}).run), "", nil)
		defer shut(t, other)
		if n := len(starter.Started()); n != 1 {
			t.Fatalf("%d processes, want 1", n)
		}
		for i, c := range []lane.Conn{a, b} {
			if _, err := prompt(t, c, 1, lanetest.Echo); err != nil {
				t.Errorf("session %d: %v", i, err)
			}
		}
		if sinkA.Text(1) != lanetest.EchoText || sinkB.Text(1) != lanetest.EchoText {
			t.Errorf("texts %q and %q", sinkA.Text(1), sinkB.Text(1))
		}
		shut(t, a)
		if len(f.calls("thread/unsubscribe")) != 1 || len(f.calls("thread/backgroundTerminals/clean")) != 1 {
			t.Error("the closed session's thread was not left")
		}
		if _, err := prompt(t, b, 2, lanetest.Echo); err != nil {
			t.Error(err)
		}
		shut(t, b)
		if starter.Running() != 0 {
			t.Error("the process runs after its last session")
		}
	})
}

// A crash fails every session, and the next open starts anew.
func TestCrashFailsAllSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starter := lanetest.PipeStarter(func() lanetest.Program { return (&fake{}).run }())
		d := New("1")
		a, _ := mustOpen(t, d, starter, "", nil)
		b, _ := mustOpen(t, d, starter, "", nil)
		ended := make(chan error, 1)
		go func() {
			_, err := prompt(t, a, 1, lanetest.Hang)
			ended <- err
		}()
		synctest.Wait()
		_, err := prompt(t, b, 1, lanetest.Crash)
		for _, err := range []error{err, <-ended} {
			var e *agent.Error
			if !errors.As(err, &e) || e.Code != agent.CodeProtocolFailed || !e.UncertainEffect {
				t.Errorf("error %v, want an uncertain agent_protocol_failed", err)
			}
		}
		if !a.Info().Dead || !b.Info().Dead {
			t.Error("a session lives after the crash")
		}
		c, _ := mustOpen(t, d, starter, "", nil)
		for _, s := range []lane.Conn{a, b, c} {
			shut(t, s)
		}
		if n := len(starter.Started()); n != 2 {
			t.Errorf("%d processes, want 2", n)
		}
	})
}

func TestResumeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{refuse: map[string]string{"thread/resume": "no rollout found for thread id x"}}
		starter := lanetest.PipeStarter(f.run)
		_, _, err := open(t, New("1"), starter, "", func(l *lane.Launch) { l.Resume = "x" })
		var e *agent.Error
		if !errors.As(err, &e) || e.Code != agent.CodeSessionOpenFailed {
			t.Errorf("error %v, want agent_session_open_failed", err)
		}
		if starter.Running() != 0 {
			t.Error("the process runs after a failed open")
		}
	})
}

func TestRefusedBeforeWork(t *testing.T) {
	word := func(s string) *string { return &s }
	tests := []struct {
		more   string
		o      agent.Options
		resume string
		code   string
	}{
		{"", agent.Options{Effort: word("huge")}, "", agent.CodeEffortUnsupported},
		{"", agent.Options{Mode: word("always")}, "", agent.CodeModeUnsupported},
		{"", agent.Options{Permission: word("all")}, "", agent.CodePermissionUnsupported},
		{"", agent.Options{}, "--last", agent.CodeResumeUnsupported},
		{`,"mode":"exec"`, agent.Options{Mode: word("never")}, "", agent.CodeModeUnsupported},
		{`,"mcpServers":[{"type":"sse","name":"s","url":"http://h","headers":[]}]`, agent.Options{}, "", agent.CodeMCPServerInvalid},
	}
	for _, tt := range tests {
		plan, err := New("1").Parse(spec(t, "codex", tt.more))
		if err != nil {
			t.Fatal(err)
		}
		var e *agent.Error
		if err := plan.Check(tt.o, tt.resume); !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("%s: error %v, want %s", tt.more, err, tt.code)
		}
	}
	for _, more := range []string{`,"mode":"x"`, `,"sandbox":"none"`, `,"approvalPolicy":"x"`, `,"mode":"exec","approvalPolicy":"untrusted"`, `,"gate":true`} {
		if _, err := New("1").Parse(spec(t, "codex", more)); err == nil {
			t.Errorf("%s was taken", more)
		}
	}
}
