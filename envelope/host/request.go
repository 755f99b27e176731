package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/wire/envelope"
)

// RequestOptions are what a request may have beside its input.
type RequestOptions struct {
	// OnEvent gets each event that doesn't end the request, in order, by the
	// goroutine that reads: while it runs nothing else is read, which holds
	// the agent back. It must not call Request or Close and wait for them.
	OnEvent func(Event)
	// OnCancel is called once when the request is being cancelled, after the
	// agent was told, or by the agent's own wish.
	OnCancel func()
	// Timeout cancels the request when it is over; 0 is none.
	Timeout time.Duration
	// OnStart gets the request's id once it is sent.
	OnStart func(requestID string)
}

// An Event is one event of a request. Output is a JSON object by its bytes,
// nil if absent; it is the receiver's.
type Event struct {
	Name   string
	Output []byte
}

// An Outcome is how a completed request ended.
type Outcome struct {
	// Output is a JSON object by its bytes, nil if absent.
	Output []byte
	// CancelLost: the request had been cancelled but completed first.
	CancelLost bool
}

// A call is one request in flight.
type call struct {
	id      string
	onEvent func(Event)
	asked   chan struct{} // closed when the agent asked to cancel
	settled chan struct{} // closed with outcome and err set
	code    string        // why it was cancelled; set by the calling goroutine before the cancel is sent
	outcome Outcome
	err     *Error
	done    bool
}

func (c *call) settleLocked(o Outcome, err *Error) {
	if c.done {
		return
	}
	c.done, c.outcome, c.err = true, o, err
	close(c.settled)
}

// result is what the envelope that ends a request means.
func (c *call) result(e *envelope.Envelope, do envelope.Actions) (Outcome, *Error) {
	switch {
	case e.Kind == envelope.ErrorKind:
		return Outcome{}, &Error{Code: e.Code, Message: e.Message, Origin: FromAgent, Retryable: e.MayRetry()}
	case e.Event == envelope.EventCancelled:
		// The code is the caller's to say: see [Host.Request].
		return Outcome{}, &Error{Code: CodeCancelled, Message: "the agent acknowledged the cancel"}
	}
	return Outcome{Output: append([]byte(nil), e.Output...), CancelLost: do.Has(envelope.CancelLost)}, nil
}

// Request runs one operation to its end. input is a JSON object; nil is {}.
//
// A ctx that ends cancels the request: the agent has the grace to
// acknowledge, else it is ended with everything that runs on it. The error is
// an [*Error]: CANCELLED, or REQUEST_TIMEOUT where a deadline asked for the
// cancel. A request that completed although it was cancelled returns its
// outcome with CancelLost and no error.
func (h *Host) Request(ctx context.Context, operation string, input []byte, o RequestOptions) (Outcome, error) {
	if err := h.may(operation); err != nil {
		return Outcome{}, err
	}
	if o.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, o.Timeout)
		defer stop()
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return Outcome{}, refuse(reason(ctx), "ended before it was sent")
	case <-h.failed:
		return Outcome{}, h.Err()
	}
	c := &call{onEvent: o.OnEvent, asked: make(chan struct{}), settled: make(chan struct{})}
	if err := h.send(ctx, c, operation, input); err != nil {
		return Outcome{}, err
	}
	if o.OnStart != nil {
		o.OnStart(c.id)
	}
	h.wait(ctx, c, o.OnCancel)
	if c.err != nil {
		return Outcome{}, c.err
	}
	return c.outcome, nil
}

// may checks the grants first and then what the agent offers.
func (h *Host) may(operation string) error {
	if err := h.config.Authorize(operation); err != nil {
		return err
	}
	if !h.Has(operation) {
		return refuse(CodeUnsupportedCapability, fmt.Sprintf("the agent doesn't offer %q", operation))
	}
	return nil
}

func (h *Host) send(ctx context.Context, c *call, operation string, input []byte) error {
	if err := h.register(c); err != nil {
		return err
	}
	if input == nil {
		input = []byte("{}")
	}
	_, err := h.conn.Send(ctx, &envelope.Envelope{Kind: envelope.Request, RequestID: c.id, Operation: operation, Input: input})
	if err == nil {
		return nil
	}
	var own *Error
	var wrong *envelope.Error
	switch {
	case errors.As(err, &wrong):
		own = refuse(CodeInvalidConfiguration, "input: "+wrong.Error())
	default:
		own = refuse(CodeProcessFailure, err.Error())
	}
	h.settle(c, Outcome{}, own)
	return own
}

// wait returns when c is settled: by the agent, by the end of the connection,
// or by the cancel ladder.
func (h *Host) wait(ctx context.Context, c *call, onCancel func()) {
	code := CodeCancelled
	select {
	case <-c.settled:
		return
	case <-c.asked:
	case <-ctx.Done():
		code = reason(ctx)
		// An error means that the connection ends, which settles the call.
		_, _ = h.conn.Send(ctx, &envelope.Envelope{Kind: envelope.Cancel, RequestID: c.id})
	}
	if onCancel != nil {
		onCancel()
	}
	h.await(c, code)
	if c.err != nil && c.err.Code == CodeCancelled && c.err.Origin == FromHost {
		c.err.Code = code
	}
}

// await gives the agent the grace to end a cancelled request. While an OnEvent
// runs the host isn't reading, so that the agent isn't late.
func (h *Host) await(c *call, code string) {
	grace := time.NewTimer(h.config.grace())
	defer grace.Stop()
	for {
		select {
		case <-c.settled:
			return
		case <-grace.C:
			if h.delivering.Load() {
				grace.Reset(h.config.grace())
				continue
			}
			h.unacknowledged(c, code)
			return
		}
	}
}

// unacknowledged is the top of the cancel ladder: the agent is ended (session
// rule 5).
func (h *Host) unacknowledged(c *call, code string) {
	message := fmt.Sprintf("the agent didn't acknowledge the cancel within %s and was ended", h.config.grace())
	h.settle(c, Outcome{}, &Error{Code: code, Message: message, UncertainEffect: true})
	h.fail(refuse(CodeProcessFailure, "the agent was ended: it didn't acknowledge a cancel"))
	// What can't be ended now is tried again by Close.
	_ = h.end()
	<-c.settled
}
