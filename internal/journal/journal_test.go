package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, dir string) *Journal {
	t.Helper()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func log(t testing.TB, j *Journal) *Log {
	t.Helper()
	l, err := j.Log("s1")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func add(t testing.TB, l *Log, text string) {
	t.Helper()
	if _, err := l.Append(func(i int64) []byte { return fmt.Appendf(nil, `{"i":%d,"t":%q}`, i, text) }); err != nil {
		t.Fatal(err)
	}
}

func all(t testing.TB, l *Log, from int64) []string {
	t.Helper()
	var out []string
	err := l.Read(context.Background(), from, func(i int64, e []byte) bool {
		if i != from+int64(len(out)) {
			t.Fatalf("index %d after %d entries from %d", i, len(out), from)
		}
		out = append(out, string(e))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEntriesOutliveTheJournal(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	l := log(t, j)
	big := strings.Repeat("x", 4000)
	const n = 1000 // several segments
	for range n {
		add(t, l, big)
	}
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := all(t, l, 990); len(got) != 10 || !strings.HasPrefix(got[0], `{"i":990,`) {
		t.Fatalf("%d entries from 990", len(got))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	l = log(t, open(t, dir))
	if l.Len() != n || len(all(t, l, 0)) != n {
		t.Fatalf("%d entries, %d read", l.Len(), len(all(t, l, 0)))
	}
	add(t, l, "more")
	if got := all(t, l, n); len(got) != 1 {
		t.Fatalf("after reopening: %q", got)
	}
}

func TestTornTailIsCutOff(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		j, err := Open(dir)
		if err != nil {
			rt.Fatal(err)
		}
		l, _ := j.Log("s1")
		n := rapid.IntRange(1, 20).Draw(rt, "entries")
		for range n {
			add(t, l, "abcdef")
		}
		if err := j.Close(); err != nil {
			rt.Fatal(err)
		}
		file := filepath.Join(dir, "s1", "0000000000000000.seg")
		info, err := os.Stat(file)
		if err != nil {
			rt.Fatal(err)
		}
		cut := rapid.Int64Range(1, info.Size()).Draw(rt, "cut")
		if err := os.Truncate(file, info.Size()-cut); err != nil {
			rt.Fatal(err)
		}
		if garbage := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "garbage"); len(garbage) > 0 {
			f, _ := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
			_, _ = f.Write(garbage)
			f.Close()
		}
		j, _ = Open(dir)
		defer j.Close()
		l, err = j.Log("s1")
		if err != nil {
			rt.Fatal(err)
		}
		left := l.Len()
		if left > int64(n) {
			rt.Fatalf("%d entries of %d", left, n)
		}
		add(t, l, "again")
		if got := all(t, l, 0); int64(len(got)) != left+1 || !strings.Contains(got[left], "again") {
			rt.Fatalf("after the repair: %q", got)
		}
	})
}

func TestSecretsAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	j.Hide([]string{`hun"ter2pass`})
	l := log(t, j)
	add(t, l, `the word is hun"ter2pass, and sk-ant-REDACTED too`)
	if err := l.SetNote([]byte(`{"title":"hun\"ter2pass"}`)); err != nil {
		t.Fatal(err)
	}
	got := all(t, l, 0)[0]
	if strings.Contains(got, "ter2pass") || !strings.Contains(got, "[REDACTED]") || !strings.HasPrefix(got, `{"i":0,"t":"the word is `) {
		t.Errorf("entry %s", got)
	}
	if note, err := l.Note(); err != nil || string(note) != `{"title":"[REDACTED]"}` {
		t.Errorf("note %s, %v", note, err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	l := log(t, open(t, dir))
	add(t, l, "x")
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, l.dir: 0o700, l.segment(0): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestRemove(t *testing.T) {
	j := open(t, t.TempDir())
	l := log(t, j)
	add(t, l, "x")
	if err := j.Remove("s1"); err != nil {
		t.Fatal(err)
	}
	if names, _ := j.Names(); len(names) != 0 {
		t.Errorf("left: %q", names)
	}
	if _, err := j.Log("../x"); err != ErrName {
		t.Errorf("a path as a name: %v", err)
	}
}
