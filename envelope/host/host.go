// Package host is the host's side of agent protocol v1 (envelope.md): it
// starts or reaches an agent, greets it, sends requests, streams their events
// and ends whatever doesn't acknowledge a cancel.
//
//	h, err := host.Start(ctx, host.Child(host.Command{Argv: argv, Dir: root}), host.Config{Grants: []string{"echo.text"}})
//	outcome, err := h.Request(ctx, "echo.text", []byte(`{"text":"hi"}`), host.RequestOptions{})
//	err = h.Close(ctx)
//
// The same code runs over a child's streams ([Child], which may be any bridge
// like `ssh host agent`), a socket ([Dial]), and an agent in this process
// ([Pipe]).
package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/envelope/internal/conn"
	"dragoman/wire/envelope"
)

// A Host is a connection to one agent. Its methods are safe for concurrent
// use.
type Host struct {
	config Config
	link   Link
	conn   *conn.Conn
	slots  chan struct{}
	hello  chan struct{} // closed by the agent's hello
	failed chan struct{} // closed with err set
	read   chan struct{} // closed when the reading goroutine has returned
	// delivering: an OnEvent runs.
	delivering atomic.Bool

	closing sync.Mutex // held while the link is being ended
	closed  bool

	mu    sync.Mutex
	err   *Error // why the connection ended
	calls map[string]*call
	count uint64
}

// Start starts the agent and returns once both hellos are through. It fails
// with INVALID_CONFIGURATION, PROCESS_FAILURE, MALFORMED_PROTOCOL, or
// REQUEST_TIMEOUT where no hello came in time; nothing is left of an agent
// whose Start failed.
func Start(ctx context.Context, s Starter, c Config) (*Host, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	link, err := s.Start(ctx)
	if err != nil {
		var own *Error
		if errors.As(err, &own) {
			return nil, own
		}
		return nil, refuse(CodeProcessFailure, err.Error())
	}
	n, err := conn.New(link, link, conn.Config{
		Side:           envelope.HostSide,
		Capabilities:   c.Grants,
		Implementation: c.Implementation,
		Limits:         c.Limits,
		Now:            time.Now,
	})
	if err != nil {
		return nil, errors.Join(refuse(CodeInvalidConfiguration, err.Error()), link.End(ctx))
	}
	h := &Host{
		config: c,
		link:   link,
		conn:   n,
		slots:  make(chan struct{}, c.Limits.Resolve().InFlight),
		hello:  make(chan struct{}),
		failed: make(chan struct{}),
		read:   make(chan struct{}),
		calls:  make(map[string]*call),
	}
	go h.run()
	if err := h.greet(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// greet waits for the agent's hello.
func (h *Host) greet(ctx context.Context) error {
	limit := time.NewTimer(h.config.helloTimeout())
	defer limit.Stop()
	var err *Error
	select {
	case <-h.hello:
		return nil
	case <-h.failed:
		err = h.err
	case <-limit.C:
		err = refuse(CodeRequestTimeout, fmt.Sprintf("no hello within %s", h.config.helloTimeout()))
	case <-ctx.Done():
		err = refuse(reason(ctx), "ended before the agent's hello")
	}
	h.fail(err)
	return errors.Join(err, h.end())
}

// reason is the code for a ctx that has ended.
func reason(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return CodeRequestTimeout
	}
	return CodeCancelled
}

// Has reports whether a capability is granted and the agent offers it.
func (h *Host) Has(capability string) (ok bool) {
	h.conn.Session(func(s *envelope.Session) { ok = s.Has(capability) })
	return ok
}

// Agent is the agent's hello.
func (h *Host) Agent() (hello envelope.Envelope) {
	h.conn.Session(func(s *envelope.Session) { hello = *s.Peer() })
	return hello
}

// Done is closed when the connection has ended; then Err says why.
func (h *Host) Done() <-chan struct{} { return h.failed }

// Err is nil while the connection stands, then why it ended, after Close too.
func (h *Host) Err() *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Close ends the agent and waits until it is gone; what is pending fails. It
// may be called twice.
func (h *Host) Close(ctx context.Context) error {
	h.fail(&Error{Code: CodeCancelled, Message: "the host closed the connection", UncertainEffect: true})
	done := make(chan error, 1)
	go func() { done <- h.end() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endTimeout bounds how long a link may take to end.
const endTimeout = 30 * time.Second

// end ends the link and waits for the reading goroutine.
func (h *Host) end() error {
	h.closing.Lock()
	defer h.closing.Unlock()
	if h.closed {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), endTimeout)
	defer stop()
	if err := h.link.End(ctx); err != nil {
		return err
	}
	_ = h.conn.Close() // what was unwritten has no reader any more
	<-h.read
	h.closed = true
	return nil
}

// fail ends the connection for everybody, once.
func (h *Host) fail(err *Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return
	}
	h.err = err
	for id, c := range h.calls {
		c.settleLocked(Outcome{}, pending(err))
		delete(h.calls, id)
	}
	close(h.failed)
}

// pending is err as it concerns a request that was open.
func pending(err *Error) *Error {
	e := *err
	e.UncertainEffect = true
	return &e
}

// run is the reading goroutine. It ends the agent when it stops reading.
func (h *Host) run() {
	defer close(h.read)
	h.loop()
	ctx, stop := context.WithTimeout(context.Background(), endTimeout)
	defer stop()
	// What can't be ended now is tried again by Close.
	_ = h.link.End(ctx)
}

func (h *Host) loop() {
	for {
		e, do, err := h.conn.Next()
		if err != nil {
			if h.survives(err) {
				continue
			}
			return
		}
		if h.config.Trace != nil {
			h.config.Trace(h.conn.Line())
		}
		switch {
		case e.Kind == envelope.Hello:
			close(h.hello)
		case do.Has(envelope.FailAll):
			h.fail(&Error{Code: e.Code, Message: e.Message, Origin: FromConnection, Retryable: e.MayRetry()})
			return
		default:
			h.act(e, do)
		}
	}
}

// survives handles an error of reading and reports whether to go on.
func (h *Host) survives(err error) bool {
	var v *conn.Violation
	if errors.As(err, &v) {
		if h.config.Report != nil {
			h.config.Report(Problem{v.Err, v.Line})
		}
		if h.config.Strictness == Lenient {
			return true
		}
		h.fail(&Error{Code: CodeMalformedProtocol, Message: v.Error(), Protocol: v.Err})
		return false
	}
	message := "the agent closed the connection"
	if !errors.Is(err, io.EOF) {
		message = err.Error()
	}
	if s := h.link.Status(); s != "" {
		message = s
	}
	h.fail(refuse(CodeProcessFailure, message))
	return false
}

func (h *Host) act(e *envelope.Envelope, do envelope.Actions) {
	h.mu.Lock()
	c := h.calls[e.RequestID]
	h.mu.Unlock()
	if do.Has(envelope.ReturnCancel) {
		// A connection that can't be written to fails where it is read.
		_ = h.conn.Answer(&envelope.Envelope{Kind: envelope.Cancel, RequestID: e.RequestID})
	}
	if c == nil {
		return
	}
	if do.Has(envelope.StartGrace) {
		close(c.asked)
	}
	if do.Has(envelope.Deliver) && c.onEvent != nil {
		h.delivering.Store(true)
		c.onEvent(Event{Name: e.Event, Output: bytes.Clone(e.Output)})
		h.delivering.Store(false)
	}
	if do.Has(envelope.Settle) {
		outcome, err := c.result(e, do)
		h.settle(c, outcome, err)
	}
}

func (h *Host) settle(c *call, o Outcome, err *Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.settleLocked(o, err)
	delete(h.calls, c.id)
}

// register makes a call known under a new id.
func (h *Host) register(c *call) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	h.count++
	c.id = "r" + strconv.FormatUint(h.count, 10)
	h.calls[c.id] = c
	return nil
}
