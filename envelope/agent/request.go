package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/wire/envelope"
)

// A Request is one running request. Its methods are safe for concurrent use.
type Request struct {
	// ID is the requestId.
	ID string
	// Operation is its name.
	Operation string
	// Input is a JSON object by its bytes; it is the handler's.
	Input []byte

	serving *serving
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

// ErrOver says that a request has ended, so that nothing more is sent for it.
var ErrOver = errors.New("the request is over")

// Event sends one event that doesn't end the request; output is a JSON object
// by its bytes, nil for none. It waits while the host doesn't read. An output
// that is no JSON object, or over the budgets, is an [*envelope.Error] and
// nothing is sent.
func (r *Request) Event(name string, output []byte) error {
	if name == envelope.EventCompleted || name == envelope.EventCancelled {
		return fmt.Errorf("event %s ends a request: the handler returns instead", name)
	}
	return r.send(&envelope.Envelope{Kind: envelope.Event, RequestID: r.ID, Event: name, Output: output})
}

// AskCancel asks the host to cancel the request; the handler's ctx ends when
// the host agrees.
func (r *Request) AskCancel() error {
	return r.send(&envelope.Envelope{Kind: envelope.Cancel, RequestID: r.ID})
}

func (r *Request) send(e *envelope.Envelope) error {
	if r.serving.silent() {
		return ErrOver
	}
	do, err := r.serving.conn.Send(r.ctx, e)
	if err == nil && !do.Has(envelope.Write) && e.Kind == envelope.Event {
		return ErrOver
	}
	return err
}

// Closed is closed when the connection has ended, whatever the handler thinks
// of cancels.
func (r *Request) Closed() <-chan struct{} { return r.serving.ctx.Done() }

// Flush waits until every event so far is written.
func (r *Request) Flush(ctx context.Context) error { return r.serving.conn.Flush(ctx) }

// finish ends the request as the handler said.
func (r *Request) finish(output []byte, err error) {
	var wrong *envelope.Error
	if sendErr := r.send(r.ending(output, err)); errors.As(sendErr, &wrong) {
		// The end itself was too large or no JSON: say that instead.
		// A connection that fails now is found where it is read.
		_ = r.send(r.failure(unsendable(wrong)))
	}
}

func (r *Request) ending(output []byte, err error) *envelope.Envelope {
	stopped := r.ctx.Err() != nil
	switch {
	case err == nil:
		return &envelope.Envelope{Kind: envelope.Event, RequestID: r.ID, Event: envelope.EventCompleted, Output: output}
	case errors.Is(err, ErrCancelled), stopped && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(r.ctx))):
		return &envelope.Envelope{Kind: envelope.Event, RequestID: r.ID, Event: envelope.EventCancelled}
	}
	var own *Error
	if !errors.As(err, &own) {
		own = &Error{Code: envelope.Failed, Message: err.Error()}
	}
	return r.failure(own)
}

func (r *Request) failure(e *Error) *envelope.Envelope {
	code := e.Code
	if !envelope.ValidCode(code) {
		code = envelope.Failed
	}
	retryable := e.Retryable
	return &envelope.Envelope{Kind: envelope.ErrorKind, RequestID: r.ID, Code: code, Message: cutMessage(e.Message), Retryable: &retryable}
}

// unsendable is the error for an output that can't be sent.
func unsendable(wrong *envelope.Error) *Error {
	code := envelope.Failed
	if wrong.Code == envelope.LineTooLarge || wrong.Code == envelope.BudgetExceeded {
		code = envelope.ResultTooLarge
	}
	return &Error{Code: code, Message: "output: " + wrong.Error()}
}

// cutMessage is a message within its limit and in UTF-8.
func cutMessage(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > envelope.MaxMessageBytes {
		s = strings.ToValidUTF8(s[:envelope.MaxMessageBytes], "")
	}
	return s
}
