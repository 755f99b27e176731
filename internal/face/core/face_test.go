package core

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/hub"
	"dragoman/internal/run"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// patience bounds every wait of these tests; a good run never needs it.
const patience = 30 * time.Second

// A world is a core with stand-ins for the namespaces.
type world struct {
	t    *testing.T
	srv  *Server
	hub  *hub.Hub
	runs *run.Registry
	mux  *op.Mux
	log  *logged
	wg   sync.WaitGroup
	shut chan string
}

// logged fails the test for every internal error that it didn't expect.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.buf.String()
	l.buf.Reset()
	return s
}

type worldOption func(*Options, *hub.Options, *run.Options)

func newWorld(t *testing.T, bind func(w *world), options ...worldOption) *world {
	t.Helper()
	w := &world{t: t, mux: op.NewMux(), log: &logged{}, shut: make(chan string, 1)}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	root := t.TempDir()
	so := Options{
		Mux: w.mux, Core: "k1", Version: "test", Log: log,
		Roots:    func() []string { return []string{root} },
		Shutdown: func(reason string) { w.shut <- reason },
	}
	ho, ro := hub.Options{Log: log}, run.Options{Log: log, Dir: filepath.Join(root, "state"), Name: "x"}
	for _, o := range options {
		o(&so, &ho, &ro)
	}
	w.hub = hub.New(ho)
	ro.Events = w.hub
	var err error
	if w.runs, err = run.Open(ro); err != nil {
		t.Fatal(err)
	}
	so.Hub, so.Runs = w.hub, w.runs
	w.srv = New(so)
	if bind != nil {
		bind(w)
	}
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.srv.Close(ctx); err != nil {
		w.t.Error(err)
	}
	w.wg.Wait()
	if s := w.log.take(); s != "" {
		w.t.Errorf("logged:\n%s", s)
	}
}

// A peer is the other end of a connection.
type peer struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func (w *world) dial(p Peer) *peer {
	w.t.Helper()
	ours, theirs := socketPair(w.t)
	if p.Transport == "" {
		p.Transport = core.TransportUnix
	}
	w.wg.Go(func() { _ = w.srv.ServeConn(context.Background(), theirs, NetConn(theirs), p) })
	return newPeer(w.t, ours)
}

func newPeer(t *testing.T, conn net.Conn) *peer {
	t.Cleanup(func() { conn.Close() })
	return &peer{t: t, conn: conn, r: bufio.NewReader(conn)}
}

func socketPair(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

var control = Peer{Access: op.Access{Role: op.Control}}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := p.conn.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	s, err := p.r.ReadString('\n')
	if err != nil {
		p.t.Fatalf("read: %v (%q)", err, s)
	}
	return strings.TrimSuffix(s, "\n")
}

// want reads lines and compares them; "…" in want matches anything.
func (p *peer) want(lines ...string) {
	p.t.Helper()
	for _, want := range lines {
		if got := p.line(); !like(want, got) {
			p.t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

func like(pattern, s string) bool {
	parts := strings.Split(pattern, "…")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) || !strings.HasSuffix(s, parts[len(parts)-1]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, part := range parts[1:] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}

// hello attaches and returns the result; the client's own attached event is
// read too when its filter lets it through.
func (p *peer) hello(params string) core.SessionHelloResult {
	p.t.Helper()
	p.send(`{"id":"hello","op":"session.hello","params":` + params + `}`)
	var r struct {
		OK     bool                    `json:"ok"`
		Result core.SessionHelloResult `json:"result"`
		Error  jsontext.Value          `json:"error"`
	}
	line := p.line()
	if err := json.Unmarshal([]byte(line), &r); err != nil || !r.OK {
		p.t.Fatalf("hello: %v %s", err, line)
	}
	return r.Result
}
