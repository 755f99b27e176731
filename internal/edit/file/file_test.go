package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, s string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(s), 0o640); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func replace(t *testing.T, path, s string) Replacement {
	t.Helper()
	like, err := OS{}.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := OS{}.Replace(path, like)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(r, s); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReplaceKeepsModeAndLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	write(t, path, "old")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	r := replace(t, link, "new")
	if got := content(t, path); got != "old" {
		t.Errorf("before the swap it holds %q", got)
	}
	if err := r.Swap(); err != nil {
		t.Fatal(err)
	}
	old, err := r.Displaced()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 3)
	if _, err := old.ReadAt(b, 0); err != nil || string(b) != "old" {
		t.Errorf("displaced: %q, %v", b, err)
	}
	_ = old.Close()
	stat, err := r.Commit()
	if err != nil {
		t.Fatal(err)
	}
	now, err := OS{}.Stat(path)
	if err != nil || !now.Same(stat) {
		t.Errorf("committed %+v, now %+v, %v", stat, now, err)
	}
	if now.Mode.Perm() != 0o751 || content(t, path) != "new" || names(t, dir) != 2 {
		t.Errorf("mode %v, content %q, %d names", now.Mode, content(t, path), names(t, dir))
	}
	if target, err := os.Readlink(link); err != nil || target != "file" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
}

func TestRestoreLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "old")
	before, _ := OS{}.Stat(path)
	r := replace(t, path, "new")
	if err := errors.Join(r.Swap(), r.Restore()); err != nil {
		t.Fatal(err)
	}
	r.Discard()
	after, err := OS{}.Stat(path)
	if err != nil || content(t, path) != "old" || after.Key != before.Key || names(t, dir) != 1 {
		t.Errorf("%q, %v, %d names", content(t, path), err, names(t, dir))
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	r, err := OS{}.Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "theirs")
	if err := r.Swap(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	r.Discard()
	if content(t, path) != "theirs" || names(t, dir) != 1 {
		t.Errorf("%q, %d names", content(t, path), names(t, dir))
	}
}

func TestHardLinksAreWrittenInPlace(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	write(t, path, "long content")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	like, _ := OS{}.Stat(path)
	if _, err := (OS{}).Replace(path, like); !errors.Is(err, ErrInPlace) {
		t.Fatalf("got %v", err)
	}
	if _, err := (OS{}).Overwrite(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "short")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := content(t, other); got != "short" {
		t.Errorf("the other name shows %q", got)
	}
}

func TestResolveFollowsDanglingLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"a": "b", "b": "sub/../c", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := OS{}.Resolve(filepath.Join(dir, "a"))
	if want := filepath.Join(dir, "c"); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := (OS{}).Resolve(filepath.Join(dir, "loop")); err == nil {
		t.Error("a loop resolves")
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, "/dev/null"} {
		if _, err := (OS{}).Open(path); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSequentialReadsAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "content")
	f, err := Sequential(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close(), f.Close()); err != nil || string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := Sequential(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
