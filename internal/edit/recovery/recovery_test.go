package recovery

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/internal/edit/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t *testing.T, s string) text.Text {
	t.Helper()
	out, err := text.Load(strings.NewReader(s), 0, int64(len(s)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func edit(start, end int, s string) text.Edit {
	return text.Edit{Start: start, End: end, Text: []byte(s)}
}

// crash closes the store and opens another over the same folder.
func crash(t *testing.T, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	next := Open(s.dir)
	t.Cleanup(func() { _ = next.Close() })
	return next
}

func recovered(t *testing.T, s *Store, id string) string {
	t.Helper()
	base, err := s.Content(id)
	if err != nil || !base.OK {
		t.Fatalf("content: %+v, %v", base, err)
	}
	got, err := s.Replay(id, base.Text)
	if err != nil {
		t.Fatal(err)
	}
	return string(got.AppendDisk(nil, 0, got.Len()))
}

func TestEditsComeBack(t *testing.T) {
	s := Open(filepath.Join(t.TempDir(), "recovery"))
	l := s.Begin(Header{Path: "/a/b", Name: "b", Hash: "sha256:00", Encoding: "utf-8"}, load(t, "one\r\ntwo\n"))
	l.Edit(edit(0, 3, "1"))
	l.Edit(edit(2, 2, "é\n"))
	if items, err := s.List(); err != nil || len(items) != 0 {
		t.Errorf("a live log is listed: %v, %v", items, err)
	}
	s = crash(t, s)
	items, err := s.List()
	if err != nil || len(items) != 1 {
		t.Fatalf("%v, %v", items, err)
	}
	if it := items[0]; it.ID != l.ID() || it.Path != "/a/b" || it.Edits != 2 || it.SavedAt.IsZero() {
		t.Errorf("got %+v", it)
	}
	if got, want := recovered(t, s, l.ID()), "1\r\né\ntwo\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := s.Forget(l.ID()); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(l.ID()); !errors.Is(err, ErrNotFound) {
		t.Errorf("forgotten twice: %v", err)
	}
}

func TestTornEndIsLeftOut(t *testing.T) {
	s := Open(t.TempDir())
	l := s.Begin(Header{Name: "x"}, load(t, "abc"))
	l.Edit(edit(3, 3, "d"))
	l.Edit(edit(4, 4, "e"))
	s = crash(t, s)
	name := s.path(l.ID())
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < 12; cut++ {
		if err := os.WriteFile(name, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := recovered(t, s, l.ID()); got != "abcd" && got != "abc" {
			t.Fatalf("cut by %d: %q", cut, got)
		}
	}
}

func TestKeepNeedsNoFile(t *testing.T) {
	s := Open(t.TempDir())
	l := s.Begin(Header{Path: "/x", Mtime: time.Unix(1, 0), Name: "x"}, load(t, strings.Repeat("x", InlineMax+1)))
	l.Edit(edit(0, InlineMax+1, "a"))
	if err := l.Keep(load(t, "a")); err != nil {
		t.Fatal(err)
	}
	l.Edit(edit(1, 1, "b"))
	s = crash(t, s)
	if got := recovered(t, s, l.ID()); got != "ab" {
		t.Errorf("got %q", got)
	}
}

func TestDropLeavesNothing(t *testing.T) {
	s := Open(t.TempDir())
	defer s.Close()
	l := s.Begin(Header{Name: "x"}, load(t, "abc"))
	l.Edit(edit(0, 0, "y"))
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	l.Drop()
	l.Drop()
	l.Edit(edit(0, 0, "z"))
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if names, _ := os.ReadDir(s.dir); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

func TestSyncedWithoutAsking(t *testing.T) {
	s := Open(t.TempDir())
	defer s.Close()
	l := s.Begin(Header{Name: "x"}, load(t, "abc"))
	l.Edit(edit(0, 0, "y"))
	deadline := time.Now().Add(20 * time.Second)
	for {
		if b, err := os.ReadFile(s.path(l.ID())); err == nil && len(b) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("never synced")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func FuzzRead(f *testing.F) {
	good := appendRecord(nil, kindHeader, []byte(`{"id":"x","name":"n","encoding":"utf-8"}`))
	good = appendRecord(good, kindContent, []byte("abc\n"))
	f.Add(appendEdit(good, edit(1, 2, "é")))
	f.Add([]byte{kindEdit, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x"+suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := &Store{dir: dir}
		if base, err := s.Content("x"); err == nil && base.OK {
			_, _ = s.Replay("x", base.Text)
		}
	})
}
