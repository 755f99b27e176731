package lanetest

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"dragoman/internal/lane"
)

// endGrace is how long [Process.End] waits after it closed stdin before it
// kills, the first rung of lanes.md §2.
const endGrace = 2 * time.Second

// A Program is an agent as a function: it runs until it returns its exit
// status. ctx ends when the process is killed, and the streams fail then,
// too; a Program must return soon after.
type Program func(ctx context.Context, p Stdio) lane.ExitStatus

// Stdio is what a [Program] sees of its process.
type Stdio struct {
	lane.Command
	// In is empty with lane.StdinNull.
	In       io.Reader
	Out, Err io.Writer
	// Interrupted is closed at SIGINT, which a Program may ignore.
	Interrupted <-chan struct{}
}

// A Starter is a [lane.Starter] whose children run program in goroutines. It
// is safe for concurrent use.
type Starter struct {
	program Program

	mu      sync.Mutex
	started []*Process
}

// PipeStarter returns a Starter of program.
func PipeStarter(program Program) *Starter { return &Starter{program: program} }

// MissingProgram is a Command.Program that every Starter lacks.
const MissingProgram = "/nonexistent/agent"

// Start runs the program with c. It fails as proc does when c.Program is
// [MissingProgram], or ctx has ended.
func (s *Starter) Start(ctx context.Context, c lane.Command) (lane.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.Program == MissingProgram {
		return nil, &fs.PathError{Op: "start", Path: c.Program, Err: fs.ErrNotExist}
	}
	p := newProcess(c)
	s.mu.Lock()
	s.started = append(s.started, p)
	p.pid = len(s.started)
	s.mu.Unlock()
	go p.run(s.program)
	return p, nil
}

// Started returns every process so far.
func (s *Starter) Started() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Process(nil), s.started...)
}

// Running counts the processes that haven't exited.
func (s *Starter) Running() int {
	n := 0
	for _, p := range s.Started() {
		select {
		case <-p.exited:
		default:
			n++
		}
	}
	return n
}

// A Process is a running [Program].
type Process struct {
	// Command is what it was started with.
	Command lane.Command

	pid         int
	in, out     *pipe
	ctx         context.Context
	kill        context.CancelFunc
	interrupted chan struct{}
	exited      chan struct{}
	status      lane.ExitStatus // valid once exited is closed

	mu            sync.Mutex
	stderr        []byte
	interruptions int
}

func newProcess(c lane.Command) *Process {
	p := &Process{
		Command: c, in: newPipe(), out: newPipe(),
		interrupted: make(chan struct{}), exited: make(chan struct{}),
	}
	p.ctx, p.kill = context.WithCancel(context.Background())
	if c.Stdin == lane.StdinNull {
		p.in.Close()
	}
	return p
}

func (p *Process) run(program Program) {
	status := program(p.ctx, Stdio{
		Command: p.Command, In: p.in, Out: p.out, Err: (*stderr)(p), Interrupted: p.interrupted,
	})
	if p.ctx.Err() != nil {
		status = lane.ExitStatus{Code: -1, Signal: "SIGKILL"}
	}
	p.status = status
	p.kill()
	p.in.breakOff()
	p.out.Close()
	close(p.exited)
}

// stderr is a Process as the writer of its stderr.
type stderr Process

func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stderr = append(s.stderr, b...)
	return len(b), nil
}

// Stdin is the child's; nil with lane.StdinNull.
func (p *Process) Stdin() io.WriteCloser {
	if p.Command.Stdin == lane.StdinNull {
		return nil
	}
	return p.in
}

// Stdout is the child's.
func (p *Process) Stdout() io.Reader { return p.out }

// PID is a number from 1.
func (p *Process) PID() int { return p.pid }

// Exited is closed when the program has returned.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status is valid once Exited is closed.
func (p *Process) Status() lane.ExitStatus { return p.status }

// StderrTail is all of stderr.
func (p *Process) StderrTail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ToValidUTF8(string(p.stderr), "\uFFFD")
}

// Interrupt tells the program, which decides what it makes of it.
func (p *Process) Interrupt() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.interruptions == 0 {
		close(p.interrupted)
	}
	p.interruptions++
	return nil
}

// Interruptions counts the calls of Interrupt.
func (p *Process) Interruptions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interruptions
}

// End closes stdin, waits, and kills; at once where there is no stdin to close.
func (p *Process) End(ctx context.Context) error {
	if p.Stdin() == nil {
		return p.Kill(ctx)
	}
	p.in.Close()
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.Kill(ctx)
}

// Kill ends the context and breaks the streams of the program, and waits for
// its return.
func (p *Process) Kill(context.Context) error {
	p.kill()
	p.in.breakOff()
	p.out.Close()
	<-p.exited
	return nil
}
