// Package turns follows what agents' turns do to files, and serves
// agent.changes and agent.revert (documents.md rules 3 to 5, 11 and 12).
//
// A Tracker is told when turns begin and end, which tool calls they make and
// what the watcher saw. It knows what each file was (package manifest), keeps
// the contents (package checkpoint), decides whose a change is (package
// attribute) and remembers it (package changes).
//
// # Concurrency
//
// All methods may be called from any goroutine. One goroutine looks at what the
// watcher told, in order; Close waits for it. A path is looked at by one
// goroutine at a time.
package turns

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"dragoman/internal/edit/attribute"
	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/changes"
	"dragoman/internal/edit/checkpoint"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/ignore"
	"dragoman/internal/edit/manifest"
	"dragoman/internal/edit/tree"
	"dragoman/internal/edit/watch"
	"dragoman/internal/namespace/fs"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Limits of a turn's ends (documents.md rules 4 and 5).
const (
	// BeginLimit is how long a prompt waits for the manifest.
	BeginLimit = 2 * time.Second
	// EndLimit is how long a turn's end waits for the last look.
	EndLimit = time.Second
	// stripes is how many paths are looked at at once.
	stripes = 64
)

// Options are what a Tracker works with.
type Options struct {
	Roots   *confine.Roots
	Buffers *buffer.Set
	FS      *fs.Space
	Watcher *watch.Watcher
	// Settler is what looks at files for open buffers.
	Settler *watch.Settler
	Store   *checkpoint.Store
	Ledger  *changes.Ledger
	Events  op.Emitter
	// Head gives the commit of a folder's repository, "" for none; nil: never.
	Head func(ctx context.Context, folder string) string
	// Running gives runs beside turns that may change files; nil: none.
	Running func() attribute.Facts
	// GlobalIgnore are the user's own files of gitignore rules.
	GlobalIgnore []string
	Log          *slog.Logger
}

// A Tracker follows turns. Close ends it.
type Tracker struct {
	o        Options
	files    confine.Files
	manifest *manifest.Manifest
	seed     maphash.Seed
	paths    [stripes]sync.Mutex

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{}

	mu    sync.Mutex
	runs  map[string]*following
	queue []func()
}

// A following is one run that is followed.
type following struct {
	attribute.Run
	cwd    string
	budget checkpoint.Budget
	began  map[string]time.Time
}

// New starts a tracker. The caller closes store and ledger after it.
func New(o Options) *Tracker {
	t := &Tracker{
		o: o, files: confine.Files{Roots: o.Roots}, manifest: manifest.New(), seed: maphash.MakeSeed(),
		wake: make(chan struct{}, 1), runs: map[string]*following{},
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.wg.Go(t.work)
	return t
}

// Close ends the looking. It may be called twice.
func (t *Tracker) Close() error {
	t.cancel()
	t.wg.Wait()
	return nil
}

// work does what is in the queue.
func (t *Tracker) work() {
	for {
		t.mu.Lock()
		var next func()
		if len(t.queue) > 0 {
			next, t.queue = t.queue[0], t.queue[1:]
		}
		t.mu.Unlock()
		if next != nil {
			next()
			continue
		}
		select {
		case <-t.wake:
		case <-t.ctx.Done():
			return
		}
	}
}

// later puts something behind all that is to be done.
func (t *Tracker) later(do func()) {
	t.mu.Lock()
	t.queue = append(t.queue, do)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// drain waits until all that the watcher told by now was looked at.
func (t *Tracker) drain(ctx context.Context) error {
	done := make(chan struct{})
	t.later(func() { close(done) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
}

// facts are what is known of runs now. Runs whose last call was too long ago to
// explain anything are forgotten.
func (t *Tracker) facts() attribute.Facts {
	var f attribute.Facts
	if t.o.Running != nil {
		f = t.o.Running()
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, r := range t.runs {
		if !r.Ended.IsZero() && now.Sub(r.Ended) > attribute.CallGrace {
			delete(t.runs, id)
			continue
		}
		run := r.Run
		run.Calls = append([]attribute.Call(nil), r.Calls...)
		f.Runs = append(f.Runs, run)
	}
	return f
}

// followsAny reports whether any run is followed.
func (t *Tracker) followsAny() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.runs) > 0
}

// Attribute says who changed a path that the core didn't change itself: what
// fs.Sink asks.
func (t *Tracker) Attribute(_, path string) core.Origin {
	return originOf(attribute.Decide(t.facts(), path, time.Now()))
}

func originOf(v attribute.Verdict) core.Origin {
	o := core.Origin{
		Kind: core.OriginKind(v.Kind), Run: v.Run, Session: v.Session, ToolCallID: v.Call,
		Certainty: core.Certainty(v.Certainty), Runs: v.Runs,
	}
	if v.Certainty == attribute.Unknown {
		o.Certainty = core.Exact
	}
	return o
}

func verdictOf(o core.Origin) attribute.Verdict {
	return attribute.Verdict{
		Kind: attribute.Kind(o.Kind), Certainty: attribute.Certainty(o.Certainty), Run: o.Run,
		Session: o.Session, Call: o.ToolCallID, Runs: o.Runs,
	}
}

// Observed takes what the watcher saw, with the origins that were told: what
// fs.Sink tells.
func (t *Tracker) Observed(c watch.Change, o core.Origin) {
	if !t.followsAny() {
		return // the next turn's manifest finds it
	}
	at := time.Now()
	t.later(func() { t.observe(c, verdictOf(o), at) })
}

// Begin follows a turn from before its prompt (documents.md rule 4). False: the
// contents before aren't all kept yet.
func (t *Tracker) Begin(ctx context.Context, run, session, cwd string) (whole bool) {
	started := time.Now()
	f := &following{
		Run:   attribute.Run{ID: run, Session: session, Kind: attribute.Agent, Folders: []string{cwd}},
		cwd:   cwd,
		began: map[string]time.Time{},
	}
	wait, cancel := context.WithTimeout(ctx, BeginLimit)
	defer cancel()
	if err := t.o.Watcher.Sync(wait); err == nil {
		_ = t.drain(wait)
	}
	turn := changes.Turn{Run: run, Session: session, At: started}
	if t.o.Head != nil {
		turn.HeadBefore = t.o.Head(wait, cwd)
	}
	t.o.Ledger.Begin(turn)
	b := &baseline{t: t, f: f}
	done := make(chan struct{})
	t.wg.Go(func() {
		defer close(done)
		b.read()
	})
	select {
	case <-done:
	case <-wait.Done():
	}
	return b.release()
}

// A baseline is the look at a root before a turn.
type baseline struct {
	t *Tracker
	f *following

	mu       sync.Mutex
	whole    bool
	released time.Time
}

// release lets the turn begin.
func (b *baseline) release() (whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = time.Now()
	b.t.mu.Lock()
	b.t.runs[b.f.ID] = b.f
	b.t.mu.Unlock()
	return b.whole
}

// read looks at the root that holds the turn's folder.
func (b *baseline) read() {
	folder, ok := b.t.o.Roots.RootOf(b.f.cwd)
	if !ok {
		return
	}
	dir, real, err := b.t.o.Roots.Open(folder)
	if err != nil {
		b.t.o.Log.Warn("a root before a turn", "err", err)
		return
	}
	err = b.t.manifest.Refresh(b.t.ctx, manifest.Refresh{
		Folder: real, Dir: dir, Filter: tree.Filter{Rules: ignore.Load(real, b.t.o.GlobalIgnore)}, Look: b.look,
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole = err == nil
}

// look takes a file as it was before the turn. Once the turn has begun, that is
// only known of files that weren't changed since.
func (b *baseline) look(_ context.Context, path string) {
	b.mu.Lock()
	late := b.released
	b.mu.Unlock()
	b.t.lookBefore(path, late, &b.f.budget)
}

// lastLook takes in all that was done up to now, also what the operating system
// hasn't told yet: identities of all files are compared once more.
func (t *Tracker) lastLook(ctx context.Context, cwd string, named []string) error {
	if err := t.o.Watcher.Sync(ctx, named...); err != nil {
		return err
	}
	if err := t.drain(ctx); err != nil {
		return err
	}
	if root, ok := t.o.Roots.RootOf(cwd); ok {
		dir, real, err := t.o.Roots.Open(root)
		if err != nil {
			return err
		}
		err = t.manifest.Refresh(ctx, manifest.Refresh{
			Folder: real, Dir: dir, Filter: tree.Filter{Rules: ignore.Load(real, t.o.GlobalIgnore)},
			Look: func(_ context.Context, path string) {
				now := time.Now()
				t.look(path, attribute.Decide(t.facts(), path, now), now)
			},
		})
		if err != nil {
			return err
		}
	}
	return t.buffersLook(ctx)
}

// buffersLook has every open buffer look at its file, so that what a run did to
// it is announced before the run's end.
func (t *Tracker) buffersLook(ctx context.Context) error {
	for _, info := range t.o.Buffers.List() {
		if info.Path == "" {
			continue
		}
		o := t.Attribute("", info.Path)
		// A file that can't be read is the buffer's to tell.
		_ = t.o.Buffers.Look(ctx, info.Buffer, buffer.Origin{
			Kind: string(o.Kind), Run: o.Run, Session: o.Session, ToolCall: o.ToolCallID, Certainty: string(o.Certainty), Runs: o.Runs,
		})
	}
	return ctx.Err()
}

// End takes a last look before a turn's run ends (documents.md rule 5).
func (t *Tracker) End(ctx context.Context, run string) {
	ctx, cancel := context.WithTimeout(ctx, EndLimit)
	defer cancel()
	t.mu.Lock()
	f := t.runs[run]
	var named []string
	if f != nil {
		for _, c := range f.Calls {
			named = append(named, c.Paths...)
		}
	}
	t.mu.Unlock()
	if f == nil {
		return
	}
	for _, file := range t.o.Ledger.Files(run) {
		named = append(named, file.Path)
	}
	err := t.lastLook(ctx, f.cwd, named)
	head := ""
	if t.o.Head != nil {
		head = t.o.Head(ctx, f.cwd)
	}
	t.o.Ledger.End(run, head, err == nil)
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	f.Ended = now
	for i := range f.Calls {
		if f.Calls[i].Ended.IsZero() {
			f.Calls[i].Ended = now
		}
	}
}
