// Package manifest knows what the files of a folder were when they were last
// looked at: identity, hash, and whether their bytes are kept (documents.md
// rule 4). A file of the same identity isn't read again.
//
// # Concurrency
//
// A Manifest may be used from any goroutine, also while it is refreshed.
package manifest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"dragoman/internal/edit/changes"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/tree"
)

// An Entry is one file as it was last looked at.
type Entry struct {
	// Stat is its identity.
	Stat file.Stat
	// Version is its content.
	Version changes.Version
}

// A Manifest holds the entries of the files below some folders, by absolute
// path.
type Manifest struct {
	mu    sync.Mutex
	files map[string]Entry
	whole map[string]bool
}

// New makes an empty one.
func New() *Manifest { return &Manifest{files: map[string]Entry{}, whole: map[string]bool{}} }

// Get gives the entry of a path.
func (m *Manifest) Get(path string) (Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.files[path]
	return e, ok
}

// Set remembers a file; Remove forgets one.
func (m *Manifest) Set(path string, e Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[path] = e
}

// Remove forgets a file.
func (m *Manifest) Remove(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, path)
}

// Below lists the known files below a folder.
func (m *Manifest) Below(folder string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var paths []string
	for p := range m.files {
		if strings.HasPrefix(p, strings.TrimSuffix(folder, "/")+"/") {
			paths = append(paths, p)
		}
	}
	return paths
}

// Whole reports whether a folder that holds the path was read to its end once:
// what isn't known then wasn't there.
func (m *Manifest) Whole(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for folder := range m.whole {
		if strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/") {
			return true
		}
	}
	return false
}

// A Refresh says how a folder is looked at.
type Refresh struct {
	// Folder is its real path; Dir is the open folder, which is taken over.
	Folder string
	Dir    *os.Root
	Filter tree.Filter
	// Look is called for each file that isn't as it was, also for one that is
	// gone. It may be called by several goroutines. It sets the entry.
	Look func(ctx context.Context, path string)
}

// Refresh looks at every file of a folder that isn't ignored. After an error of
// ctx some weren't looked at.
func (m *Manifest) Refresh(ctx context.Context, r Refresh) error {
	seen := &seen{paths: map[string]bool{}}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	r.Filter.Hidden = true
	err := tree.Walk(ctx, r.Dir, r.Filter, func(f *tree.Folder, entries []tree.Entry) error {
		f.Retain()
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { f.Release(); <-slots }()
			m.folder(ctx, r, f, entries, seen)
		})
		return nil
	})
	wg.Wait()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	for _, p := range m.Below(r.Folder) {
		if !seen.paths[p] {
			r.Look(ctx, p)
		}
	}
	m.mu.Lock()
	m.whole[r.Folder] = true
	m.mu.Unlock()
	return ctx.Err()
}

// seen are the paths that a refresh came by.
type seen struct {
	mu    sync.Mutex
	paths map[string]bool
}

func (s *seen) add(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[path] = true
}

func (m *Manifest) folder(ctx context.Context, r Refresh, f *tree.Folder, entries []tree.Entry, seen *seen) {
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		if e.Type.Type() != 0 {
			continue
		}
		path := filepath.Join(r.Folder, filepath.FromSlash(e.Path))
		seen.add(path)
		info, err := f.Lstat(e.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if had, ok := m.Get(path); err != nil || !ok || !had.Stat.Same(file.StatOf(info)) {
			r.Look(ctx, path)
		}
	}
}
