package ndjson

import (
	"fmt"
	"io"
)

// DefaultMaxLineBytes is the longest line in bytes, without its terminator,
// where no other limit is set (sidecar.md §1).
const DefaultMaxLineBytes = 64 << 20

// ReaderOptions configure a [Reader]. The zero value is ready to use.
type ReaderOptions struct {
	// MaxLineBytes is the longest line without its terminator; 0 means
	// [DefaultMaxLineBytes].
	MaxLineBytes int
	// DropBOM drops one byte order mark at the start of the stream (core.md §1).
	DropBOM bool
}

// A LineTooLongError reports a line over the limit. The line was dropped, and
// the next call of [Reader.Next] goes on behind it.
type LineTooLongError struct {
	Limit int64  // the limit in bytes
	Size  int64  // the line's length in bytes, without its terminator
	Head  []byte // its first bytes, at most 4 KiB
	Tail  []byte // its last bytes, at most 4 KiB; may overlap Head
}

// Error names both numbers.
func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("line of %d bytes is over the limit of %d", e.Size, e.Limit)
}

// A Reader cuts a stream into lines. It isn't safe for concurrent use.
type Reader struct{}

// NewReader returns a Reader of r.
func NewReader(r io.Reader, o ReaderOptions) *Reader { panic("todo") }

// Next returns the next line without its LF and one CR before it; blank lines
// are skipped. The bytes are valid until the next call. It returns io.EOF at
// the end, a [*LineTooLongError] for a line that was dropped (reading goes on
// with the next call), and any other error of the stream for good.
func (r *Reader) Next() ([]byte, error) { panic("todo") }

// Terminated reports whether the last line returned ended with LF.
func (r *Reader) Terminated() bool { panic("todo") }

// Line is the number of the last line from 1, blank ones counted.
func (r *Reader) Line() int64 { panic("todo") }

// Buffered reports whether a whole further line is in memory already.
func (r *Reader) Buffered() bool { panic("todo") }

// TooLong is how many lines were dropped for their length.
func (r *Reader) TooLong() int64 { panic("todo") }
