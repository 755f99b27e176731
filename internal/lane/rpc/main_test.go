package rpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// obj is a JSON object of a test.
type obj = map[string]any

// declared is an agent of tests: its turns end by a notification with a turn
// id, and it takes everything.
func declared(change obj) obj {
	m := obj{
		"id": "x", "lane": "rpc", "command": obj{"program": "agent", "args": []string{"serve"}},
		"initialize": obj{"method": "initialize", "params": obj{"mode": "{mode}"}}, "initialized": "initialized",
		"sessionOpen":   obj{"method": "open", "params": obj{"cwd": "{cwd}", "permission": "{permission}"}},
		"sessionResume": obj{"method": "resume", "params": obj{"id": "{sessionId}"}},
		"preTurn":       []any{obj{"method": "configure", "params": obj{"effort": "{effort}"}}},
		"prompt": obj{"method": "prompt", "params": obj{"session": "{sessionId}", "model": "{model}",
			"input": []any{obj{"text": "{prompt}"}}}},
		"completion":      obj{"method": "done", "turnIdPath": "turn.id", "statusPath": "turn.status"},
		"cancel":          obj{"method": "cancel", "params": obj{"turn": "{turnId}"}},
		"textEventMethod": "delta",
	}
	for k, v := range change {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
	return m
}

func specOf(t testing.TB, m obj) *agent.Spec {
	t.Helper()
	raw, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	s, err := agent.ParseSpec(raw)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t testing.TB, m obj) *spec {
	t.Helper()
	plan, err := Driver{}.Parse(specOf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return plan.(*spec)
}

func ptr(s string) *string { return &s }

// wire is what a scripted agent sees of its connection.
type wire struct {
	lanetest.Stdio
	ctx   context.Context
	lines *bufio.Scanner
}

// got is a message of ours.
type got struct {
	ID     any
	Method string
	Params obj
	Raw    string
}

// next reads one message; ok is false at the end.
func (w *wire) next() (m got, ok bool) {
	if !w.lines.Scan() {
		return got{}, false
	}
	m.Raw = w.lines.Text()
	var in struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
		Params any    `json:"params"`
	}
	json.Unmarshal(w.lines.Bytes(), &in)
	m.ID, m.Method = in.ID, in.Method
	m.Params, _ = in.Params.(obj)
	return m, true
}

// say writes one line.
func (w *wire) say(format string, args ...any) { fmt.Fprintf(w.Out, format+"\n", args...) }

func (w *wire) reply(m got, result string) { w.say(`{"id":%v,"result":%s}`, m.ID, result) }

// handler answers one message; it returns false to exit.
type handler func(w *wire, m got) bool

// scripted makes a program of a handler: the setup is answered, everything
// else is the handler's.
func scripted(h handler) lanetest.Program {
	return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		w := &wire{Stdio: p, ctx: ctx, lines: bufio.NewScanner(p.In)}
		w.lines.Buffer(nil, 4<<20)
		for {
			m, ok := w.next()
			if !ok {
				return lane.ExitStatus{}
			}
			switch m.Method {
			case "initialize":
				w.reply(m, `{"server":"fake"}`)
			case "initialized":
			case "open":
				w.reply(m, `{"info":{"x":1},"session":{"id":"S-1"}}`)
			case "resume", "configure":
				w.reply(m, `{}`)
			default:
				if !h(w, m) {
					return lane.ExitStatus{Code: lanetest.CrashCode}
				}
			}
		}
	}
}

func (m got) text() string {
	list, _ := m.Params["input"].([]any)
	if len(list) == 0 {
		return ""
	}
	first, _ := list[0].(obj)
	text, _ := first["text"].(string)
	return text
}

// A session is an open session of a test.
type session struct {
	*lanetest.Sink
	t       *testing.T
	conn    lane.Conn
	starter *lanetest.Starter
	turns   uint64
}

func launch(t *testing.T, starter lane.Starter, sink lane.Sink) lane.Launch {
	return lane.Launch{
		Dir: "/w", Env: []string{"PATH=/bin"}, ConnectTimeout: 30 * time.Second, OpenTimeout: 120 * time.Second,
		Starter: starter, Sink: sink, Log: slog.New(slog.DiscardHandler),
	}
}

func tryOpen(t *testing.T, m obj, p lanetest.Program, change func(*lane.Launch)) (*session, error) {
	t.Helper()
	s := &session{Sink: lanetest.NewSink(), t: t, starter: lanetest.PipeStarter(p)}
	l := launch(t, s.starter, s.Sink)
	if change != nil {
		change(&l)
	}
	var err error
	if s.conn, err = parse(t, m).Open(context.Background(), l); err != nil {
		if n := s.starter.Running(); n > 0 {
			t.Errorf("%d processes are left by a failed open", n)
		}
		return nil, err
	}
	return s, nil
}

// openSession opens a session, which the test closes.
func openSession(t *testing.T, m obj, h handler) *session {
	t.Helper()
	s, err := tryOpen(t, m, scripted(h), nil)
	if err != nil {
		t.Fatal(err)
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

func (s *session) promptWith(text string, o agent.Options, cancel <-chan struct{}) (agent.Outcome, error) {
	s.turns++
	return s.conn.Prompt(context.Background(), lane.Turn{Number: s.turns, Text: text, Options: o, Cancel: cancel})
}

func (s *session) prompt(text string) (agent.Outcome, error) {
	return s.promptWith(text, agent.Options{}, make(chan struct{}))
}

// told is the events in short, those of another turn than want marked.
func (s *session) told(want uint64) string {
	var b strings.Builder
	for _, ev := range s.Events() {
		if ev.Turn != want {
			fmt.Fprintf(&b, "(turn %d) ", ev.Turn)
		}
		fmt.Fprintf(&b, "%s %s%s\n", ev.Kind, ev.Text, ev.Raw)
	}
	return b.String()
}

// wantError checks for an error's code, stage and flags.
func wantError(t *testing.T, err error, code, stage string, f agent.Flags) *agent.Error {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) || e.Code != code || e.Stage != stage || e.Retryable != f.Retryable || e.UncertainEffect != f.Uncertain {
		t.Errorf("error %+v, want %s [%s] %+v", err, code, stage, f)
		return &agent.Error{}
	}
	return e
}
