package exec

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// readSize is how much output is read at a time, in bytes.
const readSize = 256 << 10

// A stream is one stream of a process's output.
type stream struct {
	name core.OutputStream
	// total is what was read, kept what is in the log.
	total, kept atomic.Int64
	// done is closed when the stream has ended.
	done chan struct{}

	file *os.File
	quit sync.Once
}

// close gives the log's file back.
func (st *stream) close() {
	if st.file != nil {
		st.quit.Do(func() { st.file.Close() })
	}
}

// ended reports whether nothing more comes.
func (st *stream) ended() bool {
	select {
	case <-st.done:
		return true
	default:
		return false
	}
}

// carry starts the goroutines of each stream: one reads, one tells.
func (x *process) carry(work *sync.WaitGroup, r op.Run, child *proc.Process) {
	sources := []io.Reader{child.Stdout(), child.Stderr()}
	left := new(atomic.Int64)
	left.Store(MaxLogBytes)
	for i, st := range x.streams {
		told := newTeller(r, st.name)
		work.Go(told.serve)
		work.Go(func() {
			defer close(st.done)
			defer told.end()
			x.pump(told, st, sources[i], left)
		})
	}
}

// pump reads a stream to its end, writes it into the log and tells it.
func (x *process) pump(to *teller, st *stream, src io.Reader, left *atomic.Int64) {
	buf := make([]byte, readSize+utf8.UTFMax)
	held := 0 // the start of a character whose rest hasn't come
	for {
		n, err := src.Read(buf[held : held+readSize])
		x.keep(st, buf[held:held+n], left)
		whole := held + n
		if err == nil {
			whole -= partial(buf[:whole])
		}
		at := st.total.Add(int64(n)) - int64(held+n)
		x.tell(to, buf[:whole], at)
		held = copy(buf, buf[whole:held+n])
		if err != nil {
			return
		}
	}
}

// keep appends to the log, as far as there is room for the run.
func (x *process) keep(st *stream, b []byte, left *atomic.Int64) {
	if len(b) == 0 {
		return
	}
	if over := -left.Add(-int64(len(b))); over > 0 {
		x.truncated.Store(true)
		b = b[:max(int64(len(b))-over, 0)]
	}
	if st.kept.Load() < st.total.Load() {
		return // the log has ended: nothing goes behind a gap
	}
	n, err := st.file.Write(b)
	st.kept.Add(int64(n))
	if err != nil {
		x.truncated.Store(true)
	}
}

// tell hands output that starts at offset at of its stream to the teller, as
// far as the run's ceiling goes.
func (x *process) tell(to *teller, b []byte, at int64) {
	if len(b) == 0 {
		return
	}
	if over := -x.room.Add(-int64(len(b))); over > 0 {
		x.truncated.Store(true)
		b = b[:max(int64(len(b))-over, 0)]
		b = b[:len(b)-partial(b)]
		if len(b) == 0 {
			return
		}
	}
	to.push(b, at)
}

// content is text, or bytes for what isn't UTF-8.
func content(b []byte) (*string, []byte) {
	if !utf8.Valid(b) {
		return nil, b
	}
	text := string(b)
	return &text, nil
}

// partial is how many bytes at the end of b are the start of a character
// whose rest isn't there.
func partial(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}
