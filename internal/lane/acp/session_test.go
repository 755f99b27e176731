package acp

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// A session under test. It lives in a synctest bubble; the test closes it.
type session struct {
	*lanetest.Sink
	t       testing.TB
	conn    lane.Conn
	starter *lanetest.Starter
	sent    *recording
}

// A recording is every line that the agent got.
type recording struct {
	mu    sync.Mutex
	lines []string
}

func (r *recording) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, strings.TrimSpace(line))
}

// all are the lines so far.
func (r *recording) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

// with are the lines that hold part.
func (r *recording) with(part string) []string {
	var found []string
	for _, line := range r.all() {
		if strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return found
}

// how says how a session is opened. The zero value opens a plain fake.
type how struct {
	spec    string // members of the spec
	handle  func(f *fake, m rpcMessage) bool
	program lanetest.Program // instead of a fake with handle
	launch  func(l *lane.Launch)
}

// try opens a session, or says why it can't.
func try(t testing.TB, h how) (*session, error) {
	t.Helper()
	s := &session{Sink: lanetest.NewSink(), t: t, sent: &recording{}}
	program := h.program
	if program == nil {
		program = func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
			return runFake(ctx, &fake{Stdio: p, handle: h.handle, log: s.sent.add})
		}
	}
	s.starter = lanetest.PipeStarter(program)
	l := lane.Launch{
		Dir: "/work dir", Env: []string{"PATH=/bin"}, Starter: s.starter, Sink: s.Sink,
		ConnectTimeout: 30 * time.Second, OpenTimeout: 120 * time.Second,
	}
	if h.launch != nil {
		h.launch(&l)
	}
	plan, err := Driver{Version: "1.2.3"}.Parse(spec(t, h.spec))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if err := plan.CheckEnv(); err != nil {
		t.Fatalf("CheckEnv: %v", err)
	}
	if err := plan.Check(l.Options, l.Resume); err != nil {
		t.Fatalf("Check: %v", err)
	}
	s.conn, err = plan.Open(t.Context(), l)
	return s, err
}

// open opens a session.
func open(t testing.TB, h how) *session {
	t.Helper()
	s, err := try(t, h)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

func (s *session) close() {
	s.t.Helper()
	if err := s.conn.Close(context.Background()); err != nil {
		s.t.Errorf("Close: %v", err)
	}
	if n := s.starter.Running(); n > 0 {
		s.t.Errorf("%d processes are left", n)
	}
}

// prompt runs a turn without a cancel.
func (s *session) prompt(number uint64, text string) (agent.Outcome, error) {
	s.t.Helper()
	return s.conn.Prompt(s.t.Context(), lane.Turn{Number: number, Text: text})
}

// said prompts and returns the text of the turn.
func (s *session) said(number uint64, text string) string {
	s.t.Helper()
	if _, err := s.prompt(number, text); err != nil {
		s.t.Errorf("turn %d: %v", number, err)
	}
	return s.Text(number)
}

// kinds are those of the events of a turn.
func (s *session) kinds(number uint64) []agent.EventKind {
	var list []agent.EventKind
	for _, ev := range s.Events() {
		if ev.Turn == number {
			list = append(list, ev.Kind)
		}
	}
	return list
}

// wantError checks err against "code [stage] flags", flags being yes/no for
// retryable and uncertain.
func wantError(t testing.TB, err error, want string) *agent.Error {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) {
		t.Errorf("error %v, want %s", err, want)
		return &agent.Error{}
	}
	word := map[bool]string{true: "yes", false: "no"}
	got := e.Code + " [" + e.Stage + "] " + word[e.Retryable] + "/" + word[e.UncertainEffect]
	if got != want {
		t.Errorf("error %s (%s), want %s", got, e.Detail, want)
	}
	return e
}

func opt(s string) *string { return &s }

// exits is an agent that says its last words and exits.
func exits(code int, words string) lanetest.Program {
	return func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
		io.WriteString(p.Err, words)
		return lane.ExitStatus{Code: code}
	}
}

// on makes a handler that answers one method.
func on(method string, answer func(f *fake, m rpcMessage)) func(*fake, rpcMessage) bool {
	return func(f *fake, m rpcMessage) bool {
		if m.Method != method {
			return false
		}
		answer(f, m)
		return true
	}
}

// replies makes a handler that answers methods with results or, where they
// begin with "!", errors.
func replies(answers map[string]string) func(*fake, rpcMessage) bool {
	return func(f *fake, m rpcMessage) bool {
		answer, ok := answers[m.Method]
		if !ok {
			return false
		}
		if failure, ok := strings.CutPrefix(answer, "!"); ok {
			f.fail(m.ID, failure)
		} else {
			f.result(m.ID, answer)
		}
		return true
	}
}
