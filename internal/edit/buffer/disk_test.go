package buffer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
	if err := syscall.Mkfifo(w.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
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
		{OpenParams{Path: "fifo"}, Unsupported},
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

func TestDiskChanges(t *testing.T) {
	tests := []struct {
		name, file, edit, disk string
		state                  State
		text                   string
		modified               bool
		reason                 string
	}{
		{"unmodified", "a\nb\nc\n", "", "a\nX\nc\n", OK, "a\nX\nc\n", false, "reload"},
		{"clean merge", "a\nb\nc\n", "1", "a\nb\nX\n", OK, "1a\nb\nX\n", true, "merge"},
		{"conflict", "a\nb\n", "1", "Z\nb\n", InConflict, "1a\nb\n", true, ""},
		{"same on both sides", "a\nb\n", "1", "1a\nb\n", OK, "1a\nb\n", false, ""},
		{"line ends only", "a\nb\n", "", "a\r\nb\r\n", OK, "a\nb\n", false, ""},
		{"binary", "a\n", "", "a\x00", StaleState, "a\n", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.write("f", tt.file)
			b := w.openFile("f")
			if tt.edit != "" {
				w.do(b, span(0, 0, 0, 0), tt.edit)
			}
			w.write("f", tt.disk)
			w.mirror.log = nil
			if err := w.set.Look(context.Background(), b, Origin{Kind: "agent", Run: "r1"}); err != nil {
				t.Fatal(err)
			}
			i := w.info(b)
			if i.State != tt.state || w.text(b) != tt.text || i.Modified != tt.modified {
				t.Errorf("state %s, text %q, modified %v", i.State, w.text(b), i.Modified)
			}
			w.mirror.check(b, tt.text)
			changed := ""
			for _, l := range w.mirror.log {
				if rest, ok := strings.CutPrefix(l, "changed "+string(b)+" "); ok {
					changed = strings.Fields(rest)[1]
				}
			}
			if changed != tt.reason {
				t.Errorf("events %v, want a change by %q", w.mirror.log, tt.reason)
			}
			if tt.state == OK && !tt.modified {
				if _, err := w.save(b); err != nil || w.read("f") != tt.disk {
					t.Errorf("saved %q, %v", w.read("f"), err)
				}
			}
		})
	}
}

func TestWaysOutOfAConflict(t *testing.T) {
	for _, tt := range []struct {
		take  Take
		edits []Edit
		want  string
		clean bool
	}{
		{TakeBuffer, nil, "1a\nb\n", false},
		{TakeDisk, nil, "Z\nb\n", true},
		{TakeEdits, []Edit{{span(0, 0, 0, 2), "both"}}, "both\nb\n", false},
	} {
		t.Run(string(tt.take), func(t *testing.T) {
			w := newWorld(t)
			w.write("f", "a\nb\n")
			b := w.openFile("f")
			w.do(b, span(0, 0, 0, 0), "1")
			w.write("f", "Z\nb\n")
			if err := w.set.Look(context.Background(), b, Origin{}); err != nil {
				t.Fatal(err)
			}
			_, err := w.save(b)
			wantCode(t, err, Conflict, ReasonMerge)
			i, err := w.set.Resolve(ResolveParams{Buffer: b, Take: tt.take, Edits: tt.edits})
			if err != nil || i.State != OK || i.Modified == tt.clean || w.text(b) != tt.want {
				t.Fatalf("%+v, %q, %v", i, w.text(b), err)
			}
			w.mirror.check(b, tt.want)
			if _, err := w.save(b); err != nil || w.read("f") != tt.want {
				t.Errorf("%v, %q", err, w.read("f"))
			}
		})
	}
}

func TestReloadAndCheckDisk(t *testing.T) {
	w := newWorld(t)
	w.write("f", "a\nb\n")
	b := w.openFile("f")
	w.do(b, span(0, 0, 0, 0), "1")
	if st, err := w.set.CheckDisk(context.Background(), nil); err != nil || len(st) != 0 {
		t.Errorf("%v, %v", st, err)
	}
	w.write("f", "c\n")
	st, err := w.set.CheckDisk(context.Background(), []ID{b})
	if err != nil || len(st) != 1 || st[0].Buffer != b || st[0].Gone {
		t.Errorf("%v, %v", st, err)
	}
	_, err = w.set.Reload(context.Background(), ReloadParams{Buffer: b})
	wantCode(t, err, Conflict, ReasonModified)
	i, err := w.set.Reload(context.Background(), ReloadParams{Buffer: b, Discard: true})
	if err != nil || i.Modified || i.SavedRevision != i.Revision || w.text(b) != "c\n" {
		t.Errorf("%+v, %v", i, err)
	}
	w.set.mustUndo(b)
	if w.text(b) != "1a\nb\n" || !w.info(b).Modified {
		t.Errorf("undo gives %q", w.text(b))
	}
	d, err := w.set.DiskText(b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.set.Diff(b, d)
	if want := "@@ -1 +1,2 @@\n-c\n+1a\n+b\n"; err != nil || r.Unified != want {
		t.Errorf("got %q, want %q, %v", r.Unified, want, err)
	}
}

func TestAgentWritesAreMerged(t *testing.T) {
	w := newWorld(t)
	w.write("f", "a\nb\nc\n")
	b := w.openFile("f")
	base, _, err := w.set.Snapshot(b)
	if err != nil {
		t.Fatal(err)
	}
	w.do(b, span(2, 0, 2, 1), "mine")
	agent := Origin{Kind: "agent", Run: "r1"}
	if _, err := w.set.Write(WriteParams{Buffer: b, Base: &base, Text: Literal("theirs\nb\nc\n"), Origin: agent}); err != nil {
		t.Fatal(err)
	}
	if got := w.text(b); got != "theirs\nb\nmine\n" {
		t.Errorf("got %q", got)
	}
	_, err = w.set.Write(WriteParams{Buffer: b, Base: &base, Text: Literal("a\nb\nother\n"), Origin: agent})
	wantCode(t, err, Conflict, ReasonMerge)
	w.mirror.check(b, "theirs\nb\nmine\n")
}

func TestBuffersFollowTheirFiles(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(w.path("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("d/f.go", "x")
	w.write("dd", "y")
	b, other := w.openFile("d/f.go"), w.openFile("dd")
	w.set.Moved(w.path("d"), w.path("e"))
	if i := w.info(b); i.Path != w.path("e/f.go") || i.Language != "go" {
		t.Errorf("%+v", i)
	}
	if i := w.info(other); i.Path != w.path("dd") {
		t.Errorf("%+v", i)
	}
	_, err := w.set.SetPath(PathParams{Buffer: b, Path: w.path("dd")})
	wantCode(t, err, Conflict, ReasonPathOpen)
}

func TestRecovery(t *testing.T) {
	tests := []struct {
		name, disk, want string
		changed          bool
	}{
		{"file as it was", "a\nb\nc\n", "1a\nb\nc\n", false},
		{"file changed elsewhere", "a\nb\nX\n", "1a\nb\nX\n", true},
		{"file changed there", "Z\nb\nc\n", "1a\nb\nc\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.write("f", "a\nb\nc\n")
			b := w.openFile("f")
			w.do(b, span(0, 0, 0, 0), "12")
			w.do(b, span(0, 1, 0, 2), "")
			w.crash()
			w.write("f", tt.disk)
			items, err := w.set.Recoveries()
			if err != nil || len(items) != 1 || items[0].Edits != 2 {
				t.Fatalf("%+v, %v", items, err)
			}
			b = w.openFile("f")
			if r := w.info(b).Recovery; r == nil || r.BaseChanged != tt.changed {
				t.Fatalf("%+v", r)
			}
			i, err := w.set.Recover(b, Origin{Kind: "client"})
			if err != nil || i.Recovery != nil || !i.Modified || w.text(b) != tt.want {
				t.Errorf("%q, %+v, %v", w.text(b), i, err)
			}
			w.mirror.check(b, tt.want)
			w.set.mustUndo(b)
			if w.text(b) != tt.disk {
				t.Errorf("undo gives %q", w.text(b))
			}
			if items, _ := w.set.Recoveries(); len(items) != 0 {
				t.Errorf("left: %+v", items)
			}
		})
	}
}

func TestScratchBuffersComeBack(t *testing.T) {
	w := newWorld(t)
	i, err := w.set.NewScratch(NewParams{Name: "notes", Text: "one\r\n"})
	if err != nil {
		t.Fatal(err)
	}
	w.do(i.Buffer, span(1, 0, 1, 0), "two")
	w.crash()
	items, err := w.set.Recoveries()
	if err != nil || len(items) != 1 || items[0].Name != "notes" {
		t.Fatalf("%+v, %v", items, err)
	}
	i, err = w.set.RecoverScratch(items[0].ID, "c1")
	if err != nil || w.text(i.Buffer) != "one\ntwo" || !i.Modified {
		t.Errorf("%+v, %v", i, err)
	}
	wantCode(t, w.set.Forget(items[0].ID), NotFound, "")
}

func TestSavesAndDiscardsDropTheLog(t *testing.T) {
	w := newWorld(t)
	for i, end := range []func(b ID) error{
		func(b ID) error { _, err := w.save(b); return err },
		func(b ID) error { return w.set.Close(CloseParams{Buffer: b, Discard: true, All: true}) },
	} {
		name := fmt.Sprint("f", i)
		w.write(name, "x")
		b := w.openFile(name)
		w.do(b, span(0, 0, 0, 0), "y")
		if err := errors.Join(w.logs.Sync(), end(b), w.logs.Sync()); err != nil {
			t.Fatal(err)
		}
		if names, _ := os.ReadDir(w.path(".state")); len(names) != 0 {
			t.Errorf("left: %v", names)
		}
	}
}
