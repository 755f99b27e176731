package sidecar

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
	"dragoman/wire/ndjson"
	"dragoman/wire/sidecar"
)

const (
	// flushLimit bounds the flush at the end: a host that lives but doesn't
	// read must not keep us for ever. After a signal there is less time.
	flushLimit        = 30 * time.Second
	hurriedFlushLimit = 5 * time.Second
	// readerLimit is how long the end waits for a read that can't be
	// interrupted.
	readerLimit = 100 * time.Millisecond
)

// Config is what [Serve] needs.
type Config struct {
	Opener *session.Opener
	// Version is ours, for ping.
	Version string
	// MaxLineBytes is the longest line from the host; 0 for 64 MiB.
	MaxLineBytes int
	// Reports gets the reports of broken lines and the warnings, a line each.
	Reports io.Writer
	// StallAfter is the engine's clock of silence; 0 for its default.
	StallAfter time.Duration
	// Log gets what nobody else is told; nil discards it.
	Log *slog.Logger
}

// server is one run of the protocol.
type server struct {
	config  Config
	out     *ndjson.Writer
	peer    *jsonrpc.Peer
	reports *reporter
	pong    []byte

	// opens ends when no open may go on.
	opens     context.Context
	stopOpens context.CancelFunc

	mu       sync.Mutex
	closing  bool
	pending  int        // requests that async answers
	answered *sync.Cond // pending went down
	sessions map[string]*entry
	cleanup  []error
}

// An entry is a session that the host knows.
type entry struct {
	session *session.Session
	host    *host
}

// Serve speaks a4aa.v1 on in and out until in ends, ctx ends or out is
// closed, and returns when everything is cleaned up. Its error says that a
// cleanup failed; a protocol that ended is none. It doesn't close the
// streams, but interrupts a read of in where that is possible.
func Serve(ctx context.Context, in io.Reader, out io.Writer, c Config) error {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{
		config: c, out: ndjson.NewWriter(out, ndjson.WriterOptions{}), sessions: map[string]*entry{},
		reports: newReporter(c.Reports), pong: sidecar.AppendPong(nil, c.Version),
	}
	s.answered = sync.NewCond(&s.mu)
	s.opens, s.stopOpens = context.WithCancel(context.WithoutCancel(ctx))
	s.peer = jsonrpc.NewPeer(in, s.out, jsonrpc.Options{
		MaxLineBytes: c.MaxLineBytes, OnProblem: s.reports.problem, Handler: s, Log: c.Log,
	})
	go func() {
		if err := s.peer.Serve(context.Background()); err != nil {
			c.Log.Warn("reading from the host ended", "error", err)
		}
	}()
	select {
	case <-s.peer.EOF():
	case <-ctx.Done():
	case <-s.out.Done():
	}
	limit := flushLimit
	if ctx.Err() != nil {
		limit = hurriedFlushLimit
	}
	return s.shutdown(limit)
}

// shutdown is the one way to the end (sidecar.md §2, "EOF").
func (s *server) shutdown(flushLimit time.Duration) error {
	s.mu.Lock()
	s.closing = true
	var open []*entry
	for _, e := range s.sessions {
		open = append(open, e)
	}
	s.mu.Unlock()
	s.stopOpens()
	var closes sync.WaitGroup
	for _, e := range open {
		wait := e.begin()
		closes.Go(func() { s.failed(wait(context.Background())) })
	}
	closes.Wait()
	s.answerAll()
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	if err := s.out.Flush(ctx); err != nil {
		s.config.Log.Info("the host doesn't read its last lines", "error", err)
	}
	s.out.Stop()
	_ = s.peer.Close()
	select {
	case <-s.peer.Done():
	case <-time.After(readerLimit):
	}
	s.reports.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.cleanup...)
}

// answerAll waits until every request that was handed to async is answered.
// Those that are read afterwards aren't waited for.
func (s *server) answerAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.pending > 0 {
		s.answered.Wait()
	}
}

// async answers r on a goroutine of its own, which shutdown waits for.
func (s *server) async(r *jsonrpc.Request, answer func(*jsonrpc.Request)) {
	s.mu.Lock()
	s.pending++
	s.mu.Unlock()
	r.Go(func(_ context.Context, r *jsonrpc.Request) {
		answer(r)
		s.mu.Lock()
		s.pending--
		s.answered.Broadcast()
		s.mu.Unlock()
	})
}

// failed notes that something may be left of a session.
func (s *server) failed(err error) {
	if err == nil {
		return
	}
	s.config.Log.Error("a session couldn't be cleaned up", "error", err)
	s.mu.Lock()
	s.cleanup = append(s.cleanup, err)
	s.mu.Unlock()
}

func (s *server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// find returns the session with that id, nil when there is none.
func (s *server) find(id string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// add makes a session known to the host; false when the shutdown has begun.
func (s *server) add(id string, e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.sessions[id] = e
	return true
}

// forget drops a closed session. During the shutdown it stays, so that a
// prompt that comes late is told that the session is closed.
func (s *server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		delete(s.sessions, id)
	}
}

// begin starts closing; see [session.Session.BeginClose].
func (e *entry) begin() func(context.Context) error {
	wait := e.session.BeginClose()
	e.host.end()
	return wait
}

func closingError() *agent.Error {
	return agent.Fail(agent.CodeSidecarClosing, agent.StageOpen, "the sidecar is closing")
}
