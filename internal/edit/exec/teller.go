package exec

import (
	"sync"
	"time"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// maxUntold is how much output of a stream waits to be made into events, in
// bytes. What a program writes faster is skipped, and stays in the log.
const maxUntold = 4 << 20

// catchUp is how long output is skipped at least: nobody reads what comes
// faster than this allows, and making events of it would slow the program.
const catchUp = 100 * time.Millisecond

// A teller makes output into events beside the reading, so that a program is
// read as fast as its log is written.
type teller struct {
	run    op.Run
	stream core.OutputStream
	wake   chan struct{}

	mu     sync.Mutex
	queue  []piece
	size   int
	behind bool
	since  time.Time // of being behind
	next   int64     // behind all that was pushed
	ended  bool
}

// A piece is output at an offset; without any, a place to skip to.
type piece struct {
	b  []byte
	at int64
}

func newTeller(r op.Run, stream core.OutputStream) *teller {
	return &teller{run: r, stream: stream, wake: make(chan struct{}, 1)}
}

// push takes a copy of output, or notes that it is skipped: then for a while, and
// until half of the room is free.
func (t *teller) push(b []byte, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = at + int64(len(b))
	if t.behind && (t.size > maxUntold/2 || time.Since(t.since) < catchUp) {
		return
	}
	if t.size > 0 && t.size+len(b) > maxUntold {
		t.behind, t.since = true, time.Now()
		return
	}
	if t.behind {
		t.behind = false
		t.queue = append(t.queue, piece{at: at})
	}
	t.queue = append(t.queue, piece{append([]byte(nil), b...), at})
	t.size += len(b)
	t.signal()
}

// end says that nothing more comes.
func (t *teller) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.signal()
}

func (t *teller) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// pop takes the next piece; false: the queue is empty.
func (t *teller) pop() (p piece, ok, ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) > 0 {
		p, t.queue = t.queue[0], t.queue[1:]
		t.size -= len(p.b)
		return p, true, false
	}
	if t.ended && t.behind {
		t.behind = false
		return piece{at: t.next}, true, false
	}
	return p, false, t.ended
}

// serve tells until the end.
func (t *teller) serve() {
	for {
		p, ok, ended := t.pop()
		switch {
		case ok:
			t.tell(p)
		case ended:
			return
		default:
			<-t.wake
		}
	}
}

func (t *teller) tell(p piece) {
	e := core.ExecOutputParams{Run: t.run.ID(), Stream: t.stream}
	if p.b == nil {
		e.SkippedTo = &p.at
	} else {
		e.Offset = &p.at
		e.Text, e.Base64 = content(p.b)
	}
	t.run.Bulk(core.ExecOutput.With(e), op.Mark{Stream: string(t.stream), Next: p.at + int64(len(p.b))})
}
