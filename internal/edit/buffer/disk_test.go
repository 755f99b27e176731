package buffer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dragoman/internal/edit/file"
)

func TestSaveKeepsWhatTheFileIs(t *testing.T) {
	w := newWorld(t)
	w.write("f", "\xef\xbb\xbfa\r\nb\nc")
	if err := os.Chmod(w.path("f"), 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", w.path("link")); err != nil {
		t.Fatal(err)
	}
	b := w.openFile("link")
	w.do(b, span(1, 0, 1, 1), "é")
	info, err := w.save(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.read("f"), "\xef\xbb\xbfa\r\né\nc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	st, err := os.Lstat(w.path("link"))
	if err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", st.Mode(), err)
	}
	if st, _ := os.Stat(w.path("f")); st.Mode().Perm() != 0o751 {
		t.Errorf("mode %v", st.Mode())
	}
	if info.Modified || info.SavedRevision != 1 || info.Path != w.path("f") || info.Disk.Hash == "" {
		t.Errorf("%+v", info)
	}
	if names, _ := os.ReadDir(w.dir); len(names) != 3 && len(names) != 2 {
		t.Errorf("left beside it: %v", names)
	}
}

func TestOneBufferAFile(t *testing.T) {
	w := newWorld(t)
	w.write("f", "x")
	if err := errors.Join(os.Symlink("f", w.path("s")), os.Link(w.path("f"), w.path("h"))); err != nil {
		t.Fatal(err)
	}
	first := w.openFile("f")
	for _, name := range []string{"s", "h", "./f"} {
		info, existing, err := w.set.Open(context.Background(), OpenParams{Path: w.dir + "/" + name, Client: "c2"})
		if err != nil || !existing || info.Buffer != first {
			t.Errorf("%s: %v %v %v", name, info.Buffer, existing, err)
		}
	}
	_, _, err := w.set.Open(context.Background(), OpenParams{Path: w.path("f"), Encoding: "latin1"})
	wantCode(t, err, Conflict, ReasonEncoding)
}

func TestOpenRefusals(t *testing.T) {
	w := newWorld(t)
	w.write("bin", "a\x00")
	w.write("bad", "\xff")
	big, err := os.Create(w.path("big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(big.Truncate(MaxOpenBytes+1), big.Close()); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		params OpenParams
		code   Code
	}{
		{OpenParams{Path: "bin"}, BinaryFile},
		{OpenParams{Path: "bad", Encoding: "utf-8"}, NotText},
		{OpenParams{Path: "bad", Encoding: "klingon"}, BadRequest},
		{OpenParams{Path: "."}, Unsupported},
		{OpenParams{Path: "big"}, TooLarge},
	}
	for _, tt := range tests {
		tt.params.Path = w.path(tt.params.Path)
		if _, _, err := w.set.Open(context.Background(), tt.params); CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %s", tt.params.Path, err, tt.code)
		}
	}
	if _, _, err := w.set.Open(context.Background(), OpenParams{Path: w.path("bin"), Force: true}); err != nil {
		t.Errorf("forced: %v", err)
	}
}

func TestNewFilesAndScratch(t *testing.T) {
	w := newWorld(t)
	b := w.openFile("new")
	if i := w.info(b); !i.New || i.Modified || i.Disk != nil {
		t.Errorf("%+v", i)
	}
	w.do(b, span(0, 0, 0, 0), "x\n")
	if _, err := w.save(b); err != nil || w.read("new") != "x\n" || w.info(b).New {
		t.Errorf("%v", err)
	}
	scratch, err := w.set.NewScratch(NewParams{Text: "s", Client: "c1"})
	if err != nil || !scratch.Modified || scratch.Path != "" {
		t.Fatalf("%+v, %v", scratch, err)
	}
	_, err = w.save(scratch.Buffer)
	wantCode(t, err, NoPath, "")
	_, err = w.set.Save(context.Background(), SaveParams{Buffer: scratch.Buffer, Path: w.path("new")})
	wantCode(t, err, Conflict, ReasonPathOpen)
	w.write("there", "old")
	_, err = w.set.Save(context.Background(), SaveParams{Buffer: scratch.Buffer, Path: w.path("there")})
	wantCode(t, err, Exists, "")
	info, err := w.set.Save(context.Background(), SaveParams{Buffer: scratch.Buffer, Path: w.path("there"), Force: true})
	if err != nil || info.Path != w.path("there") || info.Name != "there" || w.read("there") != "s" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestCloseRules(t *testing.T) {
	w := newWorld(t)
	w.write("f", "x")
	b := w.openFile("f")
	if _, _, err := w.set.Open(context.Background(), OpenParams{Path: w.path("f"), Client: "c2"}); err != nil {
		t.Fatal(err)
	}
	w.do(b, span(0, 0, 0, 0), "y")
	if err := w.set.Close(CloseParams{Buffer: b, Client: "c1"}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.set.Close(CloseParams{Buffer: b, Client: "c2"}), Conflict, ReasonModified)
	w.set.Detach("c2")
	if i := w.info(b); len(i.Clients) != 0 {
		t.Errorf("clients %v", i.Clients)
	}
	if err := w.set.Close(CloseParams{Buffer: b, Discard: true}); err != nil {
		t.Fatal(err)
	}
	_, err := w.set.Get(b)
	wantCode(t, err, NoBuffer, "")
}

func TestForeignChangesStopASave(t *testing.T) {
	w := newWorld(t)
	w.write("f", "one\n")
	b := w.openFile("f")
	w.do(b, span(0, 0, 0, 0), "x")
	w.write("f", "two\n")
	_, err := w.save(b)
	wantCode(t, err, Conflict, ReasonDiskChanged)
	var e *Error
	if !errors.As(err, &e) || e.Disk == nil || e.Disk.Size != 4 || w.read("f") != "two\n" {
		t.Fatalf("%+v", e)
	}
	if _, err := w.set.Keep(context.Background(), KeepParams{Buffer: b, Hash: e.Disk.Hash}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.save(b); err != nil || w.read("f") != "xone\n" {
		t.Errorf("%v, %q", err, w.read("f"))
	}
	// The same content written anew is no change.
	w.write("f", "xone\n")
	w.do(b, span(0, 0, 0, 1), "")
	if _, err := w.save(b); err != nil {
		t.Error(err)
	}
}

// faulty is a file system that fails or interferes at chosen places.
type faulty struct {
	file.System
	writeErr  error
	inPlace   bool
	overwrite error
	// beforeSwap runs between the check and the swap.
	beforeSwap func()
}

func (f *faulty) Replace(path string, like file.Stat) (file.Replacement, error) {
	if f.inPlace {
		return nil, file.ErrInPlace
	}
	r, err := f.System.Replace(path, like)
	return &faultyReplacement{r, f}, err
}

func (f *faulty) Overwrite(path string, write func(io.Writer) error) (file.Stat, error) {
	if f.overwrite != nil {
		return file.Stat{}, f.overwrite
	}
	return f.System.Overwrite(path, write)
}

type faultyReplacement struct {
	file.Replacement
	f *faulty
}

func (r *faultyReplacement) Write(p []byte) (int, error) {
	if r.f.writeErr != nil {
		return 0, r.f.writeErr
	}
	return r.Replacement.Write(p)
}

func (r *faultyReplacement) Swap() error {
	if r.f.beforeSwap != nil {
		r.f.beforeSwap()
	}
	return r.Replacement.Swap()
}

// faultyWorld has one modified buffer, and a way to break its saves.
func faultyWorld(t *testing.T) (*world, *faulty, ID) {
	t.Helper()
	w := newWorld(t)
	f := &faulty{System: file.OS{}}
	w.set.files = f
	w.write("f", "one\n")
	b := w.openFile("f")
	w.do(b, span(0, 0, 0, 0), "x")
	return w, f, b
}

func TestDisplacedFileIsPutBack(t *testing.T) {
	w, f, b := faultyWorld(t)
	f.beforeSwap = func() { w.write("f", "theirs\n") }
	_, err := w.save(b)
	wantCode(t, err, Conflict, ReasonDiskChanged)
	if got := w.read("f"); got != "theirs\n" || !w.info(b).Modified {
		t.Errorf("the file holds %q", got)
	}
	f.beforeSwap = func() {
		if err := os.Rename(w.path("f"), w.path("away")); err != nil {
			t.Error(err)
		}
		w.write("f", "swapped\n")
	}
	if _, err := w.set.Save(context.Background(), SaveParams{Buffer: b, Force: true}); err != nil || w.read("f") != "xone\n" {
		t.Errorf("forced: %v", err)
	}
	if names, _ := filepath.Glob(w.path(".f*")); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

func TestFullDiskLosesNothing(t *testing.T) {
	w, f, b := faultyWorld(t)
	f.writeErr = &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	_, err := w.save(b)
	wantCode(t, err, IO, "")
	var e *Error
	if errors.As(err, &e); e.Errno() != "ENOSPC" {
		t.Errorf("errno %q", e.Errno())
	}
	if w.read("f") != "one\n" || w.text(b) != "xone\n" || !w.info(b).Modified {
		t.Error("something was lost")
	}
	if names, _ := filepath.Glob(w.path(".f*")); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

func TestInPlaceSavesAreInTheLogFirst(t *testing.T) {
	w, f, b := faultyWorld(t)
	f.inPlace = true
	f.overwrite = &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	_, err := w.save(b)
	wantCode(t, err, IO, "")
	// The file is torn now, and the core dies.
	w.write("f", "xo")
	w.crash()
	b = w.openFile("f")
	if i := w.info(b); i.Recovery == nil || !i.Recovery.BaseChanged {
		t.Fatalf("%+v", i)
	}
	if _, err := w.set.Recover(b, Origin{}); err != nil {
		t.Fatal(err)
	}
	if got := w.text(b); got != "xone\n" {
		t.Errorf("recovered %q", got)
	}
}

func TestHardLinkedFileIsWrittenInPlace(t *testing.T) {
	w := newWorld(t)
	w.write("f", "one\n")
	if err := os.Link(w.path("f"), w.path("other")); err != nil {
		t.Fatal(err)
	}
	b := w.openFile("f")
	w.do(b, span(0, 0, 0, 3), "1")
	if _, err := w.save(b); err != nil || w.read("other") != "1\n" {
		t.Errorf("%v, %q", err, w.read("other"))
	}
	if i := w.info(b); i.Modified || i.State != OK {
		t.Errorf("%+v", i)
	}
}

func TestVanishedFolderLosesNothing(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(w.path("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("d/f", "one\n")
	b := w.openFile("d/f")
	w.do(b, span(0, 0, 0, 0), "x")
	if err := os.RemoveAll(w.path("d")); err != nil {
		t.Fatal(err)
	}
	_, err := w.save(b)
	wantCode(t, err, NotFound, "")
	if w.text(b) != "xone\n" {
		t.Error("the text is gone")
	}
	if err := w.set.Look(context.Background(), b, Origin{}); err != nil || w.info(b).State != Gone {
		t.Errorf("%v, %s", err, w.info(b).State)
	}
	if err := os.Mkdir(w.path("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.save(b); err != nil || w.read("d/f") != "xone\n" || w.info(b).State != OK {
		t.Errorf("%v", err)
	}
}

func TestUnencodableTextIsNotWritten(t *testing.T) {
	w := newWorld(t)
	w.write("f", "caf\xe9\n")
	b := w.openFile("f")
	w.do(b, span(0, 0, 0, 0), "é€")
	_, err := w.save(b)
	wantCode(t, err, NotText, "")
	var e *Error
	if errors.As(err, &e); e.Char != '€' || *e.Position != at(0, 2) || w.read("f") != "caf\xe9\n" {
		t.Errorf("%+v", e)
	}
	if _, err := w.set.SetFormat(FormatParams{Buffer: b, Encoding: "utf-8", BOM: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.save(b); err != nil || w.read("f") != "\xef\xbb\xbfé€café\n" {
		t.Errorf("%v, %q", err, w.read("f"))
	}
	w.set.mustUndo(b)
	if i := w.info(b); i.Encoding != "latin1" || i.BOM || !i.Modified {
		t.Errorf("after undo %+v", i)
	}
}
