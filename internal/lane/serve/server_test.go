package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "hush-hush"

type obj = map[string]any

// fakeServer is a server of the /api surface. Its clock counts requests.
type fakeServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string       // METHOD PATH BODY
	records  []obj          // newest first
	answers  map[string]int // by the end of a path: an HTTP status to fail with
	bodies   map[string]string
	now      int64
	polls    int
	// onPrompt adds the records that a prompt leads to, oldest first.
	onPrompt func(text string) []obj
	// onInterrupt adds the records of an interrupt.
	onInterrupt func() []obj
}

func newServer(t *testing.T) *fakeServer {
	f := &fakeServer{answers: map[string]int{}, bodies: map[string]string{}, now: 1000}
	f.onPrompt = func(text string) []obj { return []obj{says("echo: " + text), idle("succeeded")} }
	f.onInterrupt = func() []obj { return []obj{idle("interrupted")} }
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func says(text string) obj {
	return obj{"type": "assistant", "content": []any{obj{"type": "reasoning", "text": "hm"}, obj{"type": "text", "text": text}},
		"tokens": obj{"input": 9, "output": 4, "reasoning": 1, "cache": obj{"read": 2, "write": 3}}}
}

func idle(outcome string) obj { return obj{"type": "idle", "outcome": outcome} }

func failedWith(kind, text string) obj {
	return obj{"type": "idle", "outcome": "failed", "error": obj{"type": kind, "message": text}}
}

func (f *fakeServer) add(records []obj) {
	for _, r := range records {
		f.now++
		if _, ok := r["time"]; !ok {
			r["time"] = obj{"created": f.now}
		}
		f.records = append([]obj{r}, f.records...)
	}
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	f.requests = append(f.requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
	if name, password, _ := r.BasicAuth(); name != "opencode" || password != secret {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if status := f.answers[last]; status != 0 {
		http.Error(w, f.bodies[last], status)
		return
	}
	reply := any(obj{})
	switch last {
	case "session":
		reply = obj{"id": "ses/1"}
	case "prompt":
		var in struct {
			Text string `json:"text"`
		}
		json.Unmarshal(body, &in)
		f.now++
		created := f.now
		f.add([]obj{{"type": "user", "id": fmt.Sprint("u", created), "time": obj{"created": created}}})
		f.add(f.onPrompt(in.Text))
		reply = obj{"id": fmt.Sprint("u", created), "time": obj{"created": created}}
	case "interrupt":
		f.add(f.onInterrupt())
	case "message":
		f.polls++
		reply = f.records
	}
	json.MarshalWrite(w, obj{"data": reply})
}

func (f *fakeServer) seen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.requests, "\n")
}

// polled waits until the server was polled.
func (f *fakeServer) polled(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		f.mu.Lock()
		n := f.polls
		f.mu.Unlock()
		if n > 0 {
			return
		}
	}
	t.Fatal("the server wasn't polled")
}

// program announces lines and runs until it is ended.
func program(lines ...string) lanetest.Program {
	return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		fmt.Fprintln(p.Out, strings.Join(lines, "\n"))
		<-ctx.Done()
		return lane.ExitStatus{}
	}
}

func (f *fakeServer) program() lanetest.Program {
	return program("banner", "  server password "+secret, "server listening on "+f.URL+"/")
}

func specOf(t testing.TB, m obj) *agent.Spec {
	t.Helper()
	all := obj{"id": "x", "lane": "serve", "command": obj{"program": "agent"}}
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

func ptr(s string) *string { return &s }

// quick starts processes that End kills at once: the fakes of these tests run
// on the real clock and wait for nothing.
type quick struct{ *lanetest.Starter }

func (q quick) Start(ctx context.Context, c lane.Command) (lane.Process, error) {
	p, err := q.Starter.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return quickProcess{p}, nil
}

type quickProcess struct{ lane.Process }

func (p quickProcess) End(ctx context.Context) error { return p.Kill(ctx) }

// A session is an open session of a test.
type session struct {
	*lanetest.Sink
	t       *testing.T
	conn    lane.Conn
	starter *lanetest.Starter
	turns   uint64
}

func tryOpen(t *testing.T, d Driver, m obj, p lanetest.Program, change func(*lane.Launch)) (*session, error) {
	t.Helper()
	plan, err := d.Parse(specOf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	s := &session{Sink: lanetest.NewSink(), t: t, starter: lanetest.PipeStarter(p)}
	l := lane.Launch{
		Dir: "/w", Env: []string{"PATH=/bin"}, ConnectTimeout: 30 * time.Second, OpenTimeout: 120 * time.Second,
		Starter: quick{s.starter}, Sink: s.Sink, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&l)
	}
	s.conn, err = plan.Open(context.Background(), l)
	if err != nil {
		if n := s.starter.Running(); n > 0 {
			t.Errorf("%d processes are left by a failed open", n)
		}
		return s, err
	}
	t.Cleanup(s.close)
	return s, nil
}

func openSession(t *testing.T, f *fakeServer, m obj, change func(*lane.Launch)) *session {
	t.Helper()
	s, err := tryOpen(t, Driver{}, m, f.program(), change)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *session) close() {
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

// wantError checks for an error's code, stage and flags, and that it tells
// no secret.
func wantError(t *testing.T, err error, code, stage string, f agent.Flags) *agent.Error {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) || e.Code != code || e.Stage != stage || e.Retryable != f.Retryable || e.UncertainEffect != f.Uncertain {
		t.Errorf("error %+v, want %s [%s] %+v", err, code, stage, f)
		return &agent.Error{}
	}
	if strings.Contains(e.Detail, secret) {
		t.Errorf("detail %q tells the password", e.Detail)
	}
	return e
}
