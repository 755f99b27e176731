package ndjson

import (
	"context"
	"errors"
	"io"
)

// ErrClosed is the error of a Writer that was closed or whose stream is gone.
var ErrClosed = errors.New("writer is closed")

// The shares of waiting output (sidecar.md §3).
const (
	DefaultTotalQuota   = 48 << 20 // bytes, all quotas together
	DefaultSessionQuota = 8 << 20  // bytes, one session
)

// WriterOptions configure a [Writer]. The zero value is ready to use.
type WriterOptions struct {
	// TotalQuota bounds the bytes that wait under all quotas together; 0
	// means DefaultTotalQuota.
	TotalQuota int64
	// MaxLineBytes refuses longer lines with a *LineTooLongError; 0 means
	// DefaultMaxLineBytes.
	MaxLineBytes int
}

// A Writer writes whole lines to a stream from one goroutine of its own.
// All methods are safe for concurrent use.
type Writer struct{}

// NewWriter returns a Writer to w and starts its goroutine, which Close ends.
func NewWriter(w io.Writer, o WriterOptions) *Writer { panic("todo") }

// Write enqueues one line, given in parts without its LF, which it copies. It
// never blocks. It returns ErrClosed once the Writer has stopped.
func (w *Writer) Write(line ...[]byte) error { panic("todo") }

// Queue is Write without waking the writing goroutine: the line goes out with
// the next Write or Push. A reader uses it until its input runs dry.
func (w *Writer) Queue(line ...[]byte) error { panic("todo") }

// Push starts writing what was queued.
func (w *Writer) Push() { panic("todo") }

// A Quota is one sender's share of a Writer's queue.
type Quota struct{}

// Quota returns a new share of limit bytes, or of one line if that is larger.
func (w *Writer) Quota(limit int64) *Quota { panic("todo") }

// WriteQuota is Write that first waits until q and the writer's total have
// room. Lines of one quota keep the order of the calls.
func (w *Writer) WriteQuota(ctx context.Context, q *Quota, line ...[]byte) error { panic("todo") }

// Flush waits until everything that was enqueued before has been written.
func (w *Writer) Flush(ctx context.Context) error { panic("todo") }

// Done is closed when the Writer has stopped.
func (w *Writer) Done() <-chan struct{} { panic("todo") }

// Err is nil until Done is closed, then what stopped the Writer: ErrClosed
// after Close, else the stream's error.
func (w *Writer) Err() error { panic("todo") }

// Close stops the Writer, writing what is still queued. It doesn't close the
// stream. It may be called twice.
func (w *Writer) Close() error { panic("todo") }
