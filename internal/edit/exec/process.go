package exec

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A process is what a run of exec.run started, or tries to.
type process struct {
	run, session string
	argv         []string
	pty          bool
	startedAt    time.Time
	streams      []*stream
	in           *input // nil without input

	// started is closed when child is set, or never will be.
	started chan struct{}
	// room is how many bytes of output may still go out as events.
	room      atomic.Int64
	truncated atomic.Bool

	mu    sync.Mutex
	cwd   string
	child *proc.Process
	state core.RunState
	exit  *int
	ended time.Time
}

func newProcess(run, session string, p core.ExecRunParams) *process {
	x := &process{
		run: run, session: session, argv: p.Argv, pty: p.PTY != nil, cwd: p.Cwd,
		startedAt: time.Now().UTC(), state: core.RunStateRunning, started: make(chan struct{}),
	}
	names := []core.OutputStream{core.Stdout, core.Stderr}
	if x.pty {
		names = []core.OutputStream{core.PTY}
	}
	for _, n := range names {
		x.streams = append(x.streams, &stream{name: n, done: make(chan struct{})})
	}
	switch {
	case p.Stdin.Content != nil:
		x.in = newInput()
		x.in.fill(p.Stdin.Content.Bytes())
	case p.Stdin.Word == "open" || x.pty:
		x.in = newInput()
	}
	x.room.Store(1 << 62)
	if p.MaxBytes != nil {
		x.room.Store(*p.MaxBytes)
	}
	return x
}

func (x *process) stream(name core.OutputStream) (*stream, bool) {
	i := slices.IndexFunc(x.streams, func(s *stream) bool { return s.name == name })
	if i < 0 {
		return nil, false
	}
	return x.streams[i], true
}

func (x *process) bytes() (n int64) {
	for _, s := range x.streams {
		n += s.total.Load()
	}
	return n
}

func (x *process) endedAt() (time.Time, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended, !x.ended.IsZero()
}

func (x *process) setState(s core.RunState) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state = s
}

// running returns the child once it was started; not_found when it is gone.
func (x *process) running(ctx context.Context) (*proc.Process, error) {
	select {
	case <-x.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.child == nil || !x.ended.IsZero() {
		return nil, op.NotFound("process", x.run)
	}
	return x.child, nil
}

func (x *process) info() core.ExecInfo {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := core.ExecInfo{
		Run: x.run, Argv: x.argv, Cwd: x.cwd, PTY: x.pty, State: x.state, ExitCode: x.exit,
		Bytes: x.bytes(), Session: x.session, StartedAt: x.startedAt,
	}
	if x.child != nil {
		i.PID = x.child.PID()
	}
	return i
}

// Run runs a program as the run r until it and what it started are gone.
// session is the agent session that it belongs to, "" for none. The errors
// are those of exec.run.
func (s *Space) Run(ctx context.Context, r op.Run, p core.ExecRunParams, session string) (core.ExecRunResult, error) {
	x := newProcess(r.ID(), session, p)
	s.add(x)
	defer s.retire(x)
	child, err := s.start(ctx, x, p)
	if err != nil {
		return core.ExecRunResult{}, err
	}
	return s.follow(ctx, r, x, child, p)
}

// retire notes that nothing more comes of a process.
func (s *Space) retire(x *process) {
	for _, st := range x.streams {
		st.close()
	}
	x.mu.Lock()
	x.state, x.ended = core.RunStateEnded, time.Now()
	x.mu.Unlock()
	select {
	case <-x.started:
	default:
		close(x.started)
	}
	s.prune()
}

func (s *Space) start(ctx context.Context, x *process, p core.ExecRunParams) (*proc.Process, error) {
	cwd, err := s.opts.Folder(p.Cwd)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.cwd = cwd
	x.mu.Unlock()
	if err := s.logs.begin(x); err != nil {
		return nil, op.IO(err, "the log of the output")
	}
	c := proc.Command{
		Program: p.Argv[0], Args: p.Argv[1:], Dir: cwd, Env: s.environ(p),
		Stdin: lane.StdinNull, Stderr: proc.StderrPipe,
	}
	if x.in != nil {
		c.Stdin = lane.StdinPipe
	}
	if p.PTY != nil {
		c.Terminal, c.Size = proc.SessionTerminal, proc.Size{Rows: p.PTY.Rows, Cols: p.PTY.Cols}
	}
	child, err := s.opts.Starter.StartRaw(ctx, c)
	if err != nil {
		return nil, startError(err, p.Argv[0], cwd)
	}
	x.mu.Lock()
	x.child = child
	x.mu.Unlock()
	close(x.started)
	return child, nil
}

// startError is the protocol's form of a start that failed.
func startError(err error, program, cwd string) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, proc.ErrClosed):
		return op.Cancelled("shutdown")
	case errors.Is(err, proc.ErrNoTerminal):
		return op.Unsupported("there are no terminals on this system")
	case errors.Is(err, proc.ErrDir):
		return op.IO(err, cwd)
	case errors.Is(err, fs.ErrNotExist):
		return op.NotFound("program", program)
	case errors.As(err, &errno):
		return op.IO(errno, program)
	case errors.Is(err, fs.ErrPermission):
		return op.IO(syscall.EACCES, program)
	}
	return op.IO(err, program)
}

// follow carries the streams until the child has ended and its tree is gone.
func (s *Space) follow(ctx context.Context, r op.Run, x *process, child *proc.Process, p core.ExecRunParams) (core.ExecRunResult, error) {
	var work sync.WaitGroup
	x.carry(&work, r, child)
	if x.in != nil {
		work.Go(func() { x.in.serve(child.Stdin(), x.pty, child.Exited()) })
	}
	why := s.await(ctx, x, child, p.TimeoutMs)
	survivors := sweep(child, why)
	work.Wait()
	status := child.Status()
	result := core.ExecRunResult{
		Signal: status.Signal, TimedOut: why == endTimeout, Truncated: x.truncated.Load(),
		Bytes: x.bytes(), Survivors: survivors,
	}
	if status.Signal == "" {
		result.ExitCode = &status.Code
		x.mu.Lock()
		x.exit = &status.Code
		x.mu.Unlock()
	}
	if why == endCancel {
		e := op.Cancelled("").With("bytes", result.Bytes)
		if status.Signal != "" {
			e = e.With("signal", status.Signal)
		}
		return result, e
	}
	return result, nil
}

// An ending is why a process ends.
type ending int

const (
	endExit ending = iota
	endTimeout
	endCancel
)

// await waits until the child has exited and its output has ended, or asks
// it to end because of a timeout or a cancel.
func (s *Space) await(ctx context.Context, x *process, child *proc.Process, timeoutMs *int64) ending {
	var late <-chan time.Time
	if timeoutMs != nil {
		timer := time.NewTimer(time.Duration(min(*timeoutMs, maxTimeoutMs)) * time.Millisecond)
		defer timer.Stop()
		late = timer.C
	}
	why := endExit
	select {
	case <-child.Exited():
		// What it wrote is read to its end, a second after the exit at most.
		for _, st := range x.streams {
			<-st.done
		}
		return endExit
	case <-late:
		why = endTimeout
	case <-ctx.Done():
		why = endCancel
	}
	x.setState(core.RunStateEnding)
	_ = child.Signal("SIGTERM") // gone already is well
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-child.Exited():
	case <-grace.C:
	}
	return why
}

// maxTimeoutMs keeps a timeout within what a Duration holds.
const maxTimeoutMs = int64(1<<63-1) / int64(time.Millisecond)

// sweep ends what is left of the tree and returns what couldn't be ended.
func sweep(child *proc.Process, why ending) []int {
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	end := child.End
	if why != endExit {
		end = child.Kill
	}
	var left *proc.SurvivorError
	if errors.As(end(ctx), &left) {
		return left.PIDs
	}
	return []int{}
}
