package git

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"dragoman/wire/core"
)

// settle is how long what moves together in a repository may take.
const settle = 50 * time.Millisecond

// lookEvery is how often repositories are looked at where the system tells
// nothing.
const lookEvery = 2 * time.Second

// A monitor tells git.changed. It looks at files and never runs git.
type monitor struct {
	opts Options
	note *fsnotify.Watcher // nil where the system tells nothing

	mu    sync.Mutex
	known map[string]*watched // by root
}

// watched is a root's repository.
type watched struct {
	root, dir, common string
	state             string
	folders           map[string]bool
}

func newMonitor(o Options) *monitor {
	m := &monitor{opts: o, known: map[string]*watched{}}
	var err error
	if m.note, err = fsnotify.NewWatcher(); err != nil {
		o.Log.Warn("repositories are looked at by the clock", "err", err)
		m.note = nil
	}
	return m
}

// add watches the repository of a root, if it has one.
func (m *monitor) add(root string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, common, ok := gitFolders(root)
	if w := m.known[root]; !ok || w != nil && w.dir == dir {
		return
	}
	w := &watched{root: root, dir: dir, common: common, folders: map[string]bool{}}
	m.known[root] = w
	m.follow(w)
	w.state = refsMoved(dir, common)
}

// follow asks the system about the folders whose entries count.
func (m *monitor) follow(w *watched) {
	if m.note == nil {
		return
	}
	want := []string{w.dir, w.common}
	for _, refs := range refFolders(w.dir, w.common) {
		_ = filepath.WalkDir(refs, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				want = append(want, path)
			}
			return nil // what isn't there isn't watched
		})
	}
	for _, f := range want {
		if !w.folders[f] && m.note.Add(f) == nil {
			w.folders[f] = true
		}
	}
}

// check looks at every repository and tells those that moved.
func (m *monitor) check() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for root, w := range m.known {
		if _, err := os.Stat(w.dir); err != nil {
			delete(m.known, root)
		}
		now := refsMoved(w.dir, w.common)
		if now == w.state {
			continue
		}
		w.state = now
		m.follow(w)
		m.opts.Events.Emit(core.GitChanged.With(core.RootParams{Root: root}))
	}
}

// watch looks whenever the system tells something, until ctx ends.
func (m *monitor) watch(ctx context.Context) {
	var events chan fsnotify.Event
	var errs chan error
	quiet := time.NewTimer(time.Hour)
	defer quiet.Stop()
	again := time.Hour
	if m.note == nil {
		again = lookEvery
	} else {
		defer m.note.Close()
		events, errs = m.note.Events, m.note.Errors
	}
	quiet.Reset(again)
	due := false
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if due || strings.HasSuffix(e.Name, ".lock") {
				continue
			}
		case <-errs: // events may be lost
		case <-quiet.C:
			m.check()
			due = false
			quiet.Reset(again)
			continue
		}
		due = true
		quiet.Reset(settle)
	}
}

// gitFolders finds the git folders of the repository that holds root, as git
// does but for the checks, which its next call makes.
func gitFolders(root string) (dir, common string, ok bool) {
	for at := root; ; at = filepath.Dir(at) {
		if dir, ok = gitFolder(filepath.Join(at, ".git")); ok {
			break
		}
		if at == filepath.Dir(at) {
			return "", "", false
		}
	}
	common = dir
	if b, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		common = strings.TrimRight(string(b), "\n")
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
	}
	return dir, common, true
}

// gitFolder is path itself, or where the file at path points.
func gitFolder(path string) (string, bool) {
	if b, err := os.ReadFile(path); err == nil {
		to, ok := strings.CutPrefix(strings.TrimRight(string(b), "\n"), "gitdir: ")
		if !ok {
			return "", false
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	_, err := os.Stat(filepath.Join(path, "HEAD"))
	return path, err == nil
}
