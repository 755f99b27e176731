package proc

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"dragoman/internal/lane"
)

// holdLimit is how long a stream stays open after the leader's exit when
// something else of its tree still holds the other end (core.md §6, exec).
const holdLimit = time.Second

// A Process is a running child with its tree. It implements [lane.Process].
type Process struct {
	supervisor *Supervisor
	tree       *tree
	streams    *streams

	done   chan struct{} // the leader has exited
	status lane.ExitStatus

	mu      sync.Mutex
	attempt *attempt // the last try to end it
}

// An attempt is one climb of the ladder, shared by all who wait for it.
type attempt struct {
	done chan struct{}
	err  error // valid once done is closed

	hurry sync.Once
	skip  chan struct{}
}

var _ lane.Process = (*Process)(nil)
var _ lane.Starter = (*Supervisor)(nil)

func newProcess(s *Supervisor, t *tree, st *streams) *Process {
	return &Process{supervisor: s, tree: t, streams: st, done: make(chan struct{})}
}

// begin starts the goroutines that live as long as the leader.
func (p *Process) begin() {
	p.supervisor.work.Go(p.watch)
	if p.streams.stderr != nil && p.streams.tail != nil {
		p.supervisor.work.Go(func() { p.streams.stderr.drain(p.streams.tail) })
	}
}

func (p *Process) watch() {
	p.status = p.tree.wait()
	close(p.done)
	p.streams.expire(time.Now().Add(holdLimit))
	p.tree.expire(holdLimit)
}

// Stdin is nil with StdinNull. Closing it is end of input, but on a terminal
// nothing is signalled. A write to a child that has gone returns an error
// that is io.ErrClosedPipe.
func (p *Process) Stdin() io.WriteCloser {
	if p.streams.stdin == nil {
		return nil
	}
	return p.streams.stdin
}

// Stdout is also the terminal's output. It ends when nothing holds its other
// end any more, or within a second of the leader's exit, with all that was
// written till then. It belongs to one reader, who reads it to its end.
func (p *Process) Stdout() io.Reader { return p.streams.stdout }

// Stderr is nil unless the command asked for StderrPipe. It is like Stdout.
func (p *Process) Stderr() io.Reader {
	if p.streams.stderr == nil || p.streams.tail != nil {
		return nil
	}
	return p.streams.stderr
}

// PID returns the leader's process id. It is its group's as well.
func (p *Process) PID() int { return p.tree.leader.pid }

// Exited is closed when the leader has exited.
func (p *Process) Exited() <-chan struct{} { return p.done }

// Status is valid once Exited is closed.
func (p *Process) Status() lane.ExitStatus {
	select {
	case <-p.done:
		return p.status
	default:
		return lane.ExitStatus{}
	}
}

// StderrTail is the last 16 KiB of stderr, valid UTF-8 and without secrets;
// after the exit it has all that the leader wrote. It is empty unless stderr
// is drained.
func (p *Process) StderrTail() string {
	if p.streams.tail == nil {
		return ""
	}
	if p.streams.stderr != nil {
		p.streams.stderr.catchUp(p.streams.tail)
	}
	return p.streams.tail.String()
}

// Interrupt sends SIGINT to the group, or what Ctrl-C would reach in a
// session of its own.
func (p *Process) Interrupt() error { return p.Signal("SIGINT") }

// Signal sends a signal by its name ("SIGINT") to the group; in a session of
// its own to the foreground group of the terminal. The error is
// os.ErrProcessDone when the tree has been ended.
func (p *Process) Signal(name string) error {
	return p.tree.signal(name, p.streams.terminal)
}

// Resize sets the size of the terminal, and tells the foreground group.
func (p *Process) Resize(size Size) error {
	if p.streams.terminal == nil {
		return ErrNoTerminal
	}
	return resize(p.streams.terminal, size)
}

// SetSize is Resize in the units of [lane.TerminalProcess].
func (p *Process) SetSize(cols, rows int) error {
	if cols < 1 || cols > math.MaxUint16 || rows < 1 || rows > math.MaxUint16 {
		return fmt.Errorf("a terminal of %d columns and %d rows isn't possible", cols, rows)
	}
	return p.Resize(Size{Rows: uint16(rows), Cols: uint16(cols)})
}

// Contains reports whether pid is alive in the tree of p, the leader
// included.
func (p *Process) Contains(pid int) bool {
	if pid == p.PID() {
		return !isClosed(p.done)
	}
	others, err := p.tree.others()
	if err != nil {
		return false
	}
	for _, e := range others {
		if e.pid == pid {
			return true
		}
	}
	return false
}

// End ends the whole tree by the ladder of lanes.md §2 and returns when
// nothing of it is left. It is idempotent and safe for concurrent use. When
// ctx ends first, the tree goes on being ended and End can be called again,
// as it can after a [SurvivorError].
func (p *Process) End(ctx context.Context) error {
	return p.await(ctx, p.ending())
}

// Kill is End without the waits; it also hurries an End that is under way.
func (p *Process) Kill(ctx context.Context) error {
	a := p.ending()
	a.hurry.Do(func() { close(a.skip) })
	return p.await(ctx, a)
}

func (p *Process) await(ctx context.Context, a *attempt) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ending returns the attempt that runs, or has succeeded, or a new one.
func (p *Process) ending() *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.attempt; a != nil && (!isClosed(a.done) || a.err == nil) {
		return a
	}
	a := &attempt{done: make(chan struct{}), skip: make(chan struct{})}
	p.attempt = a
	p.supervisor.work.Go(func() {
		defer close(a.done)
		a.err = p.climb(a.skip)
	})
	return a
}

func (p *Process) climb(skip <-chan struct{}) error {
	err := ladder{grace: p.supervisor.grace, hurry: skip}.climb(processSubject{p})
	if err != nil {
		p.supervisor.log.Warn("process tree not ended", "pid", p.PID(), "err", err)
		return err
	}
	p.streams.expire(time.Now())
	p.supervisor.host.release(p.tree)
	p.supervisor.forget(p)
	return nil
}

// processSubject is a Process as the ladder sees it.
type processSubject struct{ *Process }

func (p processSubject) closeInput() bool {
	if p.streams.stdin == nil {
		return false
	}
	p.streams.stdin.Close()
	return p.streams.terminal == nil
}

func (p processSubject) exited() <-chan struct{}  { return p.done }
func (p processSubject) others() ([]entry, error) { return p.tree.others() }
func (p processSubject) terminate(others []entry) { p.tree.terminate(others) }
func (p processSubject) kill(others []entry)      { p.tree.kill(others) }
func (p processSubject) self() entry              { return p.tree.leader }
