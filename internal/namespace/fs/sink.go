package fs

import (
	"context"
	"sync"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/watch"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A Sink turns what the watcher tells into events, and has the open buffers
// follow: they move with their files, and look at them once they are still
// (documents.md rules 2 and 6). Close ends it after the watcher.
type Sink struct {
	// Events is where fs events go.
	Events op.Emitter
	// Attribute says who changed a path that the core didn't change itself
	// (documents.md rule 3); nil: nobody who is known.
	Attribute func(root, path string) core.Origin
	// Observed is told of each change, behind its event; nil: nobody is. It must
	// not block.
	Observed func(watch.Change, core.Origin)

	files   confine.Files
	settler watch.Settler
	buffers *buffer.Set

	mu    sync.Mutex
	saves map[string]save
}

// A save is the state in which a buffer's own save left a file.
type save struct {
	stat   file.Stat
	origin core.Origin
}

// NewSink makes a sink. Use binds it to the buffers before the watcher starts.
func NewSink(events op.Emitter, files confine.Files) *Sink {
	return &Sink{Events: events, files: files, saves: map[string]save{}}
}

// Use tells which buffers follow.
func (k *Sink) Use(b *buffer.Set) {
	k.buffers = b
	k.settler.Stat = k.files.Stat
	k.settler.Look = func(ctx context.Context, path string, origin any) {
		if id, ok := b.ByPath(path); ok {
			_ = b.Look(ctx, id, toEngine(k.origin("", path, origin)))
		}
	}
}

// Settler is what waits for files to be still.
func (k *Sink) Settler() *watch.Settler { return &k.settler }

// Close ends all waiting.
func (k *Sink) Close() { k.settler.Close() }

// Saved remembers that a buffer wrote its file, so that the watcher's event of
// it has the origin of the save.
func (k *Sink) Saved(path string, o core.Origin) {
	st, err := k.files.Stat(path)
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.saves[path] = save{st, o}
}

// origin is who changed a path.
func (k *Sink) origin(root, path string, told any) core.Origin {
	if o, ok := told.(core.Origin); ok {
		return o
	}
	k.mu.Lock()
	s, ok := k.saves[path]
	k.mu.Unlock()
	if ok {
		if st, err := k.files.Stat(path); err == nil && st.Same(s.stat) {
			return s.origin
		}
		k.mu.Lock()
		delete(k.saves, path)
		k.mu.Unlock()
	}
	if k.Attribute != nil {
		return k.Attribute(root, path)
	}
	return core.Origin{Kind: core.OriginDisk, Certainty: core.Exact}
}

// Changed implements [watch.Sink].
func (k *Sink) Changed(root string, changes []watch.Change, told any) {
	open := map[string]bool{}
	for _, info := range k.buffers.List() {
		open[info.Path] = true
	}
	var origins []core.Origin
	var groups [][]core.FsChange
	each := make([]core.Origin, len(changes))
	for i, c := range changes {
		if told == nil && open[c.Path] {
			k.buffers.Quiet(c.Path) // a save is told after its file is there
		}
		o := k.origin(root, c.Path, told)
		each[i] = o
		if n := len(origins); n == 0 || !sameOrigin(origins[n-1], o) {
			origins, groups = append(origins, o), append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], changeOf(c))
	}
	for i, o := range origins {
		k.Events.Emit(core.FsChanged.With(core.FsChangedParams{Root: root, Changes: groups[i], Origin: o}))
	}
	for i, c := range changes {
		k.follow(c, open, told)
		if k.Observed != nil {
			k.Observed(c, each[i])
		}
	}
}

func sameOrigin(a, b core.Origin) bool {
	return a.Kind == b.Kind && a.Client == b.Client && a.Run == b.Run && a.Session == b.Session &&
		a.ToolCallID == b.ToolCallID && a.Certainty == b.Certainty && a.Reason == b.Reason && len(a.Runs) == len(b.Runs)
}

func changeOf(c watch.Change) core.FsChange {
	out := core.FsChange{PathOut: core.NewPath(c.Path), Kind: core.ChangeKind(c.Kind), Type: core.FileType(c.Type)}
	if c.From != "" {
		out.From = core.NewPath(c.From).Path
	}
	return out
}

// follow has the buffers of a changed path follow.
func (k *Sink) follow(c watch.Change, open map[string]bool, told any) {
	if c.Kind == watch.Renamed {
		k.buffers.Moved(c.From, c.Path)
	}
	if open[c.Path] {
		k.settler.Touch(c.Path, told)
	}
}

// Rescan implements [watch.Sink].
func (k *Sink) Rescan(root string) {
	k.Events.Emit(core.FsRescan.With(core.RootParams{Root: root}))
	for _, info := range k.buffers.List() {
		if inside(root, info.Path) {
			k.settler.Touch(info.Path, nil)
		}
	}
}

// Degraded implements [watch.Sink].
func (k *Sink) Degraded(reason string) {
	k.Events.Emit(core.FsDegraded.With(core.FsDegradedParams{Reason: reason}))
}

func toEngine(o core.Origin) buffer.Origin {
	return buffer.Origin{
		Kind: string(o.Kind), Client: o.Client, Run: o.Run, Session: o.Session, ToolCall: o.ToolCallID,
		Certainty: string(o.Certainty), Runs: o.Runs,
	}
}

// Observing has the sink learn of the saves that an observer is told of.
func (k *Sink) Observing(o buffer.Observer) buffer.Observer { return observing{o, k} }

type observing struct {
	buffer.Observer
	sink *Sink
}

// Saved remembers the save and passes it on.
func (o observing) Saved(s buffer.Saved) {
	o.sink.Saved(s.Path, core.Origin{
		Kind: core.OriginKind(s.Origin.Kind), Client: s.Origin.Client, Run: s.Origin.Run, Session: s.Origin.Session,
		ToolCallID: s.Origin.ToolCall, Certainty: core.Certainty(s.Origin.Certainty), Runs: s.Origin.Runs,
		Reason: core.ChangeReason(s.Origin.Reason),
	})
	o.Observer.Saved(s)
}
