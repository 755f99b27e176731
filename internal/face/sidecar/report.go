package sidecar

import (
	"fmt"
	"io"
	"sync"
	"time"

	"dragoman/wire/jsonrpc"
)

const (
	reportsMax  = 64              // that wait for a reader of stderr; more are dropped
	reportLimit = 1 * time.Second // for the last ones at the end
)

// A reporter writes reports without ever holding back the reading goroutine:
// nobody may be reading them.
type reporter struct {
	lines chan string
	done  chan struct{}

	mu     sync.Mutex
	closed bool
}

func newReporter(w io.Writer) *reporter {
	r := &reporter{lines: make(chan string, reportsMax), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for line := range r.lines {
			if w != nil {
				_, _ = io.WriteString(w, line+"\n")
			}
		}
	}()
	return r
}

// tell reports one line, unless too many wait or the end has come.
func (r *reporter) tell(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	select {
	case r.lines <- line:
	default:
	}
}

// problem reports a broken line: where, never its content (sidecar.md §1).
func (r *reporter) problem(p jsonrpc.Problem) {
	r.tell(fmt.Sprintf("protocol error from host: line %d: %s at byte %d", p.Line, p.Code, p.Offset))
}

func (r *reporter) close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.lines)
	}
	r.mu.Unlock()
	select {
	case <-r.done:
	case <-time.After(reportLimit):
	}
}
