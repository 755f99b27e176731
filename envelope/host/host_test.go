package host_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/envelope/agent"
	"dragoman/envelope/host"
	"dragoman/wire/envelope"
)

// modeVariable makes this test binary an agent.
const modeVariable = "ENVELOPE_TEST_AGENT"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		os.Exit(childAgent(mode))
	}
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

var grants = []string{"echo", "stream", "wait", "race", "ask", "fail"}

// testAgent offers grants and, beyond them, "extra".
func testAgent() *agent.Agent {
	a := agent.New(agent.Config{Implementation: "test agent"})
	a.Handle("echo", func(_ context.Context, r *agent.Request) ([]byte, error) { return r.Input, nil })
	a.Handle("stream", func(_ context.Context, r *agent.Request) ([]byte, error) {
		for _, n := range []string{"one", "two", "three"} {
			if err := r.Event("part", []byte(`{"n":"`+n+`"}`)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	a.Handle("wait", func(ctx context.Context, r *agent.Request) ([]byte, error) {
		if err := r.Event("started", nil); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	a.Handle("race", func(ctx context.Context, r *agent.Request) ([]byte, error) {
		if err := r.Event("started", nil); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return []byte(`{"won":true}`), nil
	})
	a.Handle("ask", func(ctx context.Context, r *agent.Request) ([]byte, error) {
		if err := r.AskCancel(); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	a.Handle("fail", func(context.Context, *agent.Request) ([]byte, error) {
		return nil, &agent.Error{Code: envelope.Busy, Message: "later", Retryable: true}
	})
	a.Handle("extra", func(context.Context, *agent.Request) ([]byte, error) { return nil, nil })
	return a
}

func pipe(t *testing.T, c host.Config) *host.Host {
	t.Helper()
	return start(t, host.Pipe(testAgent().Serve), c)
}

func start(t *testing.T, s host.Starter, c host.Config) *host.Host {
	t.Helper()
	h, err := host.Start(t.Context(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHost(t, h) })
	return h
}

func closeHost(t *testing.T, h *host.Host) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}

// failure is the *host.Error that err must be.
func failure(t *testing.T, err error) *host.Error {
	t.Helper()
	var e *host.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *host.Error", err)
	}
	return e
}

func TestRequest(t *testing.T) {
	h := pipe(t, host.Config{Grants: grants})
	if got := h.Agent().Implementation; got != "test agent" {
		t.Errorf("implementation is %q", got)
	}
	const input = `{"n":9007199254740993,"s":"\u00e9"}`
	o, err := h.Request(t.Context(), "echo", []byte(input), host.RequestOptions{})
	if err != nil || string(o.Output) != input || o.CancelLost {
		t.Errorf("got %s and %v", o.Output, err)
	}
	var parts []string
	o, err = h.Request(t.Context(), "stream", nil, host.RequestOptions{OnEvent: func(e host.Event) {
		parts = append(parts, e.Name+string(e.Output))
	}})
	if want := `part{"n":"one"} part{"n":"two"} part{"n":"three"}`; err != nil || o.Output != nil || strings.Join(parts, " ") != want {
		t.Errorf("got %q, %s and %v", parts, o.Output, err)
	}
	_, err = h.Request(t.Context(), "fail", nil, host.RequestOptions{})
	if e := failure(t, err); e.Code != envelope.Busy || !e.Retryable || e.Origin != host.FromAgent || e.UncertainEffect {
		t.Errorf("got %+v", e)
	}
}

func TestGrants(t *testing.T) {
	h := pipe(t, host.Config{Grants: []string{"echo", "absent"}})
	for _, tt := range []struct{ operation, code string }{
		{"extra", host.CodeUnauthorizedCapability},
		{"absent", host.CodeUnsupportedCapability},
	} {
		_, err := h.Request(t.Context(), tt.operation, nil, host.RequestOptions{})
		if e := failure(t, err); e.Code != tt.code {
			t.Errorf("%s: got %s, want %s", tt.operation, e.Code, tt.code)
		}
	}
	if h.Has("extra") || h.Has("absent") || !h.Has("echo") {
		t.Error("the negotiated set is not the intersection")
	}
}

func TestConfig(t *testing.T) {
	never := host.StarterFunc(func(context.Context) (host.Link, error) {
		t.Error("the agent was started")
		return nil, errors.New("started")
	})
	for _, c := range []host.Config{
		{Grants: []string{"Echo"}},
		{Grants: []string{"a", "a"}},
		{Grants: make([]string, envelope.DefaultCapabilities+1)},
	} {
		_, err := host.Start(t.Context(), never, c)
		if e := failure(t, err); e.Code != host.CodeInvalidConfiguration {
			t.Errorf("got %v", err)
		}
	}
}

func TestInvalidInput(t *testing.T) {
	h := pipe(t, host.Config{Grants: grants})
	for _, input := range []string{`[]`, `{"a":1,"a":2}`, `{`, `{}},{`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`} {
		_, err := h.Request(t.Context(), "echo", []byte(input), host.RequestOptions{})
		if e := failure(t, err); e.Code != host.CodeInvalidConfiguration {
			t.Errorf("got %v", err)
		}
	}
	// The connection still stands.
	if _, err := h.Request(t.Context(), "echo", nil, host.RequestOptions{}); err != nil {
		t.Error(err)
	}
}

// cancelOnStart is a context that ends at the request's first event.
func cancelOnStart(t *testing.T) (context.Context, host.RequestOptions) {
	ctx, cancel := context.WithCancel(t.Context())
	return ctx, host.RequestOptions{OnEvent: func(host.Event) { cancel() }}
}

func TestCancel(t *testing.T) {
	h := pipe(t, host.Config{Grants: grants, Grace: patience})
	ctx, o := cancelOnStart(t)
	_, err := h.Request(ctx, "wait", nil, o)
	if e := failure(t, err); e.Code != host.CodeCancelled || e.UncertainEffect {
		t.Errorf("got %+v", e)
	}
	ctx, o = cancelOnStart(t)
	outcome, err := h.Request(ctx, "race", nil, o)
	if err != nil || !outcome.CancelLost || string(outcome.Output) != `{"won":true}` {
		t.Errorf("got %+v and %v", outcome, err)
	}
	_, err = h.Request(t.Context(), "ask", nil, host.RequestOptions{})
	if e := failure(t, err); e.Code != host.CodeCancelled || e.UncertainEffect {
		t.Errorf("got %+v", e)
	}
	_, err = h.Request(t.Context(), "wait", nil, host.RequestOptions{Timeout: time.Millisecond})
	if e := failure(t, err); e.Code != host.CodeRequestTimeout || e.UncertainEffect {
		t.Errorf("got %+v", e)
	}
	if _, err := h.Request(t.Context(), "echo", nil, host.RequestOptions{}); err != nil {
		t.Errorf("after cancels: %v", err)
	}
}

func TestManyRequests(t *testing.T) {
	h := pipe(t, host.Config{Grants: grants, Limits: envelope.Limits{InFlight: 8}})
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, err := h.Request(t.Context(), "stream", nil, host.RequestOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestCloseFailsPending(t *testing.T) {
	h := pipe(t, host.Config{Grants: grants})
	started := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		_, err := h.Request(context.Background(), "wait", nil, host.RequestOptions{OnEvent: func(host.Event) { close(started) }})
		result <- err
	}()
	<-started
	closeHost(t, h)
	closeHost(t, h)
	if e := failure(t, <-result); e.Code != host.CodeCancelled || !e.UncertainEffect {
		t.Errorf("got %+v", e)
	}
	if _, err := h.Request(t.Context(), "echo", nil, host.RequestOptions{}); err == nil {
		t.Error("a request after Close")
	}
}

func TestSockets(t *testing.T) {
	for _, tt := range []struct{ network, address string }{
		{"unix", filepath.Join(t.TempDir(), "s")},
		{"tcp", "127.0.0.1:0"},
	} {
		t.Run(tt.network, func(t *testing.T) {
			l, err := net.Listen(tt.network, tt.address)
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() {
				c, err := l.Accept()
				if err == nil {
					err = testAgent().Serve(context.Background(), c, c)
					c.Close()
				}
				served <- err
			}()
			h, err := host.Start(t.Context(), host.Dial(tt.network, l.Addr().String()), host.Config{Grants: grants})
			if err != nil {
				t.Fatal(err)
			}
			if o, err := h.Request(t.Context(), "echo", []byte(`{"x":1}`), host.RequestOptions{}); err != nil || string(o.Output) != `{"x":1}` {
				t.Errorf("got %s and %v", o.Output, err)
			}
			closeHost(t, h)
			if err := <-served; err != nil {
				t.Error(err)
			}
			l.Close()
			_, err = host.Start(t.Context(), host.Dial(tt.network, l.Addr().String()), host.Config{})
			if e := failure(t, err); e.Code != host.CodeProcessFailure {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// scripted is an agent that says hello, reads the host's hello and one
// request, and then writes these bytes and ends.
func scripted(after string) host.Starter {
	return host.Pipe(func(_ context.Context, r io.Reader, w io.Writer) error {
		in := make([]byte, 64<<10)
		if _, err := io.WriteString(w, hello); err != nil {
			return err
		}
		for seen := ""; !strings.Contains(seen, `"request"`); {
			n, err := r.Read(in)
			if err != nil {
				return err
			}
			seen += string(in[:n])
		}
		_, err := io.WriteString(w, after)
		_, _ = io.Copy(io.Discard, r)
		return err
	})
}

const (
	hello = `{"protocolVersion":"1.0","kind":"hello","messageId":"a1","sentAt":"2026-12-01T00:00:00Z","capabilities":["echo"]}` + "\n"
	head  = `{"protocolVersion":"1.0","sentAt":"2026-12-01T00:00:00Z",`
)

func TestAgentBreaksProtocol(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		code       envelope.Code
	}{
		{"garbage", "garbage", envelope.InvalidJSON},
		{"a second hello", head + `"kind":"hello","messageId":"a2","capabilities":[]}`, envelope.UnexpectedMessage},
		{"a request", head + `"kind":"request","messageId":"a2","requestId":"x","operation":"echo","input":{}}`, envelope.UnexpectedMessage},
		{"a repeated messageId", head + `"kind":"event","messageId":"a1","requestId":"r1","event":"x"}`, envelope.DuplicateMessageID},
		{"an event for another id", head + `"kind":"event","messageId":"a2","requestId":"r7","event":"x"}`, envelope.UnexpectedMessage},
		{"version 2", `{"protocolVersion":"2.0","kind":"event","messageId":"a2"}`, envelope.UnsupportedVersion},
		{"a line over 1 MiB", strings.Repeat("x", 1<<20+1), envelope.LineTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var problems []host.Problem
			h := start(t, scripted(tt.line+"\n"), host.Config{Grants: grants, Report: func(p host.Problem) { problems = append(problems, p) }})
			_, err := h.Request(t.Context(), "echo", nil, host.RequestOptions{})
			e := failure(t, err)
			if e.Code != host.CodeMalformedProtocol || !e.UncertainEffect || e.Protocol == nil || e.Protocol.Code != tt.code ||
				!strings.Contains(e.Message, string(tt.code)) {
				t.Errorf("got %+v", e)
			}
			closeHost(t, h)
			if len(problems) != 1 || problems[0].Err.Code != tt.code || len(problems[0].Line) == 0 || len(problems[0].Line) > envelope.ExcerptBytes*4 {
				t.Errorf("reported %+v", problems)
			}
		})
	}
}

func TestLenient(t *testing.T) {
	good := head + `"kind":"event","messageId":"a2","requestId":"r1","event":"completed","output":{"ok":true}}` + "\n"
	var codes []envelope.Code
	h := start(t, scripted("garbage\n"+head+`"kind":"event","messageId":"a2","requestId":"r7","event":"x"}`+"\n"+good), host.Config{
		Grants: grants, Strictness: host.Lenient, Report: func(p host.Problem) { codes = append(codes, p.Err.Code) },
	})
	o, err := h.Request(t.Context(), "echo", nil, host.RequestOptions{})
	if err != nil || string(o.Output) != `{"ok":true}` {
		t.Errorf("got %s and %v", o.Output, err)
	}
	closeHost(t, h)
	if len(codes) != 2 || codes[0] != envelope.InvalidJSON || codes[1] != envelope.UnexpectedMessage {
		t.Errorf("reported %v", codes)
	}
}

func TestErrorOfTheConnection(t *testing.T) {
	h := start(t, scripted(head+`"kind":"error","messageId":"a2","code":"INVALID_JSON","message":"what was that","retryable":true}`+"\n"), host.Config{Grants: grants})
	_, err := h.Request(t.Context(), "echo", nil, host.RequestOptions{})
	if e := failure(t, err); e.Code != "INVALID_JSON" || e.Origin != host.FromConnection || !e.UncertainEffect || !e.Retryable {
		t.Errorf("got %+v", e)
	}
}

func TestAgentGone(t *testing.T) {
	gone := host.Pipe(func(_ context.Context, r io.Reader, w io.Writer) error {
		_, err := io.WriteString(w, hello)
		return err
	})
	h, err := host.Start(t.Context(), gone, host.Config{Grants: grants})
	if err == nil {
		_, err = h.Request(t.Context(), "echo", nil, host.RequestOptions{})
		closeHost(t, h)
	}
	if e := failure(t, err); e.Code != host.CodeProcessFailure {
		t.Errorf("got %+v", e)
	}
}

func TestNoHello(t *testing.T) {
	mute := host.Pipe(func(ctx context.Context, r io.Reader, _ io.Writer) error {
		_, err := io.Copy(io.Discard, r)
		return err
	})
	_, err := host.Start(t.Context(), mute, host.Config{HelloTimeout: time.Millisecond})
	if e := failure(t, err); e.Code != host.CodeRequestTimeout {
		t.Errorf("got %+v", e)
	}
}

func TestEnvironment(t *testing.T) {
	environ := []string{"PATH=/bin", "LANG=a", "HOME=/h", "API_KEY=s3cret", "LANG=C", "TERM=dumb"}
	if got := strings.Join(host.Environment(environ, []string{"HOME", "ABSENT"}), " "); got != "LANG=C HOME=/h TERM=dumb" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(host.Describe(environ[2:4]), " "); got != "HOME=/h API_KEY=[REDACTED]" {
		t.Errorf("got %s", got)
	}
	for name, want := range map[string]bool{
		"AUTHORIZATION": true, "aws_credentials": true, "KEYBOARD": true, "Password": true, "MY_SECRET": true, "GH_TOKEN": true, "HOME": false,
	} {
		if host.Secret(name) != want {
			t.Errorf("Secret(%s) is %t", name, !want)
		}
	}
}
