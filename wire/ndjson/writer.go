package ndjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrClosed is the error of a Writer that was closed or whose stream is gone.
var ErrClosed = errors.New("writer is closed")

// The shares of waiting output (sidecar.md §3).
const (
	DefaultTotalQuota   = 48 << 20 // bytes, all quotas together
	DefaultSessionQuota = 8 << 20  // bytes, one session
)

const (
	chunkBytes = 128 << 10 // the size of one write
	pushBytes  = 64 << 10  // queued bytes that go out without a Push
)

// chunks are shared by all Writers, so that an idle one holds no memory.
var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// WriterOptions configure a [Writer]. The zero value is ready to use.
type WriterOptions struct {
	// TotalQuota bounds the bytes that wait under all quotas together; 0
	// means DefaultTotalQuota.
	TotalQuota int64
	// MaxLineBytes refuses longer lines with a [*LineTooLongError]; 0 means
	// DefaultMaxLineBytes.
	MaxLineBytes int
}

// A Writer writes whole lines to a stream from one goroutine of its own.
// All methods are safe for concurrent use.
type Writer struct {
	out     io.Writer
	direct  *direct // of out; used under mu while the goroutine is idle
	maxLine int
	done    chan struct{}

	mu     sync.Mutex
	wake   sync.Cond // there is something to do for the goroutine
	queue  []chunk   // what waits, oldest first
	queued int64     // bytes enqueued since the start
	sent   int64     // bytes written since the start
	lazy   bool      // what waits may wait for a Push
	idle   bool      // the goroutine waits
	ending error     // no more lines; why
	drop   bool      // what is queued isn't written any more
	err    error     // why the goroutine ended
	marks  []mark    // Flush calls, oldest first
	quotas quotas
}

// A chunk is a part of the output, cut anywhere.
type chunk struct {
	mem *[chunkBytes]byte
	at  int // so much was written
	n   int // so much is filled
}

// A mark is a place in the output that somebody waits for.
type mark struct {
	at      int64
	reached chan struct{}
}

// NewWriter returns a Writer to w and starts its goroutine, which Close ends.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	if o.TotalQuota <= 0 {
		o.TotalQuota = DefaultTotalQuota
	}
	if o.MaxLineBytes <= 0 {
		o.MaxLineBytes = DefaultMaxLineBytes
	}
	wr := &Writer{out: w, direct: newDirect(w), maxLine: o.MaxLineBytes, done: make(chan struct{})}
	wr.quotas.total.limit = o.TotalQuota
	wr.wake.L = &wr.mu
	go wr.run()
	return wr
}

// Write enqueues one line, given in parts without its LF, which it copies. It
// never blocks. It returns ErrClosed once the Writer has stopped.
func (w *Writer) Write(line ...[]byte) error { return w.enqueue(false, line) }

// Queue is Write without waking the writing goroutine: the line goes out with
// the next Write or Push. A reader uses it until its input runs dry.
func (w *Writer) Queue(line ...[]byte) error { return w.enqueue(true, line) }

func (w *Writer) enqueue(lazy bool, line [][]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending != nil {
		return ErrClosed
	}
	if err := w.check(line); err != nil {
		return err
	}
	w.appendLocked(lazy, line)
	return nil
}

// check refuses what isn't one line within the limit.
func (w *Writer) check(line [][]byte) error {
	size := 0
	for _, part := range line {
		size += len(part)
	}
	if size > w.maxLine {
		return &LineTooLongError{Limit: int64(w.maxLine), Size: int64(size)}
	}
	for _, part := range line {
		if bytes.IndexByte(part, '\n') >= 0 {
			return fmt.Errorf("line of %d bytes contains a line feed", size)
		}
	}
	return nil
}

func (w *Writer) appendLocked(lazy bool, line [][]byte) {
	before := w.queued
	for _, part := range line {
		w.copyLocked(part)
	}
	w.copyLocked(newline)
	if lazy && w.queued-w.sent < pushBytes && (w.lazy || before == w.sent) {
		w.lazy = true
		return
	}
	if lazy {
		w.directLocked()
	}
	w.pushLocked()
}

var newline = []byte{'\n'}

// copyLocked fills the last chunk and adds more as needed.
func (w *Writer) copyLocked(part []byte) {
	w.queued += int64(len(part))
	for len(part) > 0 {
		if n := len(w.queue); n == 0 || w.queue[n-1].n == chunkBytes {
			w.queue = append(w.queue, chunk{mem: chunks.Get().(*[chunkBytes]byte)})
		}
		c := &w.queue[len(w.queue)-1]
		n := copy(c.mem[c.n:], part)
		c.n += n
		part = part[n:]
	}
}

// Push starts writing what was queued: itself as far as that doesn't block,
// which saves waking the goroutine, which gets the rest.
func (w *Writer) Push() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.directLocked()
	w.pushLocked()
}

// directLocked writes what it can without waiting, if the goroutine is idle.
func (w *Writer) directLocked() {
	if !w.idle || w.direct == nil {
		return
	}
	done := 0
	for i := range w.queue {
		c := &w.queue[i]
		n := w.direct.try(c.mem[c.at:c.n])
		c.at += n
		w.sent += int64(n)
		if c.at < c.n {
			break
		}
		chunks.Put(c.mem)
		done++
	}
	if done > 0 {
		rest := copy(w.queue, w.queue[done:])
		clear(w.queue[rest:])
		w.queue = w.queue[:rest]
	}
	w.sentLocked()
}

func (w *Writer) pushLocked() {
	w.lazy = false
	if w.idle && len(w.queue) > 0 {
		w.wake.Signal()
	}
}

// run is the writing goroutine.
func (w *Writer) run() {
	defer close(w.done)
	var batch []chunk
	for {
		batch = w.take(batch)
		if len(batch) == 0 {
			return
		}
		for i, c := range batch {
			_, err := w.out.Write(c.mem[c.at:c.n])
			chunks.Put(c.mem)
			batch[i] = chunk{}
			if !w.wrote(c.n-c.at, err) {
				w.free(batch[i+1:])
				return
			}
		}
		batch = batch[:0]
	}
}

// take waits for something to write and swaps it for the empty batch. It
// returns an empty one at the end.
func (w *Writer) take(batch []chunk) []chunk {
	w.mu.Lock()
	defer w.mu.Unlock()
	for (len(w.queue) == 0 || w.lazy) && w.ending == nil {
		w.idle = true
		w.wake.Wait()
		w.idle = false
	}
	if len(w.queue) == 0 || w.drop {
		w.stopLocked(ErrClosed)
		return nil
	}
	if cap(batch) > maxSpareChunks {
		batch = nil
	}
	taken := w.queue
	w.queue = batch[:0]
	w.lazy = false
	return taken
}

const maxSpareChunks = 64

// wrote accounts for n bytes that were written, or for the end of the stream.
// It reports whether to go on.
func (w *Writer) wrote(n int, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.drop {
		err = ErrClosed
	}
	if err != nil {
		w.stopLocked(err)
		return false
	}
	w.sent += int64(n)
	w.sentLocked()
	return true
}

// sentLocked tells whoever waits for bytes that were written.
func (w *Writer) sentLocked() {
	for len(w.marks) > 0 && w.marks[0].at <= w.sent {
		close(w.marks[0].reached)
		w.marks = w.marks[1:]
	}
	w.quotas.release(w.sent)
	w.admitLocked()
}

// stopLocked ends the Writer: nothing more is taken, and nobody waits any more.
func (w *Writer) stopLocked(err error) {
	if w.ending == nil {
		w.ending = err
	}
	w.err = err
	w.free(w.queue)
	w.queue, w.marks = nil, nil
	w.quotas.abandon()
}

func (w *Writer) free(queue []chunk) {
	for _, c := range queue {
		chunks.Put(c.mem)
	}
}

// Flush waits until everything that was enqueued before has been written. It
// returns the stream's error, ErrClosed after Stop, or ctx's error.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	if w.sent == w.queued {
		w.mu.Unlock()
		return nil
	}
	if w.err != nil {
		defer w.mu.Unlock()
		return w.err
	}
	m := mark{w.queued, make(chan struct{})}
	w.marks = append(w.marks, m)
	w.pushLocked()
	w.mu.Unlock()
	select {
	case <-m.reached:
		return nil
	case <-w.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-m.reached:
		return nil
	default:
		return w.Err()
	}
}

// Pending is how many bytes wait.
func (w *Writer) Pending() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queued - w.sent
}

// Done is closed when the Writer's goroutine has ended.
func (w *Writer) Done() <-chan struct{} { return w.done }

// Err is nil until the Writer has ended, then what ended it: ErrClosed after
// Close or Stop, else the stream's error.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Stop drops what is queued and begins the end, which Done tells. It doesn't
// block, and doesn't interrupt a write that hangs: closing the stream does.
func (w *Writer) Stop() { w.end(true) }

// Close takes no more lines, writes what is queued, and waits for the end. A
// stream that nobody reads holds it up: Stop, or closing the stream, frees it.
// It doesn't close the stream, may be called twice, and returns the stream's
// error.
func (w *Writer) Close() error {
	w.end(false)
	<-w.done
	if err := w.Err(); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

func (w *Writer) end(drop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending == nil {
		w.ending = ErrClosed
	}
	w.drop = w.drop || drop
	w.lazy = false
	w.quotas.abandonWaiters()
	w.wake.Signal()
}
