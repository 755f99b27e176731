package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/internal/hub"
	"dragoman/internal/run"
	"dragoman/wire/core"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// Options are what a [Server] is made of.
type Options struct {
	// Mux holds the operations; New binds session.* and run.* to it.
	Mux *op.Mux
	// Hub carries events and responses.
	Hub *hub.Hub
	// Runs keeps the runs.
	Runs *run.Registry
	// Core is this instance's id, new at each start.
	Core string
	// Version of the program.
	Version string
	// Roots gives the roots now, the first one first; there is at least one.
	Roots func() []string
	// Unsaved lists buffers with unsaved text; nil means none.
	Unsaved func() []string
	// Shutdown is called, once and in a goroutine of its own, when
	// session.shutdown was granted; it ends the process's work.
	Shutdown func(reason string)
	// Limits as hello tells them.
	Limits core.Limits
	// AnswerTimeout is op.AnswerTimeout unless a test wants less.
	AnswerTimeout time.Duration
	// DetachHooks are called with the id of a client that is gone.
	DetachHooks []func(client string)
	// Log gets internal errors.
	Log *slog.Logger
}

// A Server serves the core protocol on any number of connections.
type Server struct {
	opts      Options
	startedAt time.Time
	stats     stats
	nextID    atomic.Int64

	mu      sync.Mutex
	clients map[string]*conn
	closing bool

	shutOnce sync.Once
	wg       sync.WaitGroup // the call of Options.Shutdown
}

// New makes a server and binds its own operations.
func New(o Options) *Server {
	if o.AnswerTimeout == 0 {
		o.AnswerTimeout = op.AnswerTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Limits == (core.Limits{}) {
		o.Limits = core.Limits{
			LineBytes: core.MaxLine, InFlight: core.MaxInFlight,
			QueueBytes: hub.DefaultQueueBytes, RingBytes: hub.DefaultRingBytes,
		}
	}
	s := &Server{opts: o, startedAt: time.Now().UTC(), clients: map[string]*conn{}}
	s.bind(o.Mux)
	return s
}

// wireError makes the wire's form of a handler's error; what isn't one of
// the protocol's is logged, since it is a bug.
func (s *Server) wireError(name string, err error) *op.Error {
	e, known := op.AsError(err)
	if !known {
		s.opts.Log.Error("internal error", "op", name, "err", err)
		return e
	}
	row, ok := s.opts.Mux.Lookup(name)
	if ok && !slices.Contains(row.Desc.Errors, e.Code) && !slices.Contains(op.CommonCodes(), e.Code) {
		s.opts.Log.Error("undeclared error code", "op", name, "code", e.Code)
	}
	return e
}

func isLineError(err error) bool {
	var long *ndjson.LineTooLongError
	return errors.As(err, &long)
}

// endOfInput is nil for the ordinary ends of a connection.
func endOfInput(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// attach notes a client that said hello.
func (s *Server) attach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c.info.ClientID] = c
}

// detached is called by the hub when the connection is gone.
func (c *conn) detached() {
	c.mu.Lock()
	info := c.info
	c.mu.Unlock()
	if info.ClientID == "" {
		return
	}
	s := c.srv
	s.forget(info.ClientID)
	s.opts.Runs.EndClient(info.ClientID)
	for _, hook := range s.opts.DetachHooks {
		hook(info.ClientID)
	}
	s.opts.Hub.Emit(core.SessionDetached.With(core.SessionDetachedParams{
		ClientID: info.ClientID, Name: info.Name, Role: info.Role,
	}))
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, id)
}

// newClientID returns an id that this core never gave.
func (s *Server) newClientID() string { return fmt.Sprintf("c%d", s.nextID.Add(1)) }

// Closing tells every client that the core ends, once.
func (s *Server) Closing(reason string, deadline time.Time) {
	s.mu.Lock()
	told := s.closing
	s.closing = true
	s.mu.Unlock()
	if !told {
		s.opts.Hub.Emit(core.SessionClosing.With(core.SessionClosingParams{
			Reason: reason, DeadlineAt: deadline.UTC(),
		}))
	}
}

// Close cancels the runs, tells their ends, and ends every connection after
// what waits for it. It may be called twice.
func (s *Server) Close(ctx context.Context) error {
	err := s.opts.Runs.Close(ctx)
	closed := make(chan struct{})
	go func() {
		s.opts.Hub.Close()
		s.wg.Wait()
		close(closed)
	}()
	select {
	case <-closed:
		return err
	case <-ctx.Done():
		// A pipe that nobody reads can't be ended from here.
		return errors.Join(err, ctx.Err())
	}
}
