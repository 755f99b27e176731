// Package exec serves the exec namespace (core.md §6 "exec"): it runs
// programs for clients, with pipes or a terminal, and keeps their output.
//
// # Output
//
// What a program writes goes into a log on disk first and then, as bulk
// events, to who wants it; a client that doesn't keep up misses events and
// reads the log. So a program is read as fast as its log is written, and one
// that writes a gigabyte costs no more memory than one that writes a line.
//
// # Concurrency
//
// A [Space] may be used from any goroutine. Each run has two goroutines
// a stream and one for its input, which end before the run does; Close ends
// the one that removes old logs.
package exec

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Limits of the namespace.
const (
	// DefaultKeep is how long exec.list knows a process after its end.
	DefaultKeep = 10 * time.Minute
	// stopGrace is how long a process has between SIGTERM and SIGKILL.
	stopGrace = 2 * time.Second
	// sweepLimit bounds the end of a process's tree.
	sweepLimit = 15 * time.Second
)

// A Starter starts processes; proc.Supervisor is one.
type Starter interface {
	// StartRaw starts a child that the caller ends.
	StartRaw(ctx context.Context, c proc.Command) (*proc.Process, error)
}

// Options are what a [Space] works with.
type Options struct {
	// Starter starts the processes.
	Starter Starter
	// Dir holds the logs, of this core's root alone; "" is a folder that goes
	// with the Space.
	Dir string
	// Folder resolves and confines a working folder; "" is the first root. Its
	// error is one of the protocol's.
	Folder func(raw string) (string, error)
	// Pending reports whether a run of exec.run is under way, known to the
	// Space or not yet. Nil knows none.
	Pending func(run string) bool
	// Environ is the core's environment.
	Environ []string
	// Inherit names variables beyond the safe ones (`[env] inherit` of the
	// user's configuration). Nil names none.
	Inherit func() []string
	// Keep is how long ended processes are listed; 0 is DefaultKeep.
	Keep time.Duration
	// Log gets what no error says.
	Log *slog.Logger
}

// A Space serves the namespace.
type Space struct {
	opts Options
	logs *logs
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	runs    map[string]*process
	order   []*process    // by start
	arrived chan struct{} // closed and replaced when a process is added
}

// New makes a space and removes old logs. It is closed by Close.
func New(o Options) (*Space, error) {
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Pending == nil {
		o.Pending = func(string) bool { return false }
	}
	if o.Inherit == nil {
		o.Inherit = func() []string { return nil }
	}
	l, err := openLogs(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Space{opts: o, logs: l, runs: map[string]*process{}, arrived: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wg.Go(func() { s.pruneHourly(ctx) })
	return s, nil
}

// Bind binds the operations.
func (s *Space) Bind(m *op.Mux) {
	core.ExecRun.Stream(m, func(_ context.Context, _ op.Call, p core.ExecRunParams) (op.Work[core.ExecRunResult], error) {
		return op.Work[core.ExecRunResult]{Do: func(ctx context.Context, r op.Run) (core.ExecRunResult, error) {
			return s.Run(ctx, r, p, "")
		}}, nil
	})
	core.ExecWrite.Handle(m, s.write)
	core.ExecResize.Handle(m, s.resize)
	core.ExecSignal.Handle(m, s.signal)
	core.ExecList.Handle(m, s.list)
	core.ExecReadOutput.Handle(m, s.readOutput)
}

// Close stops the removal of old logs, and removes the folder of a Space
// without one of its own. Runs have ended by then. It may be called twice.
func (s *Space) Close() error {
	s.stop()
	s.wg.Wait()
	return s.logs.close()
}

// add makes the process of a run known.
func (s *Space) add(x *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireLocked()
	s.runs[x.run] = x
	s.order = append(s.order, x)
	close(s.arrived)
	s.arrived = make(chan struct{})
}

func (s *Space) expireLocked() {
	old := func(x *process) bool {
		at, ended := x.endedAt()
		return ended && time.Since(at) > s.opts.Keep
	}
	for _, x := range s.order {
		if old(x) {
			delete(s.runs, x.run)
		}
	}
	s.order = slices.DeleteFunc(s.order, func(x *process) bool { return s.runs[x.run] != x })
}

// find returns the process of a run. A run that was acknowledged a moment
// ago is waited for.
func (s *Space) find(ctx context.Context, run string) (*process, error) {
	for {
		pending := s.opts.Pending(run)
		s.mu.Lock()
		x, arrived := s.runs[run], s.arrived
		s.mu.Unlock()
		switch {
		case x != nil:
			return x, nil
		case !pending:
			return nil, op.NotFound("run", run)
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// live reports whether the logs of a run are being written.
func (s *Space) live(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.runs[run]
	if !ok {
		return false
	}
	_, ended := x.endedAt()
	return !ended
}

func (s *Space) pruneHourly(ctx context.Context) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		s.prune()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Space) prune() {
	if err := s.logs.prune(time.Now(), s.live); err != nil {
		s.opts.Log.Warn("old logs aren't removed", "err", err)
	}
}
