// Package project serves the operations of the project namespace (core.md §6):
// the roots, finding files, searching and replacing in them and in what is
// unsaved, and a value that clients keep with a root.
//
// # Concurrency
//
// A Space may be used from any goroutine; a search has goroutines of its own
// that end with it.
package project

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/fuzzy"
	"dragoman/internal/edit/watch"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A Writer writes files that aren't open.
type Writer interface {
	// Rewrite writes a file anew, atomically and only over the bytes with that
	// hash.
	Rewrite(ctx context.Context, path, hash string, o core.Origin, write func(io.Writer) error) error
}

// Options are what a Space works with.
type Options struct {
	// Roots confine every path.
	Roots *confine.Roots
	// Buffers are the open documents.
	Buffers *buffer.Set
	// Watcher knows which files there are.
	Watcher *watch.Watcher
	// Files writes what isn't open.
	Files Writer
	// Events is where events go.
	Events op.Emitter
	// StateDir keeps the roots' values; "" keeps them in memory.
	StateDir string
	// GlobalIgnore are the user's own files of gitignore rules.
	GlobalIgnore []string
}

// A Space serves the namespace.
type Space struct {
	Options
	files    confine.Files
	previews previews
	states   states
	opening  sync.Mutex
}

// New makes a space.
func New(o Options) *Space {
	return &Space{Options: o, files: confine.Files{Roots: o.Roots}, states: states{dir: o.StateDir}}
}

// Bind binds the operations.
func (s *Space) Bind(m *op.Mux) {
	core.ProjectOpen.Handle(m, s.open)
	core.ProjectClose.Handle(m, s.close)
	core.ProjectGet.Handle(m, s.get)
	core.ProjectFiles.Handle(m, s.find)
	core.ProjectSearch.Stream(m, s.search)
	core.ProjectReplace.Stream(m, s.replace)
	core.ProjectApplyReplace.Stream(m, s.apply)
	core.ProjectGetState.Handle(m, s.getState)
	core.ProjectSetState.Handle(m, s.setState)
}

func describe(root string) core.ProjectRoot {
	r := core.ProjectRoot{Root: root, Name: filepath.Base(root)}
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		r.VCS = "git"
	}
	return r
}

func (s *Space) open(ctx context.Context, _ op.Call, p core.ProjectOpenParams) (core.ProjectRoot, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	path := s.Roots.Abs(p.Raw())
	info, err := os.Stat(path)
	if err != nil {
		return core.ProjectRoot{}, op.IO(err, p.Raw())
	}
	if !info.IsDir() {
		return core.ProjectRoot{}, op.Unsupported("%q is no folder", p.Raw())
	}
	before := s.Roots.List()
	root, err := s.Roots.Add(path)
	if err != nil {
		return core.ProjectRoot{}, op.IO(err, p.Raw())
	}
	r := describe(root)
	if slices.Contains(before, root) {
		return r, nil
	}
	if err := s.Watcher.Add(ctx, root); err != nil {
		s.Roots.Remove(root)
		return core.ProjectRoot{}, op.IO(err, p.Raw())
	}
	s.Events.Emit(core.ProjectOpened.With(r))
	return r, nil
}

func (s *Space) close(ctx context.Context, _ op.Call, p core.RootParams) (core.None, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	root, err := s.root(p.Root)
	if err != nil {
		return core.None{}, err
	}
	if len(s.Roots.List()) == 1 {
		return core.None{}, op.Unsupported("the last root can't be closed")
	}
	for _, info := range s.Buffers.List() {
		if holder, ok := s.Roots.RootOf(info.Path); info.Modified && ok && holder == root {
			return core.None{}, op.Conflict(op.ConflictModified, "%s has unsaved text", info.Path)
		}
	}
	if err := s.Watcher.Remove(ctx, root); err != nil {
		return core.None{}, err
	}
	s.Roots.Remove(root)
	s.Events.Emit(core.ProjectClosed.With(core.RootParams{Root: root}))
	return core.None{}, nil
}

func (s *Space) get(context.Context, op.Call, core.None) (core.ProjectGetResult, error) {
	r := core.ProjectGetResult{Roots: []core.ProjectRoot{}}
	for _, root := range s.Roots.List() {
		r.Roots = append(r.Roots, describe(root))
	}
	return r, nil
}

// root finds an open root; "" is the first one.
func (s *Space) root(name string) (string, error) {
	roots, err := s.rootsOf(name)
	if err != nil {
		return "", err
	}
	return roots[0], nil
}

// rootsOf finds an open root by its path; "" gives all of them.
func (s *Space) rootsOf(name string) ([]string, error) {
	list := s.Roots.List()
	if name == "" && len(list) > 0 {
		return list, nil
	}
	for _, root := range list {
		if root == filepath.Clean(name) {
			return []string{root}, nil
		}
	}
	return nil, op.NotFound("root", name)
}

// Limits of project.files.
const (
	defaultFiles = 100
	maxFiles     = 10000
)

func (s *Space) find(ctx context.Context, _ op.Call, p core.ProjectFilesParams) (core.ProjectFilesResult, error) {
	limit := defaultFiles
	if p.Limit != nil {
		if *p.Limit < 1 {
			return core.ProjectFilesResult{}, op.BadRequest("limit", op.ReasonOutOfRange)
		}
		limit = min(*p.Limit, maxFiles)
	}
	roots, err := s.rootsOf(p.Root)
	if err != nil {
		return core.ProjectFilesResult{}, err
	}
	r := core.ProjectFilesResult{Files: []core.ProjectFile{}}
	for _, root := range roots {
		paths, err := s.Watcher.Files(ctx, root)
		if err != nil {
			return r, err
		}
		if !wantsHidden(p.Query) {
			paths = visible(paths)
		}
		hits, total, err := fuzzy.Rank(ctx, paths, p.Query, limit)
		if err != nil {
			return r, err
		}
		r.Total += total
		for _, h := range hits {
			r.Files = append(r.Files, projectFile(root, paths[h.Index], h))
		}
	}
	slices.SortStableFunc(r.Files, func(a, b core.ProjectFile) int { return b.Score - a.Score })
	r.Files = r.Files[:min(limit, len(r.Files))]
	r.Truncated = r.Total > len(r.Files)
	return r, nil
}

// wantsHidden reports whether a query asks for names that begin with a dot.
func wantsHidden(query string) bool {
	return strings.HasPrefix(query, ".") || strings.Contains(query, "/.")
}

func hidden(path string) bool {
	return strings.HasPrefix(path, ".") || strings.Contains(path, "/.")
}

func visible(paths []string) []string {
	if !slices.ContainsFunc(paths, hidden) {
		return paths
	}
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if !hidden(p) {
			out = append(out, p)
		}
	}
	return out
}

func projectFile(root, path string, h fuzzy.Hit) core.ProjectFile {
	out := core.NewPath(path)
	f := core.ProjectFile{Root: root, Path: out.Path, PathBytes: out.PathBytes, Score: h.Score, Positions: h.Positions}
	if f.Positions == nil {
		f.Positions = []int{}
	}
	return f
}

// codeOf is the code of what went wrong with one file.
func codeOf(err error, path string) *op.Error {
	if errors.Is(err, iofs.ErrPermission) {
		err = op.IO(err, path)
	}
	e, _ := op.AsError(wireError(err, path))
	return e
}
