package ndjson

import (
	"bytes"
	"fmt"
	"io"
)

// DefaultMaxLineBytes is the longest line in bytes, without its terminator,
// where no other limit is set (sidecar.md §1).
const DefaultMaxLineBytes = 64 << 20

const (
	minReadBytes  = 16 << 10  // the first buffer of a Reader
	fullReadBytes = 256 << 10 // the buffer of a Reader whose reads fill it
	maxKeptBytes  = 1 << 20   // larger buffers live for one line
	skipReadBytes = 64 << 10  // reads while an overlong line is dropped
	keptEndBytes  = 4 << 10   // of an overlong line's head and tail
	cheapMove     = 4 << 10   // an unfinished line up to here is moved before each read
	maxEmptyReads = 100       // reads of nothing in a row before io.ErrNoProgress
)

// ReaderOptions configure a [Reader]. The zero value is ready to use.
type ReaderOptions struct {
	// MaxLineBytes is the longest line without its terminator, below 2 GiB;
	// 0 means [DefaultMaxLineBytes].
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
type Reader struct {
	src   io.Reader
	limit int
	bom   bool // a byte order mark may come

	buf     []byte // the whole buffer; small, or region
	small   []byte // the buffer that is kept between lines
	region  []byte // pages for lines over maxKeptBytes, nil until needed
	start   int    // of what wasn't returned yet
	end     int    // of what was read
	seen    int    // no LF in buf[start:seen]
	newline int    // index of the LF behind start, -1 if not looked for or found

	err        error // of the stream, once everything before it was returned
	line       int64
	tooLong    int64
	terminated bool
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader, o ReaderOptions) *Reader {
	if o.MaxLineBytes <= 0 {
		o.MaxLineBytes = DefaultMaxLineBytes
	}
	return &Reader{src: r, limit: min(o.MaxLineBytes, maxScanBytes), bom: o.DropBOM, newline: -1}
}

// Next returns the next line without its LF and one CR before it; empty lines
// are skipped. The bytes are valid until the next call. It returns io.EOF at
// the end, a [*LineTooLongError] for a line that was dropped (reading goes on
// with the next call), and any other error of the stream for good.
func (r *Reader) Next() ([]byte, error) {
	r.release()
	for {
		if r.find() {
			line := r.take(r.newline, 1)
			if len(line) > r.limit {
				return nil, r.refuse(line)
			}
			if len(line) > 0 {
				return line, nil
			}
			continue
		}
		if r.end-r.start > r.limit+1 { // one more, for it may be a CR
			return nil, r.skip()
		}
		if r.err != nil {
			return r.last()
		}
		r.fill()
	}
}

// last returns what stands behind the last LF once the stream has ended.
func (r *Reader) last() ([]byte, error) {
	if r.start == r.end || r.err != io.EOF {
		r.start = r.end
		return nil, r.err
	}
	line := r.take(r.end, 0)
	if len(line) > r.limit {
		return nil, r.refuse(line)
	}
	if len(line) == 0 {
		return nil, r.err
	}
	return line, nil
}

// take consumes the bytes up to end and a terminator of n bytes.
func (r *Reader) take(end, n int) []byte {
	line := r.buf[r.start:end:end]
	r.start, r.newline, r.terminated = end+n, -1, n > 0
	r.seen = r.start
	r.line++
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	return line
}

// find looks for the next LF in what was read.
func (r *Reader) find() bool {
	if r.newline >= 0 {
		return true
	}
	if i := bytes.IndexByte(r.buf[r.seen:r.end], '\n'); i >= 0 {
		r.newline = r.seen + i
		return true
	}
	r.seen = r.end
	return false
}

// Terminated reports whether the last line returned ended with LF.
func (r *Reader) Terminated() bool { return r.terminated }

// Line is the number of the last line from 1, empty ones counted.
func (r *Reader) Line() int64 { return r.line }

// TooLong is how many lines were dropped for their length.
func (r *Reader) TooLong() int64 { return r.tooLong }

// Buffered reports whether the next line is in memory already, so that the
// next call of Next doesn't read. It leaves the last line valid.
func (r *Reader) Buffered() bool {
	for r.find() {
		n := r.newline - r.start
		if n > 1 || n == 1 && r.buf[r.start] != '\r' {
			return true
		}
		r.start, r.newline = r.newline+1, -1 // an empty line
		r.seen = r.start
		r.line++
	}
	return false
}

// fill reads once, after making room. It never reads far beyond a large line,
// so that no more of the region is touched than needed.
func (r *Reader) fill() {
	if n := r.end - r.start; r.start > 0 && n <= cheapMove {
		r.move(r.buf) // the same few pages stay in the processor's cache
	} else if r.end == len(r.buf) {
		r.grow()
	}
	r.read(min(len(r.buf), r.end+fullReadBytes))
	r.dropBOM()
}

// read reads once into buf[end:limit].
func (r *Reader) read(limit int) {
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:limit])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

func (r *Reader) dropBOM() {
	const bom = "\ufeff"
	if !r.bom || r.end < len(bom) && r.err == nil && bytes.HasPrefix([]byte(bom), r.buf[:r.end]) {
		return
	}
	r.bom = false
	if bytes.HasPrefix(r.buf[r.start:r.end], []byte(bom)) {
		r.start += len(bom)
		r.seen = max(r.seen, r.start)
	}
}

// grow makes room behind end: by moving an unfinished line to the front, or in
// a larger buffer. Reads that fill the buffer make it grow, too, up to
// fullReadBytes.
func (r *Reader) grow() {
	pending := r.end - r.start
	size := len(r.buf)
	switch {
	case size == 0:
		size = minReadBytes
	case size < fullReadBytes:
		size *= 2
	case pending > size/2 && size < maxKeptBytes:
		size *= 2
	case pending > size/2 && len(r.region) != size:
		r.move(r.large(2 * size))
		return
	}
	if size == len(r.buf) {
		r.move(r.buf)
		return
	}
	r.small = make([]byte, size)
	r.move(r.small)
}

// large returns a buffer for one line of over maxKeptBytes: pages that hold
// the longest line, and cost only what is touched, or else size bytes.
func (r *Reader) large(size int) []byte {
	if r.region == nil {
		r.region = reserve(r, r.limit+2+skipReadBytes)
	}
	if r.region == nil {
		return make([]byte, size)
	}
	return r.region
}

// move takes the pending bytes to the front of buf.
func (r *Reader) move(buf []byte) {
	n := copy(buf, r.buf[r.start:r.end])
	if r.newline >= 0 {
		r.newline -= r.start
	}
	r.buf, r.seen, r.start, r.end = buf, r.seen-r.start, 0, n
}

// release goes back to the small buffer after a large line, once what was read
// beyond that line fits.
func (r *Reader) release() {
	if r.start == r.end {
		r.start, r.end, r.seen, r.newline = 0, 0, 0, -1
	}
	if len(r.buf) <= maxKeptBytes || r.end-r.start > len(r.small)/2 {
		return
	}
	large := r.buf
	r.move(r.small)
	if len(large) == len(r.region) {
		forget(large)
	}
}

// refuse counts a line over the limit that is in memory as a whole.
func (r *Reader) refuse(line []byte) error {
	r.tooLong++
	return &LineTooLongError{
		Limit: int64(r.limit), Size: int64(len(line)),
		Head: bytes.Clone(line[:min(len(line), keptEndBytes)]),
		Tail: bytes.Clone(line[max(0, len(line)-keptEndBytes):]),
	}
}

// skip drops the line that is being read, in constant memory.
func (r *Reader) skip() error {
	pending := r.buf[r.start:r.end]
	size := int64(len(pending))
	head := bytes.Clone(pending[:min(len(pending), keptEndBytes)])
	tail := bytes.Clone(pending[max(0, len(pending)-keptEndBytes):])
	r.start, r.seen = r.end, r.end
	r.release()
	if len(r.buf) < skipReadBytes {
		r.small = make([]byte, skipReadBytes)
		r.buf = r.small
	}
	for !r.find() && r.err == nil {
		r.start, r.end, r.seen = 0, 0, 0
		r.read(skipReadBytes)
		part := r.buf[:r.end]
		if r.find() {
			part = part[:r.newline]
		}
		size += int64(len(part))
		tail = keepTail(tail, part)
	}
	end, n := r.end, 0
	if r.newline >= 0 {
		end, n = r.newline, 1
	}
	r.take(end, n)
	if len(tail) > 0 && tail[len(tail)-1] == '\r' {
		tail, size = tail[:len(tail)-1], size-1
	}
	r.tooLong++
	return &LineTooLongError{Limit: int64(r.limit), Size: size, Head: head, Tail: tail}
}

// keepTail returns the last bytes of tail and part together.
func keepTail(tail, part []byte) []byte {
	if len(part) >= keptEndBytes {
		return append(tail[:0], part[len(part)-keptEndBytes:]...)
	}
	if drop := len(tail) + len(part) - keptEndBytes; drop > 0 {
		tail = append(tail[:0], tail[drop:]...)
	}
	return append(tail, part...)
}
