package tree

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/edit/ignore"
)

func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, s := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWalkFilters(t *testing.T) {
	dir := plant(t, map[string]string{
		"a.go": "", "b.log": "", ".hidden": "", ".git/config": "", ".gitignore": "*.log\nout/\n",
		"sub/c.log": "", "sub/.gitignore": "!c.log\nd\n", "sub/d": "", "out/x": "", "sub/deep/d": "", "sub/deep/e": "",
	})
	if err := os.Symlink(dir, dir+"/sub/loop"); err != nil {
		t.Fatal(err)
	}
	rules := ignore.Load(dir, nil)
	for name, c := range map[string]struct {
		f    Filter
		want string
	}{
		"plain":   {Filter{Rules: rules}, "a.go sub sub/c.log sub/deep sub/deep/e sub/loop"},
		"hidden":  {Filter{Rules: rules, Hidden: true}, ".gitignore .hidden a.go sub sub/.gitignore sub/c.log sub/deep sub/deep/e sub/loop"},
		"ignored": {Filter{Rules: rules, Ignored: true}, "a.go b.log out out/x sub sub/c.log sub/d sub/deep sub/deep/d sub/deep/e sub/loop"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := Walk(t.Context(), open(t, dir), c.f, func(f *Folder, entries []Entry) error {
				for _, e := range entries {
					if f.Join(e.Name) != e.Path {
						t.Errorf("%q in %q has the path %q", e.Name, f.Path, e.Path)
					}
					got = append(got, e.Path)
				}
				return nil
			})
			slices.Sort(got)
			if s := strings.Join(got, " "); err != nil || s != c.want {
				t.Errorf("%v\n got %s\nwant %s", err, s, c.want)
			}
		})
	}
}

func TestFoldersOutliveTheWalk(t *testing.T) {
	dir := plant(t, map[string]string{"a/f": "content", "b/f": "x"})
	var kept *Folder
	err := Walk(t.Context(), open(t, dir), Filter{}, func(f *Folder, _ []Entry) error {
		if f.Path == "a" {
			f.Retain()
			kept = f
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Release()
	r, err := kept.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); string(b) != "content" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	if info, err := kept.Lstat("f"); err != nil || info.Size() != 7 {
		t.Error(info, err)
	}
	if err := os.Symlink("/etc/passwd", dir+"/a/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Open("link"); err == nil {
		t.Error("a link was followed")
	}
}

func TestWalkEnds(t *testing.T) {
	dir := plant(t, map[string]string{"a/b/c": "", "d/e": ""})
	stop := errors.New("stop")
	if err := Walk(t.Context(), open(t, dir), Filter{}, func(*Folder, []Entry) error { return stop }); err != stop {
		t.Error(err)
	}
	n := 0
	if err := Walk(t.Context(), open(t, dir), Filter{}, func(*Folder, []Entry) error { n++; return SkipDir }); err != nil || n != 1 {
		t.Error(n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Walk(ctx, open(t, dir), Filter{}, func(*Folder, []Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
