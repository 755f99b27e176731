package lanetest

import (
	"io"
	"sync"
)

// pipeBytes is what a pipe holds before its writer waits, as on Linux.
const pipeBytes = 64 << 10

// A pipe is a bounded pipe in memory. Unlike io.Pipe a write that fits
// doesn't wait for a reader, and unlike a file its waiting counts as blocked
// in a synctest bubble.
type pipe struct {
	mu     sync.Mutex
	moved  *sync.Cond
	data   []byte
	closed bool // by the writer: EOF after what is there
	broken bool // by the reader: writes fail
}

func newPipe() *pipe {
	p := &pipe{}
	p.moved = sync.NewCond(&p.mu)
	return p
}

// Read waits for data or the end.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.data) == 0 && !p.closed && !p.broken {
		p.moved.Wait()
	}
	if len(p.data) == 0 || p.broken {
		return 0, io.EOF
	}
	n := copy(b, p.data)
	p.data = p.data[n:]
	p.moved.Broadcast()
	return n, nil
}

// Write waits until all of b is in the pipe, or the pipe is closed.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := 0
	for {
		if p.closed || p.broken {
			return done, io.ErrClosedPipe
		}
		if room := pipeBytes - len(p.data); room > 0 {
			n := min(room, len(b)-done)
			p.data = append(p.data, b[done:done+n]...)
			done += n
			p.moved.Broadcast()
		}
		if done == len(b) {
			return done, nil
		}
		p.moved.Wait()
	}
}

// Close ends the writing side. It may be called twice.
func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.moved.Broadcast()
	return nil
}

// breakOff ends the reading side: what is in the pipe is lost.
func (p *pipe) breakOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken, p.data = true, nil
	p.moved.Broadcast()
}
