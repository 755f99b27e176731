package locate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	real, a, err := Name(dir)
	if err != nil || len(a) != 16 || strings.Trim(a, "0123456789abcdef") != "" {
		t.Fatalf("%q %v", a, err)
	}
	if viaLink, b, err := Name(link); err != nil || a != b || viaLink != real {
		t.Errorf("through a link %q %q, %v", viaLink, b, err)
	}
	if _, _, err := Name(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing root has a name")
	}
}

func TestMakeRefuses(t *testing.T) {
	base := t.TempDir()
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{open, link, file} {
		if err := Dir(d).Make(); err == nil {
			t.Errorf("%s is taken", filepath.Base(d))
		}
	}
	good := Dir(filepath.Join(base, "a", "good"))
	for range 2 {
		if err := good.Make(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(string(good)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}

func TestAbove(t *testing.T) {
	run := Dir(filepath.Join(t.TempDir(), "run"))
	root := t.TempDir()
	sub := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Core(root); !errors.Is(err, ErrNoCore) {
		t.Errorf("without a folder: %v", err)
	}
	if err := run.Make(); err != nil {
		t.Fatal(err)
	}
	for i, r := range []string{root, filepath.Join(root, "a")} {
		_, name, err := Name(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(run.Lock(name), []byte(string(rune('x'+i))+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := run.Above(sub); err != nil || !slices.Equal(got, []string{"y", "x"}) {
		t.Errorf("got %q, %v", got, err)
	}
}
