package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/envelope/agent"
	"dragoman/wire/envelope"
	"dragoman/wire/ndjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A peer is a host by hand: it writes lines and reads envelopes.
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	reader *ndjson.Reader
	dec    *envelope.Decoder
	enc    *envelope.Encoder
	served chan error
}

const patience = 20 * time.Second

func serve(t *testing.T, a *agent.Agent) *peer {
	t.Helper()
	agentIn, in := io.Pipe()
	out, agentOut := io.Pipe()
	p := &peer{
		t: t, in: in, reader: ndjson.NewReader(out, ndjson.ReaderOptions{}),
		dec: envelope.NewDecoder(envelope.Limits{}), enc: envelope.NewEncoder(envelope.Limits{}, time.Now), served: make(chan error, 1),
	}
	go func() {
		err := a.Serve(t.Context(), agentIn, agentOut)
		agentIn.Close()
		agentOut.Close()
		p.served <- err
	}()
	t.Cleanup(func() { in.Close(); out.Close() })
	return p
}

func (p *peer) raw(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) send(e envelope.Envelope) {
	p.t.Helper()
	line, err := p.enc.Encode(&e)
	if err != nil {
		p.t.Fatal(err)
	}
	p.raw(string(line) + "\n")
}

func (p *peer) request(id, operation string) {
	p.t.Helper()
	p.send(envelope.Envelope{Kind: envelope.Request, RequestID: id, Operation: operation, Input: []byte(`{"n":9007199254740993}`)})
}

// expect reads one envelope and compares it in a short form.
func (p *peer) expect(want string) {
	p.t.Helper()
	line, err := p.reader.Next()
	if err != nil {
		p.t.Fatalf("%v, want %s", err, want)
	}
	e, err := p.dec.Decode(line)
	if err != nil {
		p.t.Fatal(err)
	}
	got := strings.TrimSpace(fmt.Sprintf("%s %s %s%s%s %s", e.Kind, e.RequestID, e.Event, e.Code, strings.Join(e.Capabilities, ","), e.Output))
	if strings.Join(strings.Fields(got), " ") != want {
		p.t.Fatalf("got %s, want %s", line, want)
	}
}

// end waits for Serve, and that nothing more was said.
func (p *peer) end() error {
	p.t.Helper()
	p.in.Close()
	for {
		line, err := p.reader.Next()
		if err != nil {
			break
		}
		p.t.Errorf("one more line: %s", line)
	}
	select {
	case err := <-p.served:
		return err
	case <-time.After(patience):
		p.t.Fatal("the agent doesn't end")
		return nil
	}
}

func testAgent() *agent.Agent {
	a := agent.New(agent.Config{Implementation: "test"})
	a.Handle("echo", func(_ context.Context, r *agent.Request) ([]byte, error) { return r.Input, nil })
	a.Handle("nothing", func(context.Context, *agent.Request) ([]byte, error) { return nil, nil })
	a.Handle("wait", func(ctx context.Context, r *agent.Request) ([]byte, error) {
		if err := r.Event("started", nil); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	a.Handle("deaf", func(ctx context.Context, r *agent.Request) ([]byte, error) {
		<-ctx.Done()
		return []byte(`{"late":true}`), r.Event("more", nil)
	})
	a.Handle("ask", func(ctx context.Context, r *agent.Request) ([]byte, error) {
		if err := r.AskCancel(); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	a.Handle("busy", func(context.Context, *agent.Request) ([]byte, error) {
		return nil, &agent.Error{Code: envelope.Busy, Message: "later", Retryable: true}
	})
	a.Handle("fail", func(context.Context, *agent.Request) ([]byte, error) {
		return nil, errors.New(strings.Repeat("ä", 4000))
	})
	a.Handle("huge", func(context.Context, *agent.Request) ([]byte, error) {
		return []byte(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`), nil
	})
	a.Handle("broken", func(context.Context, *agent.Request) ([]byte, error) { return []byte(`{"a":`), nil })
	a.Handle("trick", func(_ context.Context, r *agent.Request) ([]byte, error) { return nil, r.Event("completed", nil) })
	return a
}

const agentHello = "hello echo,nothing,wait,deaf,ask,busy,fail,huge,broken,trick"

// greeted is a peer after both hellos, with everything granted.
func greeted(t *testing.T) *peer {
	t.Helper()
	p := serve(t, testAgent())
	p.expect(agentHello)
	p.send(envelope.Envelope{Kind: envelope.Hello, Capabilities: strings.Split(strings.TrimPrefix(agentHello, "hello "), ",")})
	return p
}

func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		operation string
		want      []string
	}{
		{"echo", []string{`event r1 completed {"n":9007199254740993}`}},
		{"nothing", []string{"event r1 completed"}},
		{"busy", []string{"error r1 BUSY"}},
		{"fail", []string{"error r1 FAILED"}},
		{"huge", []string{"error r1 RESULT_TOO_LARGE"}},
		{"broken", []string{"error r1 FAILED"}},
		{"trick", []string{"error r1 FAILED"}},
		{"absent", []string{"error r1 UNSUPPORTED_OPERATION"}},
	} {
		t.Run(tt.operation, func(t *testing.T) {
			p := greeted(t)
			p.request("r1", tt.operation)
			for _, want := range tt.want {
				p.expect(want)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	p := greeted(t)
	p.request("r1", "wait")
	p.expect("event r1 started")
	p.send(envelope.Envelope{Kind: envelope.Cancel, RequestID: "r9"})
	p.send(envelope.Envelope{Kind: envelope.Cancel, RequestID: "r1"})
	p.expect("event r1 cancelled")
	p.send(envelope.Envelope{Kind: envelope.Cancel, RequestID: "r1"})
	// A handler that completes all the same wins the race.
	p.request("r2", "deaf")
	p.send(envelope.Envelope{Kind: envelope.Cancel, RequestID: "r2"})
	p.expect("event r2 more")
	p.expect(`event r2 completed {"late":true}`)
	p.request("r3", "ask")
	p.expect("cancel r3")
	p.send(envelope.Envelope{Kind: envelope.Cancel, RequestID: "r3"})
	p.expect("event r3 cancelled")
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestHostGivesUp(t *testing.T) {
	p := greeted(t)
	p.request("r1", "deaf")
	p.send(envelope.Envelope{Kind: envelope.ErrorKind, RequestID: "r1", Code: "CANCELLED", Message: "gave up"})
	p.request("r2", "nothing")
	p.expect("event r2 completed")
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestEndOfInputCancels(t *testing.T) {
	p := greeted(t)
	p.request("r1", "wait")
	p.expect("event r1 started")
	p.in.Close()
	p.expect("event r1 cancelled")
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestProtocolErrors(t *testing.T) {
	const sent = `"sentAt":"2026-12-01T00:00:00Z"`
	for _, tt := range []struct {
		line string
		code envelope.Code
	}{
		{"garbage\n", envelope.InvalidJSON},
		{`{"protocolVersion":"2.0","kind":"request","messageId":"x1",` + sent + `,"requestId":"r2","operation":"echo","input":{}}` + "\n", envelope.UnsupportedVersion},
		{`{"protocolVersion":"1.0","kind":"future","messageId":"x1",` + sent + "}\n", envelope.UnknownKind},
		{`{"protocolVersion":"1.0","kind":"hello","messageId":"x1",` + sent + `,"capabilities":[]}` + "\n", envelope.UnexpectedMessage},
		{`{"protocolVersion":"1.0","kind":"event","messageId":"x1",` + sent + `,"requestId":"r1","event":"x"}` + "\n", envelope.UnexpectedMessage},
		{`{"protocolVersion":"1.0","kind":"request","messageId":"x1",` + sent + `,"requestId":"r1","operation":"echo","input":{}}` + "\n", envelope.UnexpectedMessage},
		{`{"protocolVersion":"1.0","kind":"cancel","messageId":"m1",` + sent + `,"requestId":"r1"}` + "\n", envelope.DuplicateMessageID},
		{strings.Repeat("x", envelope.DefaultLineBytes+1) + "\n", envelope.LineTooLarge},
		{"\xff\n", envelope.InvalidUTF8},
	} {
		t.Run(string(tt.code), func(t *testing.T) {
			p := greeted(t)
			p.request("r1", "wait")
			p.expect("event r1 started")
			go func() { _, _ = io.WriteString(p.in, tt.line) }()
			p.expect("error " + string(tt.code))
			var wrong *agent.ProtocolError
			if err := p.end(); !errors.As(err, &wrong) || wrong.Err.Code != tt.code {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnterminatedLine(t *testing.T) {
	p := greeted(t)
	go func() { _, _ = io.WriteString(p.in, `{"protocolVersion":`); p.in.Close() }()
	p.expect("error INVALID_JSON")
	var wrong *agent.ProtocolError
	if err := p.end(); !errors.As(err, &wrong) {
		t.Errorf("got %v", err)
	}
}

func TestRequestBeforeHello(t *testing.T) {
	p := serve(t, testAgent())
	p.expect(agentHello)
	p.request("r1", "echo")
	p.expect("error UNEXPECTED_MESSAGE")
	var wrong *agent.ProtocolError
	if err := p.end(); !errors.As(err, &wrong) {
		t.Errorf("got %v", err)
	}
}

func TestHandlePanics(t *testing.T) {
	for _, name := range []string{"Echo", "", "echo"} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			testAgent().Handle(name, nil)
		})
	}
}

// Whatever lines come from the host, Serve returns, and no handler is left.
func FuzzServe(f *testing.F) {
	f.Add([]byte("garbage\n"))
	f.Add([]byte(`{"protocolVersion":"1.0","kind":"hello","messageId":"m1","sentAt":"2026-12-01T00:00:00Z","capabilities":["wait","echo"]}
{"protocolVersion":"1.0","kind":"request","messageId":"m2","sentAt":"2026-12-01T00:00:00Z","requestId":"r1","operation":"wait","input":{}}
{"protocolVersion":"1.0","kind":"cancel","messageId":"m3","sentAt":"2026-12-01T00:00:00Z","requestId":"r1"}
{"protocolVersion":"1.0","kind":"request","messageId":"m4","sentAt":"2026-12-01T00:00:00Z","requestId":"r2","operation":"echo","input":{}}
`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		// Serve waits for its handlers, so that returning says it all.
		_ = testAgent().Serve(ctx, strings.NewReader(string(stream)), io.Discard)
		if ctx.Err() != nil {
			t.Fatal("the agent hung")
		}
	})
}
