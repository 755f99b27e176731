package watch

import (
	"os"
	"slices"
	"strings"

	"dragoman/internal/edit/file"
	"dragoman/internal/edit/ignore"
)

// flush looks at what is dirty and isn't held.
func (w *Watcher) flush() {
	var paths []string
	for p := range w.dirty {
		if !w.isHeld(p) {
			paths = append(paths, p)
			delete(w.dirty, p)
		}
	}
	if len(w.dirty) > 0 {
		w.timer.Reset(CoalesceWithin)
	}
	if len(paths) > 0 {
		w.look(paths, nil)
	}
}

func (w *Watcher) isHeld(path string) bool {
	if len(w.held) == 0 {
		return false
	}
	for h := range w.held {
		if path == h || strings.HasPrefix(path, h+string(os.PathSeparator)) {
			return true
		}
	}
	return false
}

// look compares paths with the manifests and tells what changed.
func (w *Watcher) look(paths []string, origin any) {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	for i, b := range w.branches {
		var rels []string
		reload := false
		for _, p := range paths {
			if rel, ok := b.rel(p); ok {
				rels = append(rels, rel)
				reload = reload || rel == ignore.FileName || strings.HasSuffix(rel, "/"+ignore.FileName)
			}
		}
		if len(rels) == 0 {
			continue
		}
		l := newLooking(w, b)
		l.paths(rels)
		w.tell(i, l.pair(), origin)
		if reload && !b.filter.Ignored {
			w.reload(b)
		}
	}
}

// reload takes new ignore rules in.
func (w *Watcher) reload(b *branch) {
	b.filter.Rules = ignore.Load(b.base, w.opts.GlobalIgnore)
	w.rescan(b)
}

// rescan compares everything in a branch with its manifest.
func (w *Watcher) rescan(b *branch) {
	b.moves++
	there := map[string]*entry{}
	old := b.rules
	b.rules = map[string]*ignore.Rules{}
	err := w.scan(b, "", func(rel string, e *entry) { there[rel] = e })
	for folder := range old {
		w.unwatchDir(b.abs(folder))
	}
	l := newLooking(w, b)
	if err != nil && !os.IsNotExist(err) {
		return
	}
	for rel := range b.entries {
		if there[rel] == nil {
			l.gone[rel] = true
		}
	}
	for rel, e := range there {
		l.compare(rel, e)
	}
	w.tell(slices.Index(w.branches, b), l.pair(), nil)
}

// A looking gathers how a branch differs from its manifest.
type looking struct {
	w *Watcher
	b *branch
	// gone are still in the manifest, created not yet.
	gone    map[string]bool
	created map[string]*entry
	changed []string
}

func newLooking(w *Watcher, b *branch) *looking {
	return &looking{w: w, b: b, gone: map[string]bool{}, created: map[string]*entry{}}
}

// paths looks at paths: those that are gone first, since a folder that was
// moved can be watched under one name only.
func (l *looking) paths(rels []string) {
	found := map[string]*entry{}
	for _, rel := range rels {
		if rel == "" {
			l.top()
			continue
		}
		info, err := os.Lstat(l.b.abs(rel))
		if err != nil {
			l.drop(rel)
			continue
		}
		found[rel] = newEntry(info)
		l.movedFrom(found[rel], rel)
	}
	for _, rel := range rels {
		if e := found[rel]; e != nil && l.b.covers(rel, e.typ == TypeDir) {
			l.there(rel, e)
		}
	}
}

// top looks at the branch's folder itself.
func (l *looking) top() {
	if _, err := os.Lstat(l.b.base); err == nil {
		return
	}
	for rel := range l.b.entries {
		l.gone[rel] = true
	}
}

// movedFrom looks at the place where a folder was whose new place is known
// before the event of the old one came.
func (l *looking) movedFrom(e *entry, rel string) {
	if e.typ != TypeDir || l.b.entries[rel] != nil {
		return
	}
	if old, ok := l.b.folders[e.stat.Key]; ok {
		if _, err := os.Lstat(l.b.abs(old)); err != nil {
			l.drop(old)
		}
	}
}

func (l *looking) there(rel string, e *entry) {
	l.compare(rel, e)
	if _, isNew := l.created[rel]; isNew && e.typ == TypeDir && !l.b.flat {
		_ = l.w.scan(l.b, rel, l.compare)
	}
}

// compare compares what is at a path with the manifest.
func (l *looking) compare(rel string, e *entry) {
	old := l.b.entries[rel]
	if l.gone[rel] {
		old = nil
	}
	switch {
	case old == nil:
		l.create(rel, e)
	case old.typ != e.typ:
		l.drop(rel)
		l.create(rel, e)
	case e.typ == TypeDir:
		l.b.put(rel, e)
		if old.stat.Mode != e.stat.Mode {
			l.changed = append(l.changed, rel)
		}
	case !old.stat.Same(e.stat):
		l.content(rel, old, e)
	}
}

// content tells a new state of a file, unless it holds the same bytes.
func (l *looking) content(rel string, old, e *entry) {
	if e.stat.Size == old.stat.Size || old.hash != "" {
		e.hash = l.b.hashOf(rel, e)
	}
	l.b.put(rel, e)
	same := e.hash != "" && e.hash == old.hash && old.stat.Mode == e.stat.Mode
	if !same {
		l.changed = append(l.changed, rel)
	}
}

func (l *looking) drop(rel string) {
	if l.b.entries[rel] == nil || l.gone[rel] {
		return
	}
	for _, p := range l.w.drop(l.b, rel) {
		l.gone[p] = true
	}
}

func (l *looking) create(rel string, e *entry) {
	l.created[rel] = e
}

// pair enters everything into the manifest and gives the changes: what is gone
// from one path and new at another was renamed.
func (l *looking) pair() []Change {
	from, types := l.leave()
	var out []Change
	renamed := map[string]string{}
	for _, rel := range sortedKeys(l.created) {
		e := l.created[rel]
		l.b.put(rel, e)
		if old, ok := from[e.stat.Key]; ok && types[old] == e.typ {
			delete(types, old)
			renamed[rel] = old
			if above, ok := renamed[parent(rel)]; ok && above+rel[len(parent(rel)):] == old {
				continue
			}
			out = append(out, Change{Path: l.b.abs(rel), From: l.b.abs(old), Kind: Renamed, Type: e.typ})
			continue
		}
		out = append(out, Change{Path: l.b.abs(rel), Kind: Created, Type: e.typ})
	}
	var gone []Change
	for _, rel := range sortedKeys(types) {
		gone = append(gone, Change{Path: l.b.abs(rel), Kind: Removed, Type: types[rel]})
	}
	slices.Sort(l.changed)
	for _, rel := range l.changed {
		out = append(out, Change{Path: l.b.abs(rel), Kind: Changed, Type: l.b.entries[rel].typ})
	}
	return append(gone, out...)
}

// leave takes what is gone out of the manifest, and gives where each file was
// and what each path was.
func (l *looking) leave() (from map[file.Key]string, types map[string]Type) {
	from, types = map[file.Key]string{}, map[string]Type{}
	for rel := range l.gone {
		e := l.b.entries[rel]
		if e == nil {
			continue
		}
		types[rel] = e.typ
		if e.stat.Inode != 0 {
			from[e.stat.Key] = rel
		}
		l.b.forget(rel)
	}
	l.b.files = nil
	return from, types
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// tell hands changes to the sink, but for those that an earlier branch tells.
func (w *Watcher) tell(branch int, changes []Change, origin any) {
	b := w.branches[branch]
	changes = slices.DeleteFunc(changes, func(c Change) bool {
		for _, other := range w.branches[:branch] {
			if rel, ok := other.rel(c.Path); ok && other.covers(rel, c.Type == TypeDir) {
				return true
			}
		}
		return false
	})
	for chunk := range slices.Chunk(changes, MaxChanges) {
		w.opts.Sink.Changed(b.root, chunk, origin)
	}
}
