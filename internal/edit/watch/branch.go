package watch

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/internal/edit/file"
	"dragoman/internal/edit/ignore"
	"dragoman/internal/edit/tree"
)

// A branch is a folder that is watched, or with only one thing in it.
type branch struct {
	// id names a branch beyond the roots' own; "" for a root's.
	id string
	// base is the folder, root the root that its changes are told with.
	base, root string
	filter     tree.Filter
	flat       bool
	// only is the one name that counts; "" for all.
	only    string
	entries map[string]*entry
	// rules are those of the folders that are watched.
	rules map[string]*ignore.Rules
	// folders finds a folder that was moved.
	folders map[file.Key]string
	// files are the paths of the regular files, nil when they have to be listed
	// anew.
	files []string
	// moves counts what the system told of the branch.
	moves uint64
	ready chan struct{}
}

// An entry is what the manifest knows of a path.
type entry struct {
	stat file.Stat
	typ  Type
	// hash is of the bytes, once it was computed.
	hash string
}

func typeOf(mode fs.FileMode) Type {
	switch {
	case mode.IsRegular():
		return TypeFile
	case mode.IsDir():
		return TypeDir
	case mode&fs.ModeSymlink != 0:
		return TypeSymlink
	}
	return TypeOther
}

func newEntry(info fs.FileInfo) *entry {
	return &entry{stat: file.StatOf(info), typ: typeOf(info.Mode())}
}

// scan reads the folder at rel and all below it, and watches its folders. The
// folder's own entry isn't among those that seen is told of.
func (w *Watcher) scan(b *branch, rel string, seen func(rel string, e *entry)) error {
	start, err := os.OpenRoot(b.abs(rel))
	if err != nil {
		return err
	}
	filter := b.filter
	if rel != "" {
		filter.Base, filter.Rules = rel, b.rules[parent(rel)]
	}
	filter.Enter = func(folder string) {
		if _, ok := b.rules[folder]; !ok {
			b.rules[folder] = nil
			w.watchDir(b.abs(folder))
		}
	}
	return tree.Walk(w.ctx, start, filter, func(f *tree.Folder, entries []tree.Entry) error {
		b.rules[f.Path] = f.Rules
		for _, e := range entries {
			if !b.counts(e.Name) {
				continue
			}
			if info, err := f.Lstat(e.Name); err == nil {
				seen(e.Path, newEntry(info))
			}
		}
		if b.flat {
			return tree.SkipDir
		}
		return nil
	})
}

func (b *branch) counts(name string) bool {
	return (b.only == "" || b.only == name) && !strings.HasSuffix(name, file.TempSuffix)
}

func parent(rel string) string {
	return rel[:max(strings.LastIndexByte(rel, '/'), 0)]
}

func (b *branch) abs(rel string) string {
	return filepath.Join(b.base, filepath.FromSlash(rel))
}

// rel gives a path's name in the branch; false: it isn't in it.
func (b *branch) rel(path string) (string, bool) {
	rel, err := filepath.Rel(b.base, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	if rel == "." {
		return "", true
	}
	return filepath.ToSlash(rel), true
}

// covers reports whether the branch tells of a path.
func (b *branch) covers(rel string, dir bool) bool {
	if rel == "" {
		return false
	}
	if _, known := b.entries[rel]; known {
		return true
	}
	rules, ok := b.rules[parent(rel)]
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	if !ok || !b.counts(name) || b.flat && parent(rel) != "" {
		return false
	}
	e := tree.Entry{Name: name, Path: rel}
	if dir {
		e.Type = fs.ModeDir
	}
	return b.filter.Takes(e, rules)
}

// put enters a path into the manifest.
func (b *branch) put(rel string, e *entry) {
	if old := b.entries[rel]; old == nil || old.typ != e.typ {
		b.files = nil
	}
	b.entries[rel] = e
	if e.typ == TypeDir && e.stat.Inode != 0 {
		b.folders[e.stat.Key] = rel
	}
}

// drop takes a path and all below it out of the manifest and gives them, the
// path itself first.
func (w *Watcher) drop(b *branch, rel string) (gone []string) {
	gone = append(gone, rel)
	if b.entries[rel].typ == TypeDir {
		for p := range b.entries {
			if strings.HasPrefix(p, rel+"/") {
				gone = append(gone, p)
			}
		}
		for folder := range b.rules {
			if folder == rel || strings.HasPrefix(folder, rel+"/") {
				delete(b.rules, folder)
				w.unwatchDir(b.abs(folder))
			}
		}
	}
	b.files = nil
	return gone
}

func (b *branch) forget(rel string) {
	if e := b.entries[rel]; e.typ == TypeDir && b.folders[e.stat.Key] == rel {
		delete(b.folders, e.stat.Key)
	}
	delete(b.entries, rel)
}

// maxHashed is the longest file whose bytes are compared, in bytes.
const maxHashed = 4 << 20

// hashOf gives the hash of a file's bytes; "" for what isn't hashed.
func (b *branch) hashOf(rel string, e *entry) string {
	if e.typ != TypeFile || e.stat.Size > maxHashed {
		return ""
	}
	f, err := os.OpenFile(b.abs(rel), file.OpenFlags, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxHashed)); err != nil {
		return ""
	}
	return string(h.Sum(nil))
}

// Add watches a root but for what git ignores in it. It doesn't wait until the
// folder was read.
func (w *Watcher) Add(ctx context.Context, root string) error {
	b := &branch{base: root, root: root, filter: tree.Filter{
		Hidden: true, Rules: ignore.Load(root, w.opts.GlobalIgnore),
	}}
	return w.add(ctx, b)
}

// AddMore watches a path in a root beyond what the root's own watching covers,
// under an id of the caller's. It returns once changes are seen.
func (w *Watcher) AddMore(ctx context.Context, id, root, path string, d Depth) error {
	b := &branch{
		id: id, base: path, root: root, flat: d == Flat,
		filter: tree.Filter{Hidden: true, Ignored: true},
	}
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		b.base, b.only, b.flat = filepath.Dir(path), filepath.Base(path), true
	}
	if err := w.add(ctx, b); err != nil {
		return err
	}
	return w.wait(ctx, b)
}

// wait waits until a branch was read.
func (w *Watcher) wait(ctx context.Context, b *branch) error {
	select {
	case <-b.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ctx.Done():
		return ErrClosed
	}
}

// Depth says how far a watch goes.
type Depth int

// The depths.
const (
	Flat Depth = iota
	Recursive
)

func (w *Watcher) add(ctx context.Context, b *branch) error {
	b.entries, b.rules, b.folders = map[string]*entry{}, map[string]*ignore.Rules{}, map[file.Key]string{}
	b.ready = make(chan struct{})
	return w.do(ctx, func() {
		w.branches = append(w.branches, b)
		w.wg.Go(func() {
			_ = w.do(w.ctx, func() {
				if err := w.scan(b, "", b.put); err != nil {
					w.opts.Log.Warn("watching", "root", b.root, "err", err)
				}
				close(b.ready)
			})
		})
	})
}

// Remove ends the watching of a root, and all watches told with it.
func (w *Watcher) Remove(ctx context.Context, root string) error {
	return w.remove(ctx, func(b *branch) bool { return b.root == root })
}

// RemoveMore ends one watch of AddMore.
func (w *Watcher) RemoveMore(ctx context.Context, id string) error {
	return w.remove(ctx, func(b *branch) bool { return b.id == id })
}

func (w *Watcher) remove(ctx context.Context, which func(*branch) bool) error {
	return w.do(ctx, func() {
		w.branches = slices.DeleteFunc(w.branches, func(b *branch) bool {
			if !which(b) {
				return false
			}
			for folder := range b.rules {
				w.unwatchDir(b.abs(folder))
			}
			return true
		})
	})
}

// Files lists the regular files that are watched in a root, in order of their
// paths, relative and with slashes. The list isn't to be changed.
func (w *Watcher) Files(ctx context.Context, root string) ([]string, error) {
	var found *branch
	if err := w.do(ctx, func() {
		for _, b := range w.branches {
			if b.id == "" && b.root == root {
				found = b
			}
		}
	}); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, ErrNoRoot
	}
	if err := w.wait(ctx, found); err != nil {
		return nil, err
	}
	var files []string
	err := w.do(ctx, func() { files = found.list() })
	return files, err
}

func (b *branch) list() []string {
	if b.files == nil {
		b.files = []string{}
		for p, e := range b.entries {
			if e.typ == TypeFile {
				b.files = append(b.files, p)
			}
		}
		slices.Sort(b.files)
	}
	return b.files
}
