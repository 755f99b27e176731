// Package agent is the agent's side of agent protocol v1 (envelope.md):
// register operations, stream their events, honour cancels.
//
//	a := agent.New(agent.Config{Implementation: "echo 1.0"})
//	a.Handle("echo.text", func(ctx context.Context, r *agent.Request) ([]byte, error) {
//		return r.Input, nil
//	})
//	if err := a.Serve(ctx, os.Stdin, os.Stdout); err != nil {
//		os.Exit(1)
//	}
package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"dragoman/envelope/internal/conn"
	"dragoman/wire/envelope"
)

// Causes of a handler's context (context.Cause).
var (
	// ErrCancelled: the host asked to cancel the request.
	ErrCancelled = errors.New("the host cancelled the request")
	// ErrGaveUp: the host gave up; nothing more is sent for the request.
	ErrGaveUp = errors.New("the host gave up the request")
	// ErrClosed: the connection is at its end.
	ErrClosed = errors.New("the connection has ended")
)

// A Handler runs one request to its end, in a goroutine of its own, and
// returns the output of `completed`: a JSON object by its bytes, nil for
// none. ctx ends when the request is cancelled. A handler that then returns
// ctx.Err() or context.Cause(ctx) acknowledges the cancel; one that completes
// all the same has won the race, which is no error. ErrCancelled says in any
// case that the work was cancelled, by whomever. An [*Error] is sent as it
// is, any other error with the code FAILED.
type Handler func(ctx context.Context, r *Request) (output []byte, err error)

// An Error is an error for a request as the host gets it.
type Error struct {
	// Code is a code of the protocol (envelope.Failed…) or the agent's own.
	Code string
	// Message is for people; what is over the limit of 4,096 bytes is cut.
	Message string
	// Retryable: trying the same again may work.
	Retryable bool
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Config is what an agent says of itself and holds its host to. The zero
// value is ready to use.
type Config struct {
	// Implementation says who speaks in the hello; "" says nothing.
	Implementation string
	// Limits are the budgets, for what comes and what goes.
	Limits envelope.Limits
}

// An Agent is a set of operations, served on any number of connections.
type Agent struct {
	config   Config
	names    []string
	handlers map[string]Handler
}

// New returns an Agent without operations.
func New(c Config) *Agent {
	return &Agent{config: c, handlers: make(map[string]Handler)}
}

// Handle registers an operation. It panics if the name is no capability or is
// taken: both are mistakes of the program. It must not be called once Serve
// runs.
func (a *Agent) Handle(operation string, h Handler) {
	if !envelope.ValidCapability(operation) {
		panic("agent: operation " + operation + " is no capability")
	}
	if a.handlers[operation] != nil {
		panic("agent: operation " + operation + " is registered twice")
	}
	a.names = append(a.names, operation)
	a.handlers[operation] = h
}

// Serve is one session with a host: it reads r until it ends, runs requests,
// and returns when all of them are over and their answers are written. It
// returns nil at the end of r, and a [*ProtocolError] where the host broke
// the protocol: the host has been told, and the program should exit with 1.
//
// ctx ends every request, and closes r where it is an [io.Closer].
func (a *Agent) Serve(ctx context.Context, r io.Reader, w io.Writer) error {
	n, err := conn.New(r, w, conn.Config{
		Side:           envelope.AgentSide,
		Capabilities:   a.names,
		Implementation: a.config.Implementation,
		Limits:         a.config.Limits,
		Now:            time.Now,
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(ErrClosed)
	s := &serving{agent: a, conn: n, ctx: ctx, requests: make(map[string]*Request)}
	unhook := context.AfterFunc(ctx, func() {
		if c, ok := r.(io.Closer); ok {
			c.Close()
		}
	})
	err = s.read()
	unhook()
	stop(ErrClosed)
	s.work.Wait()
	if closeErr := n.Close(); err == nil {
		err = closeErr
	}
	return err
}

// A ProtocolError says how the host broke the protocol.
type ProtocolError struct {
	Err *envelope.Error
	// Line is the start of the line, escaped ([envelope.Excerpt]).
	Line string
}

// Error is the protocol error and the line.
func (e *ProtocolError) Error() string { return e.Err.Error() + ` in "` + e.Line + `"` }

// Unwrap is the protocol error.
func (e *ProtocolError) Unwrap() error { return e.Err }

// serving is one connection.
type serving struct {
	agent *Agent
	conn  *conn.Conn
	ctx   context.Context // ends with the connection
	work  sync.WaitGroup

	mu       sync.Mutex
	requests map[string]*Request
	over     bool // after an error of the connection nothing else is said
}

func (s *serving) read() error {
	for {
		e, do, err := s.conn.Next()
		var v *conn.Violation
		switch {
		case errors.As(err, &v):
			return s.violated(v)
		case errors.Is(err, io.EOF), err != nil && s.ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		switch {
		case do.Has(envelope.FailAll):
			return nil
		case do.Has(envelope.Refuse):
			s.refuse(e)
		case do.Has(envelope.Deliver):
			s.start(e)
		case do.Has(envelope.StopWork):
			s.stop(e)
		}
	}
}

// violated tells the host, once, and ends the connection (session rule 9).
func (s *serving) violated(v *conn.Violation) error {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	message := cutMessage(v.Err.Detail + fmt.Sprintf(" (at byte %d)", v.Err.Offset))
	err := s.conn.Answer(&envelope.Envelope{Kind: envelope.ErrorKind, Code: string(v.Err.Code), Message: message})
	return errors.Join(&ProtocolError{v.Err, v.Line}, err)
}

func (s *serving) refuse(e *envelope.Envelope) {
	var code, message string
	s.conn.Session(func(session *envelope.Session) { code, message = session.Refusal(e.Operation) })
	// A host that no longer reads ends the connection where it is read.
	_ = s.conn.Answer(&envelope.Envelope{Kind: envelope.ErrorKind, RequestID: e.RequestID, Code: code, Message: message})
}

func (s *serving) start(e *envelope.Envelope) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	r := &Request{ID: e.RequestID, Operation: e.Operation, Input: bytes.Clone(e.Input), serving: s, ctx: ctx, cancel: cancel}
	s.mu.Lock()
	s.requests[r.ID] = r
	s.mu.Unlock()
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		output, err := s.agent.handlers[r.Operation](ctx, r)
		r.finish(output, err)
		s.mu.Lock()
		delete(s.requests, r.ID)
		s.mu.Unlock()
		cancel(ErrClosed)
	}()
}

func (s *serving) stop(e *envelope.Envelope) {
	s.mu.Lock()
	r := s.requests[e.RequestID]
	s.mu.Unlock()
	if r == nil {
		return
	}
	if e.Kind == envelope.ErrorKind {
		r.cancel(ErrGaveUp)
		return
	}
	r.cancel(ErrCancelled)
}

func (s *serving) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}
