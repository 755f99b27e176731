// Package conn carries one side of an envelope connection over two byte
// streams: framing, codec and session together. It decides nothing; its user
// reads with one goroutine and does what the actions say.
package conn

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"dragoman/wire/envelope"
	"dragoman/wire/ndjson"
)

// Config is what both sides of a connection have.
type Config struct {
	Side           envelope.Side
	Capabilities   []string
	Implementation string
	Limits         envelope.Limits
	// Now is the clock of sentAt.
	Now func() time.Time
}

// A Violation is a protocol error of the peer, with the start of its line.
type Violation struct {
	Err *envelope.Error
	// Line is the start of the line, escaped ([envelope.Excerpt]).
	Line string
}

// Error is the protocol error and the line.
func (v *Violation) Error() string { return v.Err.Error() + ` in "` + v.Line + `"` }

// Unwrap is the protocol error.
func (v *Violation) Unwrap() error { return v.Err }

// highWaterBytes is how much may wait to be written before Send waits.
const highWaterBytes = 1 << 20

// A Conn is one side of a connection. Next belongs to one goroutine; the rest
// is safe for concurrent use.
type Conn struct {
	reader  *ndjson.Reader
	decoder *envelope.Decoder
	writer  *ndjson.Writer
	limits  envelope.Limits
	line    []byte // the last one read

	sending sync.Mutex // taken before mu
	encoder *envelope.Encoder
	waiting int // bytes enqueued since the last flush

	mu      sync.Mutex
	session *envelope.Session
}

// New returns a connection and sends this side's hello. An error says that
// the hello itself is invalid.
func New(r io.Reader, w io.Writer, c Config) (*Conn, error) {
	limits := c.Limits.Resolve()
	n := &Conn{
		reader:  ndjson.NewReader(r, ndjson.ReaderOptions{MaxLineBytes: limits.LineBytes}),
		decoder: envelope.NewDecoder(limits),
		writer:  ndjson.NewWriter(w, ndjson.WriterOptions{}),
		limits:  limits,
		encoder: envelope.NewEncoder(limits, c.Now),
		session: envelope.NewSession(c.Side, c.Capabilities, limits),
	}
	hello := &envelope.Envelope{Kind: envelope.Hello, Capabilities: c.Capabilities, Implementation: c.Implementation}
	if err := n.Answer(hello); err != nil {
		return nil, errors.Join(err, n.writer.Close())
	}
	return n, nil
}

// Next reads the peer's next envelope and says what it asks for. Its Input
// and Output are valid until the next call. Errors are io.EOF, a [*Violation]
// (the line was dropped and reading may go on), and the stream's own.
func (n *Conn) Next() (*envelope.Envelope, envelope.Actions, error) {
	line, err := n.reader.Next()
	if err != nil {
		var long *ndjson.LineTooLongError
		if errors.As(err, &long) {
			return nil, 0, &Violation{envelope.TooLarge(n.limits.LineBytes, long.Size), envelope.Excerpt(long.Head)}
		}
		return nil, 0, err
	}
	if !n.reader.Terminated() {
		return nil, 0, &Violation{envelope.Unterminated(len(line)), envelope.Excerpt(line)}
	}
	n.line = line
	e, err := n.decoder.Decode(line)
	if err != nil {
		var wrong *envelope.Error
		errors.As(err, &wrong)
		return nil, 0, &Violation{wrong, envelope.Excerpt(line)}
	}
	n.mu.Lock()
	do, wrong := n.session.Receive(e)
	n.mu.Unlock()
	if wrong != nil {
		return nil, 0, &Violation{wrong, envelope.Excerpt(line)}
	}
	return e, do, nil
}

// Line is the line of the envelope that Next returned, valid until the next
// call.
func (n *Conn) Line() []byte { return n.line }

// Send judges an own envelope by the session and writes it where the actions
// say so. It waits while much is unwritten already, at most until ctx ends.
// An error of type [*envelope.Error] says what the peer would refuse; then
// nothing changed.
func (n *Conn) Send(ctx context.Context, e *envelope.Envelope) (envelope.Actions, error) {
	n.sending.Lock()
	do, full, err := n.sendLocked(e)
	n.sending.Unlock()
	if err == nil && full {
		// The envelope is on its way, so that a ctx that ends changes nothing.
		_ = n.writer.Flush(ctx)
	}
	return do, err
}

func (n *Conn) sendLocked(e *envelope.Envelope) (do envelope.Actions, full bool, err error) {
	line, err := n.encoder.Encode(e)
	if err != nil {
		return 0, false, err
	}
	n.mu.Lock()
	do, err = n.session.Send(e)
	n.mu.Unlock()
	if err != nil || !do.Has(envelope.Write) {
		return do, false, err
	}
	if n.waiting += len(line); n.waiting > highWaterBytes {
		n.waiting, full = 0, true
	}
	return do, full, n.writer.Write(line)
}

// Answer writes an envelope that the session has settled already: a hello, a
// refusal, a returned cancel, an error of the connection. It doesn't wait.
func (n *Conn) Answer(e *envelope.Envelope) error {
	n.sending.Lock()
	defer n.sending.Unlock()
	line, err := n.encoder.Encode(e)
	if err != nil {
		return err
	}
	return n.writer.Write(line)
}

// Session runs f with the session locked.
func (n *Conn) Session(f func(s *envelope.Session)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.session)
}

// Flush waits until everything sent before is written.
func (n *Conn) Flush(ctx context.Context) error { return n.writer.Flush(ctx) }

// Close stops writing, after what is still queued; it closes no stream. A
// stream that takes nothing holds it back: the user closes that first.
func (n *Conn) Close() error { return n.writer.Close() }
