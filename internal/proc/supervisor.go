package proc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"dragoman/internal/lane"
)

// Options of a [Supervisor].
type Options struct {
	// StateDir is the folder under which the ledger of running children is
	// kept, so that the next start can end what a kill -9 of ours leaves. ""
	// is none.
	StateDir string
	// Log gets what no error says; nil for none.
	Log *slog.Logger
	// Grace is how long each polite rung of the ladder waits; 0 is 2 s.
	Grace time.Duration
}

// A Supervisor starts children and ends them with all that they started. One
// of them serves a whole program: it is made in the composition root, since
// some of what it sets belongs to the operating-system process.
type Supervisor struct {
	log   *slog.Logger
	grace time.Duration
	host  *host // what the system's flavour keeps a Supervisor

	// gate is read-locked during a start and locked to close.
	gate   sync.RWMutex
	closed bool

	// work counts the goroutines of all processes.
	work sync.WaitGroup

	mu        sync.Mutex
	processes map[*Process]struct{}
	seq       uint64
}

// New prepares this process to keep hold of descendants, ends what dead
// instances with the same StateDir left (which takes up to some seconds if
// there is something), and returns a Supervisor that must be closed. A state
// folder that can't be used is logged and done without.
func New(o Options) (*Supervisor, error) {
	s := &Supervisor{log: o.Log, grace: o.Grace, processes: map[*Process]struct{}{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.grace <= 0 {
		s.grace = defaultGrace
	}
	host, err := newHost(o.StateDir, s.log)
	if err != nil {
		return nil, err
	}
	s.host = host
	s.host.begin(s)
	return s, nil
}

// Start is StartRaw for lanes.
func (s *Supervisor) Start(ctx context.Context, c lane.Command) (lane.Process, error) {
	raw := Command{
		Program: c.Program, Args: c.Args, Dir: c.Dir, Env: c.Env,
		Stdin: c.Stdin, SecretValues: c.SecretValues,
	}
	if c.PTY {
		raw.Terminal = RawTerminal
	}
	p, err := s.StartRaw(ctx, raw)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// StartRaw starts a child. ctx only bounds the start: what ends the child is
// [Process.End], which the caller owes also when the child exits by itself.
// The error is a [*StartError], [ErrClosed] or that of ctx.
func (s *Supervisor) StartRaw(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return nil, &StartError{Program: c.Program, Err: ErrClosed}
	}
	p, err := s.start(&c)
	if err != nil {
		return nil, &StartError{Program: c.Program, Err: err}
	}
	return p, nil
}

func (s *Supervisor) start(c *Command) (*Process, error) {
	if err := checkDir(c.Dir); err != nil {
		return nil, err
	}
	path, err := LookPath(c.Program, c.Dir, c.Env)
	if err != nil {
		return nil, err
	}
	streams, err := openStreams(c)
	if err != nil {
		return nil, err
	}
	tree, err := s.host.startTree(c, path, streams.child, s.next())
	streams.closeChild()
	if err != nil {
		streams.closeParent()
		return nil, err
	}
	p := newProcess(s, tree, streams)
	s.mu.Lock()
	s.processes[p] = struct{}{}
	s.mu.Unlock()
	p.begin()
	return p, nil
}

// next returns the number of a start, from 1.
func (s *Supervisor) next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	return s.seq
}

func (s *Supervisor) running() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Process, 0, len(s.processes))
	for p := range s.processes {
		list = append(list, p)
	}
	return list
}

func (s *Supervisor) forget(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.processes, p)
}

// Close ends everything that still runs, takes no further start, and returns
// when nothing is left. It may be called twice, and again after an error,
// which says what is left.
func (s *Supervisor) Close(ctx context.Context) error {
	s.gate.Lock()
	s.closed = true
	s.gate.Unlock()

	running := s.running()
	ended := make(chan error, len(running))
	for _, p := range running {
		go func() { ended <- p.End(ctx) }()
	}
	var errs []error
	for range running {
		errs = append(errs, <-ended)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.work.Wait()
	return s.host.end()
}
