package manifest_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"dragoman/internal/edit/changes"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/ignore"
	"dragoman/internal/edit/manifest"
	"dragoman/internal/edit/tree"
)

// refresh gives the names that were looked at, sorted.
func refresh(t *testing.T, m *manifest.Manifest, folder string) []string {
	t.Helper()
	dir, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var names []string
	err = m.Refresh(t.Context(), manifest.Refresh{
		Folder: folder, Dir: dir, Filter: tree.Filter{Rules: ignore.Load(folder, nil)},
		Look: func(_ context.Context, path string) {
			mu.Lock()
			defer mu.Unlock()
			rel, _ := filepath.Rel(folder, path)
			names = append(names, rel)
			if st, err := (file.OS{}).Stat(path); err == nil {
				m.Set(path, manifest.Entry{Stat: st, Version: changes.Version{Size: st.Size}})
			} else {
				m.Remove(path)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func TestOnlyWhatMovedIsLookedAt(t *testing.T) {
	folder := t.TempDir()
	write := func(name, s string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "1")
	write("d/b", "2")
	write("ignored", "3")
	write(".gitignore", "ignored\n")
	write(".git/config", "4")
	if err := os.Symlink("a", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	m := manifest.New()
	check := func(want ...string) {
		t.Helper()
		if got := refresh(t, m, folder); !slices.Equal(got, want) {
			t.Errorf("looked at %q, want %q", got, want)
		}
	}
	if m.Whole(filepath.Join(folder, "new")) {
		t.Error("whole before it was read")
	}
	check(".gitignore", "a", "d/b")
	check()
	write("a", "longer")
	check("a")
	write("c", "5")
	if err := os.Remove(filepath.Join(folder, "d/b")); err != nil {
		t.Fatal(err)
	}
	check("c", "d/b")
	check()
	if !m.Whole(filepath.Join(folder, "new")) || m.Whole(folder+"x") {
		t.Error("whole")
	}
	if got := m.Below(filepath.Join(folder, "d")); got != nil {
		t.Errorf("below d: %q", got)
	}
}
