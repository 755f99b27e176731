package exec

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestOldLogsGo(t *testing.T) {
	now := time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	l, err := openLogs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l.max = 100
	for _, f := range []struct {
		run  string
		size int
		age  time.Duration
	}{
		{"r1", 1, 25 * time.Hour}, {"r2", 60, 3 * time.Hour}, {"r3", 30, 2 * time.Hour},
		{"r4", 40, time.Hour}, {"r5", 1, 48 * time.Hour}, {"other", 1, 48 * time.Hour},
	} {
		dir := filepath.Join(l.dir, f.run)
		file := filepath.Join(dir, "stdout")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, make([]byte, f.size), 0o600); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-f.age)
		for _, p := range []string{file, dir} {
			if err := os.Chtimes(p, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.prune(now, func(run string) bool { return run == "r5" }); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, _ := os.ReadDir(l.dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	// r1 is too old; without r2 the rest fits; r5 is being written.
	if want := []string{"other", "r3", "r4", "r5"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

func TestOwnFolderGoesToo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	l, err := openLogs("")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(l.dir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", l.dir, err)
	}
}
