package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps what it is told.
type sink struct {
	mu    sync.Mutex
	lines []string
	most  int
}

func (s *sink) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *sink) Changed(root string, changes []Change, origin any) {
	for _, c := range changes {
		line := fmt.Sprintf("%s %s", c.Kind, filepath.ToSlash(strings.TrimPrefix(c.Path, root+"/")))
		if c.From != "" {
			line += " from " + filepath.ToSlash(strings.TrimPrefix(c.From, root+"/"))
		}
		if origin != nil {
			line += fmt.Sprint(" by ", origin)
		}
		s.add(line)
	}
	s.mu.Lock()
	s.most = max(s.most, len(changes))
	s.mu.Unlock()
}
func (s *sink) Rescan(string)          { s.add("rescan") }
func (s *sink) Degraded(reason string) { s.add("degraded " + reason) }

func (s *sink) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.lines
	s.lines = nil
	return out
}

type world struct {
	t    *testing.T
	root string
	sink *sink
	w    *Watcher
}

func start(t *testing.T, o Options, files ...string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &world{t: t, root: root, sink: &sink{}}
	for _, f := range files {
		x.write(f, "old "+f)
	}
	o.Sink = x.sink
	x.w = New(o)
	t.Cleanup(func() { x.w.Close() })
	if err := x.w.Add(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if _, err := x.w.Files(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *world) write(name, s string) {
	x.t.Helper()
	path := filepath.Join(x.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(s), 0o644)); err != nil {
		x.t.Fatal(err)
	}
}

func (x *world) rename(from, to string) {
	x.t.Helper()
	if err := os.Rename(filepath.Join(x.root, from), filepath.Join(x.root, to)); err != nil {
		x.t.Fatal(err)
	}
}

// want waits until exactly those lines, in any order, were told.
func (x *world) want(lines ...string) {
	x.t.Helper()
	slices.Sort(lines)
	var got []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		got = append(got, x.sink.take()...)
		if len(got) >= len(lines) {
			break
		}
	}
	if err := x.w.Sync(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
	got = append(got, x.sink.take()...)
	slices.Sort(got)
	if !slices.Equal(got, lines) {
		x.t.Fatalf("told\n %q, want\n %q", got, lines)
	}
}

func TestOutsideChanges(t *testing.T) {
	x := start(t, Options{}, "a", "dir/b", "dir/sub/c", ".gitignore")
	x.write("new", "1")
	x.want("created new")
	x.write("a", "changed")
	x.want("changed a")
	x.write("deep/er/file", "1")
	x.want("created deep", "created deep/er", "created deep/er/file")
	x.write("deep/er/file", "22")
	x.want("changed deep/er/file")
	x.rename("a", "z")
	x.want("renamed z from a")
	x.rename("dir", "folder")
	x.want("renamed folder from dir")
	x.write("folder/sub/c", "is still watched")
	x.want("changed folder/sub/c")
	if err := os.RemoveAll(x.root + "/folder"); err != nil {
		t.Fatal(err)
	}
	x.want("removed folder", "removed folder/b", "removed folder/sub", "removed folder/sub/c")
	files, err := x.w.Files(t.Context(), x.root)
	if got := strings.Join(files, " "); err != nil || got != ".gitignore deep/er/file new z" {
		t.Error(got, err)
	}
}

func TestReplacementsTwiceInARow(t *testing.T) {
	x := start(t, Options{}, "f")
	for _, s := range []string{"first", "second"} {
		x.write("f.tmp", s)
		x.rename("f.tmp", "f")
		if err := x.w.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := x.sink.take(); !slices.Contains(got, "changed f") {
			t.Fatalf("%s: %q", s, got)
		}
	}
}

func TestSameContentIsNoChange(t *testing.T) {
	x := start(t, Options{}, "f")
	x.write("f", "one")
	x.want("changed f")
	x.write("f", "two")
	x.want("changed f")
	x.write("f", "two")
	x.rename("f", "g")
	x.want("renamed g from f")
	if err := os.Chmod(x.root+"/g", 0o600); err != nil {
		t.Fatal(err)
	}
	x.want("changed g")
}

func TestIgnoredIsNotWatched(t *testing.T) {
	x := start(t, Options{}, ".gitignore", ".git/HEAD", "kept")
	x.write(".gitignore", "out/\n*.log\n")
	x.want("changed .gitignore")
	x.write("out/x", "1")
	x.write("a.log", "1")
	x.write(".git/HEAD", "2")
	x.write("end", "1")
	x.want("created end")
	x.write(".gitignore", "out/\n")
	x.want("changed .gitignore", "created a.log")
}

func TestOwnChangesAreToldOnce(t *testing.T) {
	x := start(t, Options{}, "f")
	end, err := x.w.Expect(t.Context(), x.root+"/f", x.root+"/d")
	if err != nil {
		t.Fatal(err)
	}
	x.write("f", "mine")
	x.write("d/e", "mine")
	time.Sleep(3 * CoalesceWithin)
	if got := x.sink.take(); len(got) > 0 {
		t.Errorf("told early: %q", got)
	}
	end("me")
	x.want("changed f by me", "created d by me", "created d/e by me")
	x.write("d/e", "theirs")
	x.want("changed d/e")
}

func TestMoreThanTheRoots(t *testing.T) {
	x := start(t, Options{}, ".gitignore", "out/a", "out/sub/b", "in")
	x.write(".gitignore", "out\n")
	x.want("changed .gitignore", "removed out", "removed out/a", "removed out/sub", "removed out/sub/b")
	if err := x.w.AddMore(t.Context(), "w1", x.root, x.root+"/out", Flat); err != nil {
		t.Fatal(err)
	}
	if err := x.w.AddMore(t.Context(), "w2", x.root, x.root, Recursive); err != nil {
		t.Fatal(err)
	}
	if err := x.w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.write("in", "once")
	x.write("out/a", "once")
	x.write("out/sub/b", "once")
	x.want("changed in", "changed out/a", "changed out/sub/b")
	if err := x.w.RemoveMore(t.Context(), "w2"); err != nil {
		t.Fatal(err)
	}
	x.write("out/sub/b", "never")
	x.write("out/a", "again")
	x.want("changed out/a")
	if err := x.w.AddMore(t.Context(), "w3", x.root, x.root+"/out/sub/b", Flat); err != nil {
		t.Fatal(err)
	}
	if err := x.w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.write("out/sub/c", "beside")
	x.write("out/sub/b", "watched")
	x.want("changed out/sub/b")
	if err := x.w.Remove(t.Context(), x.root); err != nil {
		t.Fatal(err)
	}
	if _, err := x.w.Files(t.Context(), x.root); !errors.Is(err, ErrNoRoot) {
		t.Error(err)
	}
}

// fake is a notifier that tests drive.
type fake struct {
	events chan fsnotify.Event
	errors chan error
	limit  int
	mu     sync.Mutex
	added  map[string]bool
}

func newFake(limit int) *fake {
	return &fake{events: make(chan fsnotify.Event), errors: make(chan error), limit: limit, added: map[string]bool{}}
}

func (f *fake) Add(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.added[dir] = true; f.limit > 0 && len(f.added) > f.limit {
		return fmt.Errorf("add: %w", syscall.ENOSPC)
	}
	return nil
}
func (f *fake) Remove(string) error           { return nil }
func (f *fake) Events() <-chan fsnotify.Event { return f.events }
func (f *fake) Errors() <-chan error          { return f.errors }
func (f *fake) Close() error                  { return nil }

func TestLostEvents(t *testing.T) {
	f := newFake(0)
	x := start(t, Options{Notifier: f}, "a", "b", "d/c")
	x.write("a", "changed")
	x.rename("d", "e")
	if err := os.Remove(x.root + "/b"); err != nil {
		t.Fatal(err)
	}
	f.errors <- fsnotify.ErrEventOverflow
	x.want("rescan", "changed a", "removed b", "renamed e from d")
}

func TestPollingWhereNothingCanBeWatched(t *testing.T) {
	x := start(t, Options{Notifier: newFake(1), Poll: 20 * time.Millisecond}, "a", "d/b", "e/c")
	x.want("degraded watch_limit")
	x.write("e/c", "changed")
	x.want("changed e/c")
	x.write("e/new", "1")
	x.want("created e/new")
}

func TestManyChangesComeInParts(t *testing.T) {
	x := start(t, Options{}, "a")
	end, err := x.w.Expect(t.Context(), x.root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		x.write(fmt.Sprintf("d/f%d", i), "")
	}
	end(nil)
	if err := x.w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 601; {
		n += len(x.sink.take())
	}
	if x.sink.most != MaxChanges {
		t.Errorf("%d changes at once", x.sink.most)
	}
}

func TestClosedWatcher(t *testing.T) {
	x := start(t, Options{})
	x.w.Close()
	x.w.Close()
	if _, err := x.w.Files(context.Background(), x.root); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := x.w.Expect(context.Background(), "x"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
