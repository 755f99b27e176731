package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/core"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// maxLine is the longest line that a core sends (core.md §1).
const maxLine = 64 << 20

func encode(v any) ([]byte, error) { return json.Marshal(v) }

func decode(raw []byte, into any) error {
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// An answer settles a call.
type answer struct {
	result []byte
	err    error
}

// A link is one connection. Its reading goroutine is that of serve.
type link struct {
	conn    io.ReadWriteCloser
	lines   *ndjson.Reader
	onEvent func(Event)
	heard   atomic.Int64 // when the last byte came, in ns of the clock
	refused atomic.Bool  // the core answered a line of ours without its id

	writeMu sync.Mutex

	mu      sync.Mutex
	next    int64
	pending map[string]pending
	err     error // set when the link has ended
}

// pending is a call that waits for its response.
type pending struct {
	ch   chan answer
	sent time.Time
}

func newLink(conn io.ReadWriteCloser, onEvent func(Event)) *link {
	l := &link{conn: conn, onEvent: onEvent, pending: map[string]pending{}}
	l.lines = ndjson.NewReader(hearing{l}, ndjson.ReaderOptions{MaxLineBytes: maxLine})
	l.heard.Store(time.Now().UnixNano())
	return l
}

// hearing notes every byte as a sign of life.
type hearing struct{ l *link }

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.l.conn.Read(p)
	if n > 0 {
		h.l.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// hello is the first call, read before serve begins.
func (l *link) hello(p core.SessionHelloParams) (r core.SessionHelloResult, err error) {
	raw, err := encode(p)
	if err != nil {
		return r, err
	}
	late := time.AfterFunc(DeadAfter, func() { l.conn.Close() })
	defer late.Stop()
	id, a, err := l.send(core.SessionHello.Name, raw)
	if err != nil {
		return r, err
	}
	for {
		line, err := l.lines.Next()
		if err != nil {
			return r, fmt.Errorf("hello: %w", err)
		}
		if err := l.take(line); err != nil {
			return r, err
		}
		select {
		case got := <-a:
			if got.err != nil {
				return r, got.err
			}
			return r, decode(got.result, &r)
		default:
		}
		if l.refused.Load() {
			l.forget(id)
			return r, errors.New("hello: the core refused the line")
		}
	}
}

// serve reads until the link dies, and says why.
func (l *link) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { l.conn.Close() })
	defer stop()
	var wg sync.WaitGroup
	watch, cancel := context.WithCancel(ctx)
	wg.Go(func() { l.watch(watch) })
	err := l.read()
	cancel()
	l.conn.Close()
	wg.Wait()
	l.fail(ErrDisconnected)
	return err
}

func (l *link) read() error {
	for {
		line, err := l.lines.Next()
		if err != nil {
			return err
		}
		if err := l.take(line); err != nil {
			return err
		}
	}
}

// message is a line from the core.
type message struct {
	ID     jsontext.Value `json:"id"`
	OK     bool           `json:"ok"`
	Result jsontext.Value `json:"result"`
	Error  *op.Error      `json:"error"`
	Event  string         `json:"event"`
	Seq    int64          `json:"seq"`
	Params jsontext.Value `json:"params"`
}

// take handles one line.
func (l *link) take(line []byte) error {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("a line of the core: %w", err)
	}
	if m.Event != "" {
		l.onEvent(Event{Name: m.Event, Seq: m.Seq, Params: clone(m.Params), Line: clone(line)})
		return nil
	}
	if string(m.ID) == "null" {
		l.refused.Store(true)
		return nil
	}
	l.mu.Lock()
	p, ok := l.pending[string(m.ID)]
	delete(l.pending, string(m.ID))
	l.mu.Unlock()
	if !ok {
		return nil // its caller has gone
	}
	a := answer{result: clone(m.Result)}
	if !m.OK {
		a.err = m.Error
		if m.Error == nil {
			a.err = op.Fail(op.CodeInternal, "a response without result or error")
		}
	}
	p.ch <- a
	return nil
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

// send writes a request and returns where its answer comes.
func (l *link) send(name string, params []byte) (id string, ch chan answer, err error) {
	ch = make(chan answer, 1)
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return "", nil, l.err
	}
	l.next++
	id = strconv.FormatInt(l.next, 10)
	l.pending[id] = pending{ch: ch, sent: time.Now()}
	l.mu.Unlock()
	line := append([]byte(`{"id":`), id...)
	line = append(line, `,"op":`...)
	line = ndjson.AppendQuote(line, name)
	if params != nil {
		line = append(append(line, `,"params":`...), params...)
	}
	line = append(line, "}\n"...)
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if _, err := l.conn.Write(line); err != nil {
		l.forget(id)
		return "", nil, ErrDisconnected
	}
	return id, ch, nil
}

func (l *link) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
}

// call sends a request and waits. When ctx ends first the answer is dropped.
func (l *link) call(ctx context.Context, name string, params []byte) ([]byte, error) {
	id, ch, err := l.send(name, params)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-ch:
		return a.result, a.err
	case <-ctx.Done():
		l.forget(id)
		return nil, ctx.Err()
	}
}

// fail settles every call.
func (l *link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	for id, p := range l.pending {
		delete(l.pending, id)
		p.ch <- answer{err: err}
	}
}

// watch is the watchdog: it pings an idle link and ends a dead one.
func (l *link) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		silence := time.Since(time.Unix(0, l.heard.Load()))
		oldest, waiting := l.oldest()
		switch {
		case waiting && silence >= DeadAfter && time.Since(oldest) >= DeadAfter:
			l.conn.Close()
			return
		case !waiting && silence >= PingAfter:
			// The answer is of no interest, that it comes is.
			if _, _, err := l.send(core.SessionPing.Name, nil); err != nil {
				return
			}
		}
	}
}

// oldest is when the longest waiting call was sent.
func (l *link) oldest() (sent time.Time, waiting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pending {
		if !waiting || p.sent.Before(sent) {
			sent, waiting = p.sent, true
		}
	}
	return sent, waiting
}
