// Package jsonrpc is a JSON-RPC 2.0 peer over newline-delimited JSON, for both
// directions of one connection (sidecar.md §1).
package jsonrpc

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"dragoman/wire/ndjson"
)

// ErrPeerClosed settles calls whose link is gone.
var ErrPeerClosed = errors.New("peer_closed")

// Codes of JSON-RPC errors.
const (
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Options configure a [Peer].
type Options struct {
	// MaxLineBytes is the longest incoming line; 0 means ndjson.DefaultMaxLineBytes.
	MaxLineBytes int
	// Lenient reads the peer's lines as an agent's (sidecar.md §1, last item).
	Lenient bool
	// OmitVersion leaves the member "jsonrpc" out of what we send (codex).
	OmitVersion bool
	// MaxDepth is the deepest nesting read; 0 means ndjson.DefaultDepth.
	MaxDepth int
	// OnProblem is told of lines that can't be used, on the reading goroutine.
	OnProblem func(Problem)
	// Handler gets requests and notifications; nil answers -32601 to all.
	Handler Handler
	// Log gets what nobody else is told; nil discards it.
	Log *slog.Logger
}

// A Problem is an incoming line that is broken. It never holds content.
type Problem struct {
	Line     int64       // the line's number from 1
	Code     ndjson.Code // what is wrong; LineTooLong for a line over the limit
	Offset   int         // in bytes
	Repaired bool        // the lenient reading made it usable
	Err      error       // *ndjson.SyntaxError or *ndjson.LineTooLongError
}

// LineTooLong is the code of a Problem with a line over the limit.
const LineTooLong ndjson.Code = "line too long"

// A Handler serves the other side's messages. Both methods run on the reading
// goroutine in wire order.
type Handler interface {
	// Notify handles a notification. It may block, which holds back the peer.
	Notify(ctx context.Context, n Notification)
	// Request handles a request: it answers inline with Reply or Fail without
	// blocking, or hands over to Go. Answers given inline may wait until the
	// requests that were read together with this one are handled.
	Request(ctx context.Context, r *Request)
}

// A Notification is valid during the call of Notify.
type Notification struct {
	Method string
	Params []byte // exact bytes; nil if absent
	Line   []byte
}

// A Request is valid during the call of Handler.Request; Go hands on a copy.
type Request struct {
	ID     []byte // exact bytes
	Method string
	Params []byte // exact bytes; nil if absent
	Line   []byte
}

// Reply answers with a result, which must be valid JSON on one line. Only the
// first answer counts.
func (r *Request) Reply(result []byte) error { panic("todo") }

// Fail answers with an error. Only the first answer counts.
func (r *Request) Fail(e *Error) error { panic("todo") }

// Go runs f on a goroutine that the Peer waits for, with a copy of the request
// and a context that ends with $/cancel_request, or with the peer.
func (r *Request) Go(f func(ctx context.Context, r *Request)) { panic("todo") }

// An Error is an error reply.
type Error struct {
	Code    int
	Message string
	Data    []byte // valid JSON; nil is written as null
	Raw     []byte // of a reply to a Call: the error as the peer sent it
}

// Error is the message with its code.
func (e *Error) Error() string { panic("todo") }

// A Peer is one side of a connection. Its methods are safe for concurrent use.
type Peer struct{}

// NewPeer returns a Peer that reads r once Serve is called, and writes to w,
// which stays the caller's to close.
func NewPeer(r io.Reader, w *ndjson.Writer, o Options) *Peer { panic("todo") }

// Serve reads until EOF, a read error, Close, or the end of ctx; then it
// settles all pending calls with ErrPeerClosed, waits for the running
// handlers, and returns. At EOF it returns nil, and handlers end unhurried.
func (p *Peer) Serve(ctx context.Context) error { panic("todo") }

// Call sends a request and waits for its reply. The result is the caller's. An
// error reply is an [*Error].
func (p *Peer) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	panic("todo")
}

// A Call is a request of ours that is under way.
type Call struct{}

// Start sends a request; nil params are left out.
func (p *Peer) Start(method string, params []byte) (*Call, error) { panic("todo") }

// ID is the request's id.
func (c *Call) ID() int64 { panic("todo") }

// Wait returns the reply, or the end of ctx; then the call stays pending.
func (c *Call) Wait(ctx context.Context) ([]byte, error) { panic("todo") }

// Done is closed when the call has settled.
func (c *Call) Done() <-chan struct{} { panic("todo") }

// Notify sends a notification; nil params are left out.
func (p *Peer) Notify(method string, params []byte) error { panic("todo") }

// Stats are counters of a Peer.
type Stats struct {
	Lines          int64 // read, the broken ones too
	Unreadable     int64 // skipped: too long, or no JSON
	Repaired       int64 // used after a lenient reading
	UnknownReplies int64 // to ids that aren't pending
	Pending        int64 // our calls without a reply
	InFlight       int64 // the peer's requests without an answer
}

// Stats returns the counters now.
func (p *Peer) Stats() Stats { panic("todo") }

// Done is closed when Serve has returned.
func (p *Peer) Done() <-chan struct{} { panic("todo") }

// Close ends the peer: pending calls settle with ErrPeerClosed, and handlers'
// contexts end. It may be called twice.
func (p *Peer) Close() error { panic("todo") }
