package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"dragoman/internal/lane"
	"dragoman/internal/session"
	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// fakeLane is a driver whose sessions are Go functions.
type fakeLane struct {
	open   func(ctx context.Context, l lane.Launch) error // may be nil
	prompt func(ctx context.Context, t lane.Turn, sink lane.Sink) (agent.Outcome, error)
	check  func(agent.Options) error // may be nil
	info   lane.Info

	mu        sync.Mutex
	closeErrs []error
	closes    int
}

func (f *fakeLane) Parse(s *agent.Spec) (lane.Plan, error) { return fakePlan{f}, nil }

type fakePlan struct{ f *fakeLane }

func (p fakePlan) CheckEnv() error                       { return nil }
func (p fakePlan) Check(o agent.Options, _ string) error { return p.f.checkOptions(o) }

func (f *fakeLane) checkOptions(o agent.Options) error {
	if f.check == nil {
		return nil
	}
	return f.check(o)
}

func (p fakePlan) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	if p.f.open != nil {
		if err := p.f.open(ctx, l); err != nil {
			return nil, err
		}
	}
	return &fakeConn{p.f, l.Sink}, nil
}

type fakeConn struct {
	f    *fakeLane
	sink lane.Sink
}

func (c *fakeConn) Info() lane.Info                 { return c.f.info }
func (c *fakeConn) CheckTurn(o agent.Options) error { return c.f.checkOptions(o) }
func (c *fakeConn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	return c.f.prompt(ctx, t, c.sink)
}
func (c *fakeConn) Close(context.Context) error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.closes++
	if len(c.f.closeErrs) > 0 {
		err := c.f.closeErrs[0]
		c.f.closeErrs = c.f.closeErrs[1:]
		return err
	}
	return nil
}

func (f *fakeLane) closed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closes
}

func say(ctx context.Context, sink lane.Sink, turn uint64, text string) {
	sink.Emit(ctx, &agent.Event{Kind: agent.KindMessage, Turn: turn, Text: text})
}

// echo says the prompt and ends.
func echo(ctx context.Context, t lane.Turn, sink lane.Sink) (agent.Outcome, error) {
	say(ctx, sink, t.Number, t.Text)
	return agent.Outcome{StopReason: agent.StopEndTurn}, nil
}

// hang says "working" and waits for a cancel or the session's end.
func hang(ctx context.Context, t lane.Turn, sink lane.Sink) (agent.Outcome, error) {
	say(ctx, sink, t.Number, "working")
	select {
	case <-t.Cancel:
		return agent.Outcome{StopReason: agent.StopCancelled}, nil
	case <-ctx.Done():
		return agent.Outcome{}, agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "closed", agent.FlagsUncertain)
	}
}

// client is a host over two pipes.
type client struct {
	t       *testing.T
	in      *io.PipeWriter
	out     *io.PipeReader
	lines   chan string
	done    chan error // Serve's result
	stop    context.CancelFunc
	reports *syncBuffer
	n       int
	seen    []message
}

type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	} `json:"error"`
	line string
}

// start runs Serve with lanes by name. Nobody reads its output until read.
func start(t *testing.T, lanes map[string]lane.Driver) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	c := &client{t: t, in: inW, out: outR, lines: make(chan string, 1<<16), done: make(chan error, 1), stop: stop, reports: &syncBuffer{}}
	opener := &session.Opener{Drivers: lanes, TempDir: os.TempDir(), Starter: nil}
	go func() {
		c.done <- Serve(ctx, inR, outW, Config{Opener: opener, Version: "v", Reports: c.reports})
		outW.Close()
	}()
	t.Cleanup(func() {
		stop()
		inW.Close()
		outR.Close()
	})
	return c
}

// read starts reading the output.
func (c *client) read() *client {
	go func() {
		defer close(c.lines)
		r := bufio.NewReaderSize(c.out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	return c
}

func (c *client) raw(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatal(err)
	}
}

// send sends a request and returns its id.
func (c *client) send(method, params string) string {
	c.t.Helper()
	c.n++
	id := fmt.Sprint(c.n)
	c.raw(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + "}\n")
	return id
}

// next returns the next line from the server.
func (c *client) next() message {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the output ended")
		}
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.t.Fatalf("line %q: %v", line, err)
		}
		m.line = strings.TrimSuffix(line, "\n")
		return m
	case <-time.After(patience):
		c.t.Fatal("nothing came")
	}
	panic("unreachable")
}

// answer returns the answer to id; what comes before it is kept in seen.
func (c *client) answer(id string) message {
	c.t.Helper()
	for i, m := range c.seen {
		if m.Method == "" && string(m.ID) == id {
			c.seen = append(c.seen[:i:i], c.seen[i+1:]...)
			return m
		}
	}
	for {
		m := c.next()
		if m.Method == "" && string(m.ID) == id {
			return m
		}
		c.seen = append(c.seen, m)
	}
}

func (c *client) call(method, params string) message {
	c.t.Helper()
	return c.answer(c.send(method, params))
}

// open opens a session on a lane and returns its id.
func (c *client) open(name string) string {
	c.t.Helper()
	m := c.call("session/open", openParams(name, ""))
	return sessionID(c.t, m)
}

func openParams(name, more string) string {
	return `{"spec":{"id":"x","lane":"` + name + `","command":{"program":"p"}}` + more + `}`
}

func sessionID(t *testing.T, m message) string {
	t.Helper()
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || r.SessionID == "" {
		t.Fatalf("open answered %s", m.line)
	}
	return r.SessionID
}

func on(id, more string) string { return `{"sessionId":"` + id + `"` + more + `}` }

// texts are the texts of the message chunks among seen.
func (c *client) texts() []string {
	var list []string
	for _, m := range c.seen {
		if m.Method != "session/event" {
			continue
		}
		var p struct {
			Event struct {
				Text string `json:"text"`
			} `json:"event"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.t.Fatal(err)
		}
		list = append(list, p.Event.Text)
	}
	return list
}

// finish ends the input and returns what Serve returned.
func (c *client) finish() error {
	c.t.Helper()
	c.in.Close()
	return c.result()
}

func (c *client) result() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(patience):
		c.t.Fatal("Serve didn't end")
		return nil
	}
}

func (m message) wantError(t *testing.T, code int, data string) {
	t.Helper()
	if m.Error == nil || m.Error.Code != code || string(m.Error.Data) != data {
		t.Errorf("got %s, want error %d with data %s", m.line, code, data)
	}
}

// syncBuffer is a bytes.Buffer for two goroutines.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
