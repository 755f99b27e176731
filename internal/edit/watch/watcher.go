package watch

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Limits of what is told (core.md §6).
const (
	// CoalesceWithin is how long changes are gathered.
	CoalesceWithin = 40 * time.Millisecond
	// MaxChanges is how many changes are told at once.
	MaxChanges = 256
	// DefaultPoll is how often folders are looked at that can't be watched.
	DefaultPoll = time.Second
)

// ErrClosed says that the watcher has ended.
var ErrClosed = errors.New("the watcher is closed")

// ErrNoRoot says that a folder isn't watched.
var ErrNoRoot = errors.New("the folder isn't watched")

// Kind says how a path changed.
type Kind string

// The kinds, as on the wire.
const (
	Created Kind = "created"
	Changed Kind = "changed"
	Removed Kind = "removed"
	Renamed Kind = "renamed"
)

// A Change is one changed path.
type Change struct {
	// Path is absolute; From is the old one of what was renamed.
	Path, From string
	Kind       Kind
	Type       Type
}

// Type is what a path is.
type Type string

// The types, as on the wire.
const (
	TypeFile    Type = "file"
	TypeDir     Type = "dir"
	TypeSymlink Type = "symlink"
	TypeOther   Type = "other"
)

// A Sink is told what changes. Its methods are called by the watcher's
// goroutine, must not block and must not call the watcher.
type Sink interface {
	// Changed tells changes below a root, at most MaxChanges. origin is what
	// Expect's end was given; nil: somebody else changed them.
	Changed(root string, changes []Change, origin any)
	// Rescan tells that changes may have been missed; those that a look at
	// everything finds follow.
	Rescan(root string)
	// Degraded tells, once, that from now on folders are looked at by the clock.
	Degraded(reason string)
}

// A Notifier is the operating system's events; nil events mean there are none.
type Notifier interface {
	Add(dir string) error
	Remove(dir string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// Options say what a Watcher works with.
type Options struct {
	// Sink is told of everything.
	Sink Sink
	// GlobalIgnore are the user's own files of gitignore rules.
	GlobalIgnore []string
	// Poll is how often folders are looked at that can't be watched; 0:
	// DefaultPoll.
	Poll time.Duration
	// Notifier replaces the operating system's.
	Notifier Notifier
	// Log gets what goes wrong.
	Log *slog.Logger
}

// A Watcher watches folders. Close ends it.
type Watcher struct {
	opts  Options
	tasks chan func()
	stop  context.CancelFunc
	ctx   context.Context
	wg    sync.WaitGroup

	// The rest belongs to the goroutine.
	notify   Notifier
	branches []*branch
	dirs     map[string]int
	dirty    map[string]bool
	held     map[string]int
	timer    *time.Timer
	polling  bool
	poll     *time.Timer
}

// New starts a watcher.
func New(o Options) *Watcher {
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{
		opts: o, tasks: make(chan func()), notify: o.Notifier,
		dirs: map[string]int{}, dirty: map[string]bool{}, held: map[string]int{},
	}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.timer, w.poll = time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	w.timer.Stop()
	w.poll.Stop()
	if w.notify == nil {
		w.notify = systemNotifier(o.Log)
	}
	w.wg.Go(w.loop)
	return w
}

// Close ends the watcher and waits for it. It may be called twice.
func (w *Watcher) Close() error {
	w.stop()
	w.wg.Wait()
	return nil
}

func (w *Watcher) loop() {
	defer w.timer.Stop()
	defer w.poll.Stop()
	defer w.notify.Close()
	for {
		select {
		case <-w.ctx.Done():
			return
		case task := <-w.tasks:
			task()
		case e := <-w.notify.Events():
			w.event(e)
		case err := <-w.notify.Errors():
			w.failed(err)
		case <-w.timer.C:
			w.flush()
		case <-w.poll.C:
			w.pollAll()
		}
	}
}

// do has the goroutine run f, and waits for it.
func (w *Watcher) do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case w.tasks <- func() { f(); close(done) }:
		<-done
		return nil
	case <-w.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Watcher) event(e fsnotify.Event) {
	if e.Name == "" {
		return
	}
	path := filepath.Clean(e.Name)
	w.moved(path)
	w.touch(path)
}

// touch marks a path as one to look at.
func (w *Watcher) touch(path string) {
	if len(w.dirty) == 0 {
		w.timer.Reset(CoalesceWithin)
	}
	w.dirty[path] = true
}

func (w *Watcher) failed(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		w.opts.Log.Warn("watching", "err", err)
		return
	}
	for _, b := range w.branches {
		w.opts.Sink.Rescan(b.root)
		w.rescan(b)
	}
}

// degrade falls back to polling.
func (w *Watcher) degrade(reason string) {
	if w.polling {
		return
	}
	w.polling = true
	w.opts.Sink.Degraded(reason)
	w.poll.Reset(w.opts.Poll)
}

// pollAll looks at everything, and at most a tenth of the time.
func (w *Watcher) pollAll() {
	start := time.Now()
	for _, b := range w.branches {
		w.rescan(b)
	}
	w.poll.Reset(max(w.opts.Poll, 10*time.Since(start)))
}

// watchDir asks for a folder's events.
func (w *Watcher) watchDir(dir string) {
	w.dirs[dir]++
	if w.dirs[dir] > 1 || w.polling {
		return
	}
	if err := w.notify.Add(dir); err != nil && limited(err) {
		w.degrade("watch_limit")
	}
}

func (w *Watcher) unwatchDir(dir string) {
	if w.dirs[dir]--; w.dirs[dir] <= 0 {
		delete(w.dirs, dir)
		_ = w.notify.Remove(dir)
	}
}

// Expect says that paths are about to be changed by the caller: events of them
// wait until end is called, which tells the changes with that origin before it
// returns.
func (w *Watcher) Expect(ctx context.Context, paths ...string) (end func(origin any), err error) {
	if err := w.do(ctx, func() {
		for _, p := range paths {
			w.held[p]++
		}
	}); err != nil {
		return func(any) {}, err
	}
	return func(origin any) {
		_ = w.do(w.ctx, func() {
			for _, p := range paths {
				w.moved(p)
				if w.held[p]--; w.held[p] <= 0 {
					delete(w.held, p)
				}
			}
			w.look(paths, origin)
		})
	}, nil
}

// settleTime is how long Sync waits for events that are on their way.
const settleTime = 10 * time.Millisecond

// Sync tells every change up to now, and looks at paths whether or not there
// were events of them (documents.md rule 5).
func (w *Watcher) Sync(ctx context.Context, paths ...string) error {
	return w.do(ctx, func() {
		grace := time.NewTimer(settleTime)
		defer grace.Stop()
		for waiting := true; waiting; {
			select {
			case e := <-w.notify.Events():
				w.event(e)
			case err := <-w.notify.Errors():
				w.failed(err)
			case <-grace.C:
				waiting = false
			}
		}
		for _, p := range paths {
			w.moved(p)
			w.dirty[p] = true
		}
		w.flush()
	})
}
