// Package git serves the git namespace (core.md §6 "git") over the git
// binary: every answer is git's own, and everything that could run a
// program, ask a person or change something unasked is switched off for each
// call.
//
// # Calls
//
// [Space.run] is the only place where git is started. No call is made unless
// a client asked for something: what tells git.changed looks at files alone.
// Paths are relative to the repository's top, literal, and never beyond the
// roots.
//
// # Concurrency
//
// A [Space] may be used from any goroutine. What changes a repository runs
// one after the other for each repository; reads run beside it. Close ends
// the goroutine that watches repositories.
package git

import (
	"context"
	"log/slog"
	"sync"

	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A Starter starts processes; proc.Supervisor is one.
type Starter interface {
	// StartRaw starts a child that the caller ends.
	StartRaw(ctx context.Context, c proc.Command) (*proc.Process, error)
}

// Paths confines paths to the roots. The errors are the protocol's.
type Paths interface {
	// Resolve follows every link of a path; a relative one starts at the first
	// root, "" is that root.
	Resolve(raw string) (string, error)
	// ResolveName is Resolve but for the last name, which isn't followed.
	ResolveName(raw string) (string, error)
}

// A Watcher tells whether a worktree moved.
type Watcher interface {
	// Generation is a number that differs whenever something in a folder, at
	// any depth, was changed since an earlier call, the changes before this
	// call included. False: nobody watches the whole folder.
	Generation(ctx context.Context, folder string) (uint64, bool)
}

// A Trash keeps what is taken away.
type Trash interface {
	// Put moves a file, link or folder into the trash.
	Put(ctx context.Context, path string, origin core.Origin) error
}

// Options are what a [Space] works with.
type Options struct {
	// Starter starts git.
	Starter Starter
	// Paths confines.
	Paths Paths
	// Roots gives the roots whose repositories are watched for git.changed.
	Roots func() []string
	// Events is where git.changed goes.
	Events op.Emitter
	// Environ is the core's environment.
	Environ []string
	// Watcher makes the cache of git.status possible; nil for none.
	Watcher Watcher
	// Trash makes git.discard possible; nil for none.
	Trash Trash
	// Program is git's name or path; "" is git.
	Program string
	// Log gets what no error says.
	Log *slog.Logger
}

// A Space serves the namespace.
type Space struct {
	opts    Options
	environ []string
	repos   repos
	cache   statusCache
	monitor *monitor
	wg      sync.WaitGroup
	stop    context.CancelFunc
}

// New makes a space and begins to watch the roots' repositories. It is closed
// by Close.
func New(o Options) *Space {
	if o.Program == "" {
		o.Program = "git"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Space{opts: o, environ: environ(o.Environ)}
	s.monitor = newMonitor(o)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wg.Go(func() { s.monitor.watch(ctx) })
	s.Watch()
	return s
}

// Watch begins to watch the repositories of roots that came since.
func (s *Space) Watch() {
	for _, root := range s.opts.Roots() {
		s.monitor.add(root)
	}
}

// Close stops watching. It may be called twice.
func (s *Space) Close() error {
	s.stop()
	s.wg.Wait()
	return nil
}

// Bind binds the operations.
func (s *Space) Bind(m *op.Mux) {
	core.GitStatus.Handle(m, s.status)
	core.GitDiff.Handle(m, s.diff)
	core.GitLog.Handle(m, s.log)
	core.GitShow.Handle(m, s.show)
	core.GitBlame.Stream(m, s.blame)
	core.GitStage.Handle(m, s.stage)
	core.GitUnstage.Handle(m, s.unstage)
	core.GitCommit.Stream(m, s.commit)
	core.GitDiscard.Stream(m, s.discard)
	core.GitBranches.Handle(m, s.branches)
	core.GitSwitch.Stream(m, s.switchTo)
	core.GitStash.Stream(m, s.stash)
	core.GitWorktrees.Handle(m, s.worktrees)
	core.GitFetch.Stream(m, s.fetch)
	core.GitPull.Stream(m, s.pull)
	core.GitPush.Stream(m, s.push)
	core.GitClone.Stream(m, s.clone)
}

// work makes the second phase of an operation that has no first one.
func work[R any](f func(ctx context.Context, r op.Run) (R, error)) (op.Work[R], error) {
	return op.Work[R]{Do: f}, nil
}
