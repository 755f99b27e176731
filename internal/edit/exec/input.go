package exec

import (
	"io"
	"sync"

	"dragoman/wire/op"
)

// maxInput is how many bytes may wait for a process that doesn't read.
const maxInput = 16 << 20

// eot is what a terminal takes for the end of input.
const eot = '\x04'

// An input is what waits for a process's standard input, in order, so that
// exec.write never waits for the process.
type input struct {
	mu     sync.Mutex
	queue  [][]byte
	size   int
	ended  bool // no more comes
	broken bool // the process doesn't take any more
	wake   chan struct{}
}

func newInput() *input { return &input{wake: make(chan struct{}, 1)} }

// fill is all the input there will be.
func (i *input) fill(b []byte) {
	i.queue, i.size, i.ended = [][]byte{b}, len(b), true
	i.wake <- struct{}{}
}

// push adds to the input. It refuses what comes behind the end, and what is
// too much to wait.
func (i *input) push(b []byte, eof bool) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.ended || i.broken:
		return op.Fail(op.CodeIO, "the input has ended").With("errno", "EPIPE")
	case i.size > 0 && i.size+len(b) > maxInput:
		return op.Fail(op.CodeOverloaded, "%d bytes of input wait already, the limit is %d", i.size, maxInput)
	}
	i.queue = append(i.queue, b)
	i.size += len(b)
	i.ended = eof
	select {
	case i.wake <- struct{}{}:
	default:
	}
	return nil
}

// next takes what waits; last tells that nothing follows.
func (i *input) next() (queue [][]byte, last bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	queue, i.queue = i.queue, nil
	return queue, i.ended
}

// wrote makes room; with an error the process takes no more.
func (i *input) wrote(n int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.size -= n
	if err != nil {
		i.broken = true
	}
}

// serve writes what comes until the end of the input or the process. A
// terminal is told the end by a character.
func (i *input) serve(w io.WriteCloser, terminal bool, exited <-chan struct{}) {
	defer w.Close()
	last := byte('\n')
	for {
		select {
		case <-i.wake:
		case <-exited:
			i.wrote(0, io.ErrClosedPipe)
			return
		}
		queue, end := i.next()
		for _, b := range queue {
			n, err := w.Write(b)
			i.wrote(len(b), err)
			if err != nil {
				return
			}
			if n > 0 {
				last = b[n-1]
			}
		}
		if !end {
			continue
		}
		if terminal {
			endTerminal(w, last)
		}
		return
	}
}

// endTerminal types the end of input: twice within a line, where the first
// one only hands the line over.
func endTerminal(w io.Writer, last byte) {
	b := []byte{eot, eot}
	if last == '\n' || last == '\r' {
		b = b[:1]
	}
	_, _ = w.Write(b) // a process that is gone needs no end
}
