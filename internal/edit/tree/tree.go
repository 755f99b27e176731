// Package tree walks a folder that is held open, without following links and
// past what git ignores: the one walker of fs.list, fs.glob, project.search and
// the watcher.
//
// # Concurrency
//
// A walk is one goroutine; its visitor may hand folders that it retains to
// others.
package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"dragoman/internal/edit/ignore"
)

// GitDir is the folder of a repository itself, which is walked only with what
// is ignored.
const GitDir = ".git"

// maxRules is the longest .gitignore that is read, in bytes.
const maxRules = 1 << 20

// A Filter says what a walk passes over.
type Filter struct {
	// Rules are those that hold where the walk starts; .gitignore files below add
	// theirs. Without a Base, the one in the start has to be in them already.
	Rules *ignore.Rules
	// Hidden takes names that begin with a dot, Ignored what git ignores.
	Hidden, Ignored bool
	// Base is the path of the start that all paths begin with: a walk of a part
	// has the paths that a walk of the whole would have.
	Base string
	// Enter, if set, is told of each folder before it is read.
	Enter func(path string)
}

// Takes reports whether the filter lets an entry through, by the rules of its
// folder.
func (f *Filter) Takes(e Entry, rules *ignore.Rules) bool {
	if !f.Hidden && strings.HasPrefix(e.Name, ".") {
		return false
	}
	if f.Ignored {
		return true
	}
	t := ignore.File
	if e.IsDir() {
		t = ignore.Dir
	}
	return e.Name != GitDir && !rules.Ignored(e.Path, t)
}

// A Folder is one folder of a walk, open for as long as someone retains it.
type Folder struct {
	// Path is relative to the walk's start, behind Filter.Base, with slashes.
	Path string
	// Depth is how far it is from the start, which has 0.
	Depth int
	// Rules are those for what is in it.
	Rules *ignore.Rules

	root *os.Root
	dir  *os.File
	uses atomic.Int32
}

// An Entry is one thing in a folder.
type Entry struct {
	// Name is its name, Path the path from the walk's start.
	Name, Path string
	// Type are the type bits: of a link itself.
	Type fs.FileMode
}

// IsDir reports whether it is a folder.
func (e Entry) IsDir() bool { return e.Type.IsDir() }

// Retain keeps the folder open until one more Release.
func (f *Folder) Retain() { f.uses.Add(1) }

// Release gives it up; the last one closes it.
func (f *Folder) Release() {
	if f.uses.Add(-1) == 0 {
		f.dir.Close()
		f.root.Close()
	}
}

// Lstat tells of a thing in the folder.
func (f *Folder) Lstat(name string) (fs.FileInfo, error) { return f.root.Lstat(name) }

// Root is the open folder, valid while it is retained.
func (f *Folder) Root() *os.Root { return f.root }

// Join gives the path of a name in the folder.
func (f *Folder) Join(name string) string {
	if f.Path == "" {
		return name
	}
	return f.Path + "/" + name
}

// SkipDir tells a walk not to go below a folder.
var SkipDir = fs.SkipDir

// Walk visits the folder start and those below it, each with the entries that
// the filter lets through, in no particular order. It takes start over. With
// SkipDir from visit it doesn't go below that folder; any other error ends it,
// as ctx does. A folder that can't be read is passed over, unless it is the
// start.
func Walk(ctx context.Context, start *os.Root, f Filter, visit func(*Folder, []Entry) error) error {
	w := &walk{ctx: ctx, filter: f, visit: visit}
	return w.folder(start, f.Base, 0, f.Rules)
}

type walk struct {
	ctx    context.Context
	filter Filter
	visit  func(*Folder, []Entry) error
}

func (w *walk) folder(root *os.Root, path string, depth int, rules *ignore.Rules) error {
	if err := w.ctx.Err(); err != nil {
		return errors.Join(err, root.Close())
	}
	if w.filter.Enter != nil {
		w.filter.Enter(path)
	}
	dir, err := root.Open(".")
	if err != nil {
		root.Close()
		return unlessBelow(depth, err)
	}
	f := &Folder{Path: path, Depth: depth, root: root, dir: dir}
	f.uses.Store(1)
	defer f.Release()
	names, err := dir.ReadDir(-1)
	if err != nil && len(names) == 0 {
		return unlessBelow(depth, err)
	}
	if path != "" {
		rules = w.rulesIn(f, names, rules)
	}
	f.Rules = rules
	entries := w.keep(f, names, rules)
	if err := w.visit(f, entries); err != nil {
		if errors.Is(err, SkipDir) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		child, err := root.OpenRoot(e.Name)
		if err != nil {
			continue
		}
		if err := w.folder(child, e.Path, depth+1, rules); err != nil {
			return err
		}
	}
	return nil
}

// unlessBelow passes over what is wrong with a folder below the start.
func unlessBelow(depth int, err error) error {
	if depth > 0 {
		return nil
	}
	return err
}

func (w *walk) rulesIn(f *Folder, names []fs.DirEntry, rules *ignore.Rules) *ignore.Rules {
	if w.filter.Ignored {
		return rules
	}
	for _, n := range names {
		if n.Name() == ignore.FileName && n.Type().IsRegular() {
			if data, err := readLimited(f.root, n.Name()); err == nil {
				return rules.With(f.Path, data)
			}
		}
	}
	return rules
}

func readLimited(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxRules {
		return nil, fs.ErrInvalid
	}
	return root.ReadFile(name)
}

func (w *walk) keep(f *Folder, names []fs.DirEntry, rules *ignore.Rules) []Entry {
	out := make([]Entry, 0, len(names))
	prefix := f.Join("")
	if f.Path == "" {
		prefix = ""
	}
	for _, n := range names {
		name := n.Name()
		if e := (Entry{Name: name, Path: prefix + name, Type: n.Type()}); w.filter.Takes(e, rules) {
			out = append(out, e)
		}
	}
	return out
}
