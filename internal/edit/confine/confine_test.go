package confine

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dragoman/internal/edit/file"
	"dragoman/wire/op"
)

// tree makes root/ with a file in it beside secret, and gives both folders.
func tree(t *testing.T) (root, out string, r *Roots) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, out = filepath.Join(base, "root"), filepath.Join(base, "out")
	for _, d := range []string{root + "/dir", out, root + "x", base + "/ROOT"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, s := range map[string]string{
		root + "/dir/in": "inside", out + "/secret": "outside", root + "x/secret": "outside", base + "/ROOT/secret": "outside",
	} {
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err = New(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return root, out, r
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func read(r *Roots, path string) (string, error) {
	f, err := Files{r}.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	s, err := f.Stat()
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, s.Size))
	return string(b), err
}

func code(err error) op.Code {
	if err == nil {
		return ""
	}
	e := op.IO(err, "x")
	return e.Code
}

func TestEveryWayOutIsClosed(t *testing.T) {
	root, out, r := tree(t)
	link(t, out, root+"/away")
	link(t, out+"/secret", root+"/file")
	link(t, out+"/nothing", root+"/dangling")
	link(t, "../out", root+"/relative")
	link(t, "dir/../../out/secret", root+"/winding")
	link(t, "away", root+"/twice")
	for _, path := range []string{
		out + "/secret", "../out/secret", "dir/../../out/secret", root + "/../out/secret",
		"away/secret", "file", "dangling", "relative/secret", "winding", "twice/secret",
		root + "x/secret", filepath.Dir(root) + "/ROOT/secret", filepath.Dir(root), "/", "..",
		"missing/../../out/secret", "/dev/null", "/proc/self/root/etc/passwd", "away", "away/new",
	} {
		t.Run(path, func(t *testing.T) {
			if _, err := r.Resolve(path); code(err) != op.CodeOutsideRoot {
				t.Errorf("Resolve: %v", err)
			}
			if s, err := read(r, path); code(err) != op.CodeOutsideRoot {
				t.Errorf("Open: %q %v", s, err)
			}
			if _, err := (Files{r}).Create(path, 0o644); code(err) != op.CodeOutsideRoot {
				t.Errorf("Create: %v", err)
			}
			if err := r.MkdirAll(path+"/d", 0o755); code(err) != op.CodeOutsideRoot {
				t.Errorf("MkdirAll: %v", err)
			}
		})
	}
	if _, err := os.Lstat(out + "/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a dangling link was followed out:", err)
	}
}

func TestWaysThatStayInside(t *testing.T) {
	root, _, r := tree(t)
	link(t, root+"/dir", root+"/absolute")
	link(t, "../root/dir/in", root+"/outAndIn")
	link(t, "absolute/in", root+"/chain")
	for _, path := range []string{
		"dir/in", root + "/dir/in", "absolute/in", "outAndIn", "chain", "dir/../dir/./in", "dir//in", root + "/../root/dir/in",
	} {
		if s, err := read(r, path); s != "inside" || err != nil {
			t.Errorf("%s: %q %v", path, s, err)
		}
		if real, err := r.Resolve(path); real != root+"/dir/in" || err != nil {
			t.Errorf("%s: %q %v", path, real, err)
		}
	}
	if real, err := r.ResolveName("absolute"); real != root+"/absolute" || err != nil {
		t.Error(real, err)
	}
	if real, err := r.Resolve("missing/new"); real != root+"/missing/new" || err != nil {
		t.Error(real, err)
	}
}

func TestBadPaths(t *testing.T) {
	root, _, r := tree(t)
	link(t, "loop", root+"/loop")
	if _, err := r.Resolve("a\x00b"); code(err) != op.CodeBadRequest {
		t.Error(err)
	}
	if _, err := r.Resolve("loop"); code(err) != op.CodeIO {
		t.Error(err)
	}
	if _, err := read(r, "dir/in/below"); code(err) != op.CodeNotFound {
		t.Error(err)
	}
	if _, err := read(r, "dir"); !errors.Is(err, file.ErrNotRegular) {
		t.Error(err)
	}
}

// What is swapped for a link between finding and using it leads nowhere.
func TestSwapsBetweenFindingAndUsing(t *testing.T) {
	root, out, r := tree(t)
	p, err := r.Place("dir/in")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := os.Rename(root+"/dir", root+"/moved"); err != nil {
		t.Fatal(err)
	}
	link(t, out, root+"/dir")
	if b, err := p.Dir.ReadFile(p.Name); string(b) != "inside" || err != nil {
		t.Errorf("the place moved: %q %v", b, err)
	}
	if err := os.Remove(root + "/moved/in"); err != nil {
		t.Fatal(err)
	}
	link(t, out+"/secret", root+"/moved/in")
	if _, err := p.Dir.ReadFile(p.Name); !Escapes(err) {
		t.Errorf("a link at the place: %v", err)
	}
}

func TestSwapWhileWalking(t *testing.T) {
	root, out, r := tree(t)
	if err := os.WriteFile(out+"/in", []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, out, root+"/evil")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(root+"/dir", root+"/keep")
			_ = os.Rename(root+"/evil", root+"/dir")
			_ = os.Rename(root+"/dir", root+"/evil")
			_ = os.Rename(root+"/keep", root+"/dir")
		}
	})
	inside := 0
	for range 3000 {
		s, err := read(r, "dir/in")
		if s == "inside" {
			inside++
		} else if err == nil {
			t.Errorf("read %q", s)
			break
		}
		if w, err := (Files{r}).Create("dir/new", 0o644); err == nil {
			w.Discard()
		}
	}
	close(stop)
	wg.Wait()
	if inside == 0 {
		t.Error("no read came through")
	}
	left, err := os.ReadDir(out)
	if err != nil || len(left) != 2 {
		t.Errorf("outside: %v %v", left, err)
	}
}

func TestARootThatIsReplacedIsOpenedAnew(t *testing.T) {
	root, out, r := tree(t)
	if err := os.Rename(root, root+"-old"); err != nil {
		t.Fatal(err)
	}
	if _, err := read(r, "dir/in"); code(err) != op.CodeNotFound {
		t.Error(err)
	}
	link(t, out, root)
	if s, err := read(r, root+"/secret"); err == nil {
		t.Errorf("%q", s)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/new", []byte("inside"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := read(r, "new"); s != "inside" {
		t.Errorf("%q %v", s, err)
	}
}

func TestRootsComeAndGo(t *testing.T) {
	root, out, r := tree(t)
	if real, err := r.Add(out); real != out || err != nil {
		t.Fatal(real, err)
	}
	if _, err := r.Add(root + "/dir/.."); err != nil || len(r.List()) != 2 {
		t.Fatal(err, r.List())
	}
	if s, err := read(r, out+"/secret"); s != "outside" {
		t.Error(s, err)
	}
	if holder, ok := r.RootOf(out + "/secret"); holder != out || !ok {
		t.Error(holder)
	}
	if !r.Remove(out) || r.Remove(out) {
		t.Error("Remove")
	}
	if _, err := read(r, out+"/secret"); code(err) != op.CodeOutsideRoot {
		t.Error(err)
	}
}

func TestRename(t *testing.T) {
	root, _, r := tree(t)
	at := func(path string) *Place {
		p, err := r.Place(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	if err := os.WriteFile(root+"/b", []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Rename(at("b"), at("dir/in"), NeverReplace); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := Rename(at("b"), at("dir/in"), Replace); err != nil {
		t.Error(err)
	}
	if s, err := read(r, "dir/in"); s != "b" {
		t.Error(s, err)
	}
	if err := Rename(at("dir"), at("moved"), NeverReplace); err != nil {
		t.Error(err)
	}
	if err := Rename(at("gone"), at("x"), Replace); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestDevicesAndFIFOsAreNotOpened(t *testing.T) {
	r, err := New("/dev")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range []string{"null", "zero", "tty"} {
		if _, err := read(r, name); !errors.Is(err, file.ErrNotRegular) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Files{r}).Overwrite("null", func(io.Writer) error { return nil }); !errors.Is(err, file.ErrNotRegular) {
		t.Error(err)
	}
}

func TestFilesStat(t *testing.T) {
	root, _, r := tree(t)
	s, err := Files{r}.Stat("dir/in")
	if err != nil || s.Size != 6 || s.NotWritable {
		t.Fatalf("%+v %v", s, err)
	}
	direct, err := file.OS{}.Stat(root + "/dir/in")
	if err != nil || !direct.Same(s) {
		t.Errorf("%+v, want %+v (%v)", s, direct, err)
	}
	if _, err := (Files{r}).Overwrite("dir/in", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("x", 3))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got, _ := read(r, "dir/in"); got != "xxx" {
		t.Error(got)
	}
}
