package jsonrpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/wire/ndjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// funcs is a Handler of two functions, either of which may be nil.
type funcs struct {
	notify  func(context.Context, Notification)
	request func(context.Context, *Request)
}

func (f funcs) Notify(ctx context.Context, n Notification) {
	if f.notify != nil {
		f.notify(ctx, n)
	}
}

func (f funcs) Request(ctx context.Context, r *Request) {
	if f.request != nil {
		f.request(ctx, r)
	}
}

// echo answers with the params.
var echo = funcs{request: func(_ context.Context, r *Request) { _ = r.Reply(r.Params) }}

// link is a Peer whose other side is the test.
type link struct {
	t     *testing.T
	peer  *Peer
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
}

func newLink(t *testing.T, o Options) *link {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := ndjson.NewWriter(outW, ndjson.WriterOptions{})
	l := &link{t: t, peer: NewPeer(inR, w, o), in: inW, out: bufio.NewReader(outR), ended: make(chan error, 1)}
	go func() { l.ended <- l.peer.Serve(context.Background()) }()
	t.Cleanup(func() {
		_ = inW.Close()
		_ = outR.Close()
		select {
		case <-l.peer.Done():
		case <-time.After(patience):
			t.Error("Serve doesn't end")
		}
		_ = w.Close()
	})
	return l
}

func (l *link) send(lines ...string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, strings.Join(lines, "\n")+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

func (l *link) want(lines ...string) {
	l.t.Helper()
	for _, want := range lines {
		got, err := l.out.ReadString('\n')
		if err != nil || got != want+"\n" {
			l.t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestRequests(t *testing.T) {
	const version = `{"jsonrpc":"2.0","id":`
	tests := []struct{ name, in, want string }{
		{"plain", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a": 1}}`, version + `1,"result":{"a": 1}}`},
		{"no version, no params", `{"id":1,"method":"m"}`, version + `1,"result":null}`},
		{"text id", `{"id":"007","method":"m"}`, version + `"007","result":null}`},
		{"large id", `{"id":9007199254740993,"method":"m"}`, version + `9007199254740993,"result":null}`},
		{"thirty digits", `{"id":123456789012345678901234567890,"method":"m"}`, version + `123456789012345678901234567890,"result":null}`},
		{"1.0", `{"id":1.0,"method":"m"}`, version + `1.0,"result":null}`},
		{"null", `{"id":null,"method":"m"}`, version + `null,"result":null}`},
		{"object", `{"id": { "a" : [1] },"method":"m"}`, version + `{ "a" : [1] },"result":null}`},
		{"empty object", `{"id":{},"method":"m"}`, version + `{},"result":null}`},
		{"escapes", `{"id":"\u00e9\/","method":"m"}`, version + `"\u00e9\/","result":null}`},
		{"escaped keys", `{"\u0069d":5,"m\u0065thod":"m","p\u0061rams":[6]}`, version + `5,"result":[6]}`},
		{"Method beside method", `{"id":1,"method":"m","Method":"n"}`, version + `1,"result":null}`},
		{"only Method", `{"id":1,"Method":"m"}`, version + `1,"error":{"code":-32600,"message":"request has no method","data":null}}`},
		{"method of a wrong type", `{"id":"x","method":1}`, version + `"x","error":{"code":-32600,"message":"request has no method","data":null}}`},
		{"method of a wrong type with a result", `{"id":1,"method":1,"result":2}`, version + `1,"error":{"code":-32600,"message":"request has no method","data":null}}`},
		{"id alone", `{"id":3}`, version + `3,"error":{"code":-32600,"message":"request has no method","data":null}}`},
		{"batch", `[{"id":1,"method":"m"},{"id":2,"method":"m"}]`, version + `null,"error":{"code":-32600,"message":"batches aren't supported","data":null}}`},
		{"empty batch", `[]`, version + `null,"error":{"code":-32600,"message":"batches aren't supported","data":null}}`},
		{"scalar", `7`, version + `null,"error":{"code":-32600,"message":"message isn't an object","data":null}}`},
		{"params of any kind", `{"id":1,"method":"m","params":"\u0041"}`, version + `1,"result":"\u0041"}`},
		{"CR", "{\"id\":1,\"method\":\"m\"}\r", version + `1,"result":null}`},
	}
	l := newLink(t, Options{Handler: echo})
	for _, tt := range tests {
		l.t = t
		// What is ignored stands before each, so that an answer to it shows.
		l.send(`{}`, `{"a":1}`, `{"method":1}`, `{"result":1}`, `{"id":77,"result":1}`, `{"id":"78","error":{}}`, `{"id":1.5,"result":{}}`, ``, tt.in)
		l.want(tt.want)
	}
	if s := l.peer.Stats(); s.UnknownReplies != int64(3*len(tests)) || s.Unreadable != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestUnknownMethodWithoutHandler(t *testing.T) {
	l := newLink(t, Options{OmitVersion: true})
	l.send(`{"method":"n"}`, `{"id":1,"method":"a\"b"}`)
	l.want(`{"id":1,"error":{"code":-32601,"message":"method not found: a\"b","data":null}}`)
}

func TestAnswers(t *testing.T) {
	l := newLink(t, Options{Handler: funcs{request: func(_ context.Context, r *Request) {
		switch r.Method {
		case "twice":
			_ = r.Reply([]byte("1"))
			if err := r.Fail(&Error{Code: 1}); !errors.Is(err, ErrAnswered) {
				t.Errorf("second answer: %v", err)
			}
		case "never":
		case "never on its own":
			r.Go(func(context.Context, *Request) {})
		case "lines":
			_ = r.Reply([]byte("{\n\"a\":\n1}"))
		case "error":
			r.Go(func(_ context.Context, r *Request) {
				_ = r.Fail(&Error{Code: -1, Message: "\xff\n", Data: []byte(`{"p":` + string(r.Params) + `}`)})
			})
		}
	}}})
	const unanswered = `"error":{"code":-32603,"message":"request wasn't answered","data":null}}`
	for _, tt := range [][2]string{
		{"twice", `"result":1}`}, {"never", unanswered}, {"never on its own", unanswered}, {"lines", `"result":{ "a": 1}}`},
		{"error", `"error":{"code":-1,"message":"` + "\ufffd" + `\n","data":{"p":[2]}}}`},
	} {
		l.send(`{"params":[2],"id":1,"method":"` + tt[0] + `"}`)
		l.want(`{"jsonrpc":"2.0","id":1,` + tt[1])
	}
}

func TestIDInFlight(t *testing.T) {
	release := make(chan struct{})
	l := newLink(t, Options{Handler: funcs{request: func(_ context.Context, r *Request) {
		r.Go(func(_ context.Context, r *Request) {
			<-release
			_ = r.Reply(r.Params)
		})
	}}})
	l.send(`{"id":"a","method":"m","params":1}`, `{"id":"a","method":"m","params":2}`)
	l.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"request id \"a\" is in flight already","data":null}}`)
	if s := l.peer.Stats(); s.InFlight != 1 {
		t.Errorf("got %+v", s)
	}
	close(release)
	l.want(`{"jsonrpc":"2.0","id":"a","result":1}`)
	l.send(`{"id":"a","method":"m","params":3}`)
	l.want(`{"jsonrpc":"2.0","id":"a","result":3}`)
}

func TestCancelRequest(t *testing.T) {
	notified := make(chan string, 10)
	l := newLink(t, Options{Handler: funcs{
		notify: func(_ context.Context, n Notification) { notified <- n.Method },
		request: func(_ context.Context, r *Request) {
			r.Go(func(ctx context.Context, r *Request) {
				<-ctx.Done()
				_ = r.Reply([]byte(`"ended"`))
			})
		},
	}})
	for _, key := range []string{"id", "requestId"} {
		l.send(`{"id":{"a":1},"method":"m"}`, `{"id":2,"method":"m"}`,
			`{"method":"$/cancel_request","params":{"`+key+`":9}}`, `{"method":"$/cancel_request"}`,
			`{"method":"$/cancel_request","params":{"`+key+`":{"a":1}}}`)
		l.want(`{"jsonrpc":"2.0","id":{"a":1},"result":"ended"}`)
		l.send(`{"method":"$/cancel_request","params":{"` + key + `":2}}`)
		l.want(`{"jsonrpc":"2.0","id":2,"result":"ended"}`)
	}
	if got := <-notified; got != "$/cancel_request" {
		t.Errorf("got %s", got)
	}
}

func TestNotificationsInOrder(t *testing.T) {
	const n = 10_000
	next := 0
	l := newLink(t, Options{Handler: funcs{notify: func(_ context.Context, n Notification) {
		if string(n.Params) != fmt.Sprint(next) {
			t.Errorf("got %s, want %d", n.Params, next)
		}
		next++
	}}})
	c, err := l.peer.Start("m", nil)
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for i := range n {
		fmt.Fprintf(&in, `{"method":"n","params":%d}`+"\n", i)
	}
	in.WriteString(`{"id":1,"result":true}`)
	l.want(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
	l.send(in.String())
	if result, err := c.Wait(t.Context()); string(result) != "true" || err != nil {
		t.Fatalf("got %s, %v", result, err)
	}
	if next != n {
		t.Errorf("the reply came after %d notifications", next)
	}
}

func TestCalls(t *testing.T) {
	tests := []struct {
		reply, result string
		code          int
		lenient       bool
	}{
		{reply: `{"id":1,"result":{ "a" : 1.0 }}`, result: `{ "a" : 1.0 }`},
		{reply: `{"jsonrpc":"2.0","id":"1","result":null}`, result: `null`},
		{reply: `{"id":1,"error":{"code":-5,"message":"\u0061","data":{"x": 1}}}`, code: -5},
		{reply: `{"id":1,"error":{"code":-5,"message":"a"},"result":1}`, code: -5, lenient: true},
		{reply: `{"id":1,"error":null,"result":1}`, result: `1`, lenient: true},
		{reply: `{"id":1,"error":null,"result":1}`},
		{reply: `{"id":1,"error":"text"}`},
	}
	for _, tt := range tests {
		t.Run(tt.reply, func(t *testing.T) {
			l := newLink(t, Options{Lenient: tt.lenient})
			c, err := l.peer.Start("m", []byte("[\n]"))
			if err != nil || c.ID() != 1 {
				t.Fatal(err, c.ID())
			}
			l.want(`{"jsonrpc":"2.0","id":1,"method":"m","params":[ ]}`)
			l.send(`{"id":2,"result":"other"}`, tt.reply, tt.reply)
			result, err := c.Wait(t.Context())
			var failure *Error
			switch {
			case tt.result != "":
				if string(result) != tt.result || err != nil {
					t.Fatalf("got %s, %v", result, err)
				}
			case !errors.As(err, &failure) || failure.Code != tt.code || !strings.Contains(tt.reply, string(failure.Raw)):
				t.Fatalf("got %s, %v", result, err)
			case tt.code != 0 && failure.Message != "a":
				t.Fatalf("got %q", failure.Message)
			}
		})
	}
}

func TestCallIsGivenUp(t *testing.T) {
	l := newLink(t, Options{Handler: echo})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		l.want(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		cancel()
	}()
	if _, err := l.peer.Call(ctx, "m", nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	l.send(`{"id":1,"result":1}`, `{"id":5,"method":"m"}`)
	l.want(`{"jsonrpc":"2.0","id":5,"result":null}`)
	if s := l.peer.Stats(); s.UnknownReplies != 1 || s.Pending != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestEndOfLink ends a link with a call pending and a handler running, in each
// way that it can end.
func TestEndOfLink(t *testing.T) {
	for name, end := range map[string]func(*link){
		"EOF":        func(l *link) { _ = l.in.Close() },
		"read error": func(l *link) { _ = l.in.CloseWithError(errors.New("broken")) },
		"close":      func(l *link) { _ = l.peer.Close(); _ = l.peer.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink(t, Options{})
			l.peer.opts.Handler = funcs{request: func(_ context.Context, r *Request) {
				r.Go(func(ctx context.Context, r *Request) {
					select {
					case <-ctx.Done():
					case <-l.peer.EOF():
					}
					_ = r.Reply([]byte("1"))
				})
			}}
			c, err := l.peer.Start("m", nil)
			if err != nil {
				t.Fatal(err)
			}
			l.want(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
			l.send(`{"id":7,"method":"m"}`)
			for l.peer.Stats().Lines == 0 {
				time.Sleep(time.Millisecond)
			}
			end(l)
			if _, err := c.Wait(t.Context()); !errors.Is(err, ErrPeerClosed) {
				t.Errorf("got %v", err)
			}
			l.want(`{"jsonrpc":"2.0","id":7,"result":1}`)
			if err := <-l.ended; (err == nil) != (name != "read error") {
				t.Errorf("Serve: %v", err)
			}
			if _, err := l.peer.Call(t.Context(), "m", nil); !errors.Is(err, ErrPeerClosed) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestServeEndsWithContext(t *testing.T) {
	inR, inW := io.Pipe()
	defer inW.Close()
	w := ndjson.NewWriter(io.Discard, ndjson.WriterOptions{})
	p := NewPeer(inR, w, Options{})
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	cancel(why)
	if err := p.Serve(ctx); err != why {
		t.Errorf("got %v", err)
	}
	if err := p.Serve(ctx); err == nil {
		t.Error("served twice")
	}
	_ = w.Close()
}

func TestBrokenOutputSettlesCalls(t *testing.T) {
	l := newLink(t, Options{})
	c, err := l.peer.Start("m", nil)
	if err != nil {
		t.Fatal(err)
	}
	l.want(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
	l.peer.out.Stop()
	if _, err := c.Wait(t.Context()); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("got %v", err)
	}
	if err := l.peer.Notify("m", nil); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("got %v", err)
	}
}

func TestTwoPeers(t *testing.T) {
	aIn, bOut := io.Pipe()
	bIn, aOut := io.Pipe()
	wa, wb := ndjson.NewWriter(aOut, ndjson.WriterOptions{}), ndjson.NewWriter(bOut, ndjson.WriterOptions{})
	a := NewPeer(aIn, wa, Options{Handler: echo})
	b := NewPeer(bIn, wb, Options{Handler: funcs{request: func(_ context.Context, r *Request) {
		r.Go(func(ctx context.Context, r *Request) { // asks back before it answers
			result, err := b2a(ctx, a, r)
			if err != nil {
				t.Error(err)
			}
			_ = r.Reply(result)
		})
	}}})
	_ = b
	var served sync.WaitGroup
	for _, p := range []*Peer{a, b} {
		served.Go(func() { _ = p.Serve(context.Background()) })
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"n": %d}`, i)
			got, err := a.Call(t.Context(), "m", []byte(want))
			if err != nil || string(got) != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
	wg.Wait()
	_ = a.Close()
	_ = b.Close()
	served.Wait()
	_ = wa.Close()
	_ = wb.Close()
}

// b2a calls through the Request's own peer, back to where it came from.
func b2a(ctx context.Context, _ *Peer, r *Request) ([]byte, error) {
	return r.p.Call(ctx, r.Method, r.Params)
}

func TestInlineRequestsAllocateNothing(t *testing.T) {
	const n = 10_000
	in := strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`+"\n", n)
	w := ndjson.NewWriter(io.Discard, ndjson.WriterOptions{})
	allocs := testing.AllocsPerRun(3, func() {
		if err := NewPeer(strings.NewReader(in), w, Options{Handler: echo}).Serve(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > n/10 {
		t.Errorf("%v allocations for %d requests", allocs, n)
	}
	_ = w.Close()
}
