package fs_test

import (
	"encoding/base64"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"dragoman/client"
	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/trash"
	"dragoman/internal/edit/watch"
	buffers "dragoman/internal/namespace/buffer"
	"dragoman/internal/namespace/fs"
	"dragoman/internal/namespace/spacetest"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a core with the buffer and fs namespaces.
type world struct {
	*spacetest.World
	set     *buffer.Set
	watcher *watch.Watcher
	c       *spacetest.Client
}

// paths confines for the buffer namespace.
type paths struct{ confine.Files }

func (p paths) Exists(path string) bool {
	_, err := p.Stat(path)
	return err == nil
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &world{}
	for name, s := range files {
		put(t, filepath.Join(root, name), s)
	}
	x.World = spacetest.New(t, root, func(w *spacetest.World) {
		roots, err := confine.New(root)
		if err != nil {
			t.Fatal(err)
		}
		in := confine.Files{Roots: roots}
		sink := fs.NewSink(w.Hub, in)
		x.set = buffer.New(buffer.Options{Files: in, Observer: sink.Observing(buffers.Observe(w.Hub))})
		sink.Use(x.set)
		x.watcher = watch.New(watch.Options{Sink: sink})
		bin, err := trash.Open(filepath.Join(t.TempDir(), "trash"))
		if err != nil {
			t.Fatal(err)
		}
		if err := x.watcher.Add(t.Context(), root); err != nil {
			t.Fatal(err)
		}
		if _, err := x.watcher.Files(t.Context(), root); err != nil {
			t.Fatal(err)
		}
		buffers.New(buffers.Options{Set: x.set, Paths: paths{in}}).Bind(w.Mux)
		fs.New(fs.Options{Roots: roots, Buffers: x.set, Watcher: x.watcher, Trash: bin}).Bind(w.Mux)
		t.Cleanup(func() {
			x.watcher.Close()
			sink.Close()
			roots.Close()
			bin.Close()
		})
	})
	x.c = x.Attach()
	return x
}

func put(t *testing.T, path, s string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(s), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (x *world) content(name string) string {
	x.T.Helper()
	b, err := os.ReadFile(filepath.Join(x.Root, name))
	if err != nil {
		x.T.Fatal(err)
	}
	return string(b)
}

func in(path string) core.PathIn { return core.PathIn{Path: path} }

func ref[T any](v T) *T { return &v }

func names(entries []core.FsEntry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name)
	}
	return strings.Join(out, " ")
}

func TestList(t *testing.T) {
	x := newWorld(t, map[string]string{
		"f10": "", "f9": "xyz", "F1": "", ".h": "", "out/x": "", ".gitignore": "out\n", "d/e/f": "",
	})
	if err := os.Symlink("d", x.Root+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", x.Root+"/out-link"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    core.FsListParams
		want string
		cut  bool
	}{
		{core.FsListParams{}, "d F1 f9 f10 link out-link", false},
		{core.FsListParams{Hidden: true, Ignored: true}, ".gitignore .h d F1 f9 f10 link out out-link", false},
		{core.FsListParams{Depth: ref(3)}, "d e f F1 f9 f10 link out-link", false},
		{core.FsListParams{Limit: ref(2)}, "d F1", true},
		{core.FsListParams{PathMaybe: core.PathMaybe{Path: "link"}}, "e", false},
	} {
		r := spacetest.MustCall(x.c, core.FsList, c.p)
		if got := names(r.Entries); got != c.want || r.Truncated != c.cut {
			t.Errorf("%+v: %s %v", c.p, got, r.Truncated)
		}
	}
	r := spacetest.MustCall(x.c, core.FsList, core.FsListParams{})
	link, out := r.Entries[4], r.Entries[5]
	if link.Type != core.TypeSymlink || link.Target != "d" || link.TargetType != core.TypeDir {
		t.Errorf("%+v", link)
	}
	if out.Target != "/etc" || out.TargetType != "" {
		t.Errorf("%+v", out)
	}
	if e := r.Entries[2]; e.Size != 3 || e.Mode != "0644" || e.Path != x.Root+"/f9" {
		t.Errorf("%+v", e)
	}
	_, e := spacetest.Call(x.c, core.FsList, core.FsListParams{Depth: ref(0)})
	spacetest.Want(t, e, op.CodeBadRequest, "out_of_range")
	_, e = spacetest.Call(x.c, core.FsList, core.FsListParams{PathMaybe: core.PathMaybe{Path: "out-link"}})
	spacetest.Want(t, e, op.CodeOutsideRoot, "")
	_, e = spacetest.Call(x.c, core.FsList, core.FsListParams{PathMaybe: core.PathMaybe{Path: "nothing"}})
	spacetest.Want(t, e, op.CodeNotFound, "")
}

func TestStat(t *testing.T) {
	x := newWorld(t, map[string]string{"f": "abc"})
	b := spacetest.MustCall(x.c, core.BufferOpen, core.BufferOpenParams{PathIn: in("f")})
	r := spacetest.MustCall(x.c, core.FsStat, core.FsPathParams{PathIn: in("f")})
	if r.Buffer != b.Buffer || !r.Writable || r.Real != x.Root+"/f" || r.Hash == nil || !strings.HasPrefix(*r.Hash, "sha256:ba7816bf") {
		t.Errorf("%+v", r)
	}
	for path, code := range map[string]op.Code{"g": op.CodeNotFound, "../x": op.CodeOutsideRoot, "f/x": op.CodeNotFound} {
		_, e := spacetest.Call(x.c, core.FsStat, core.FsPathParams{PathIn: in(path)})
		spacetest.Want(t, e, code, "")
	}
	_, e := spacetest.Call(x.c, core.FsStat, core.FsPathParams{PathIn: in("a\x00b")})
	spacetest.Want(t, e, op.CodeBadRequest, "nul")
}

func TestRead(t *testing.T) {
	x := newWorld(t, map[string]string{
		"crlf": "\uFEFFa\r\nbä\r\nc\n", "latin": "\xe4", "bin": "a\x00b", "long": strings.Repeat("line\n", 2<<20),
	})
	r := spacetest.MustCall(x.c, core.FsRead, core.FsReadParams{PathIn: in("crlf")})
	if *r.Text != "a\nbä\nc\n" || r.Encoding != "utf-8" || !*r.BOM || r.EOL != core.CRLF || !*r.Mixed || r.Next != nil {
		t.Errorf("%q %+v", *r.Text, r)
	}
	r = spacetest.MustCall(x.c, core.FsRead, core.FsReadParams{PathIn: in("crlf"), Range: &core.Range{
		Start: core.Position{Line: 1}, End: core.Position{Line: 1, Character: 3},
	}})
	if *r.Text != "bä" {
		t.Errorf("%q", *r.Text)
	}
	if r = spacetest.MustCall(x.c, core.FsRead, core.FsReadParams{PathIn: in("latin")}); *r.Text != "ä" || r.Encoding != "latin1" {
		t.Errorf("%+v", r)
	}
	r = spacetest.MustCall(x.c, core.FsRead, core.FsReadParams{PathIn: in("bin"), Bytes: &core.ByteRange{From: 1, Length: 1}})
	if string(*r.Base64) != "\x00" || *r.From != 1 || r.Next != nil || r.Size != 3 {
		t.Errorf("%+v", r)
	}
	r = spacetest.MustCall(x.c, core.FsRead, core.FsReadParams{PathIn: in("long")})
	if len(*r.Text) > 8<<20 || r.Next == nil || r.Next.Position.Character != 0 || int64(len(*r.Text)) != r.Next.Position.Line*5 {
		t.Errorf("%d bytes, next %+v", len(*r.Text), r.Next)
	}
	for _, c := range []struct {
		p      core.FsReadParams
		code   op.Code
		reason string
	}{
		{core.FsReadParams{PathIn: in("bin")}, op.CodeBinaryFile, ""},
		{core.FsReadParams{PathIn: in("latin"), Encoding: "utf-8"}, op.CodeNotText, ""},
		{core.FsReadParams{PathIn: in("latin"), Encoding: "klingon"}, op.CodeBadRequest, "unknown"},
		{core.FsReadParams{PathIn: in(".")}, op.CodeUnsupported, ""},
		{core.FsReadParams{PathIn: in("crlf"), Range: &core.Range{End: core.Position{Line: 9}}}, op.CodeBadIndex, ""},
		{core.FsReadParams{PathIn: in("/etc/passwd")}, op.CodeOutsideRoot, ""},
	} {
		_, e := spacetest.Call(x.c, core.FsRead, c.p)
		spacetest.Want(t, e, c.code, c.reason)
	}
}

func TestWrite(t *testing.T) {
	x := newWorld(t, map[string]string{"old": "a\r\n"})
	write := func(p core.FsWriteParams) (core.FsWriteResult, *op.Error) {
		return spacetest.Call(x.c, core.FsWrite, p)
	}
	text := func(s string) core.BytesOrText { return core.BytesOrText{Text: &s} }
	r, e := write(core.FsWriteParams{PathIn: in("new"), BytesOrText: text("1\n2"), EOL: core.CRLF, Encoding: "utf-16le", BOM: ref(true)})
	if e != nil || x.content("new") != "\xff\xfe1\x00\r\x00\n\x002\x00" || !r.Saved || r.Bytes != 10 {
		t.Errorf("%+v %v %q", r, e, x.content("new"))
	}
	_, e = write(core.FsWriteParams{PathIn: in("old"), BytesOrText: text("x")})
	spacetest.Want(t, e, op.CodeExists, "")
	disk, ok := e.Data["disk"].(map[string]any)
	if !ok {
		t.Fatalf("%+v", e.Data)
	}
	_, e = write(core.FsWriteParams{PathIn: in("old"), BytesOrText: text("x"), IfHash: op.Null[string]()})
	spacetest.Want(t, e, op.CodeExists, "")
	_, e = write(core.FsWriteParams{PathIn: in("old"), BytesOrText: text("x"), IfHash: op.Some("sha256:00")})
	spacetest.Want(t, e, op.CodeExists, "")
	_, e = write(core.FsWriteParams{PathIn: in("old"), BytesOrText: text("x\ny\n"), IfHash: op.Some(disk["hash"].(string))})
	if e != nil || x.content("old") != "x\r\ny\r\n" {
		t.Errorf("%v %q", e, x.content("old"))
	}
	raw, _ := base64.StdEncoding.DecodeString("AAH/")
	if _, e = write(core.FsWriteParams{PathIn: in("p/q/r"), BytesOrText: core.BytesOrText{Base64: raw}, CreateFolders: true}); e != nil || x.content("p/q/r") != "\x00\x01\xff" {
		t.Error(e)
	}
	for _, c := range []struct {
		p      core.FsWriteParams
		code   op.Code
		reason string
	}{
		{core.FsWriteParams{PathIn: in("no/folder"), BytesOrText: text("")}, op.CodeNotFound, ""},
		{core.FsWriteParams{PathIn: in("p"), BytesOrText: text("")}, op.CodeExists, ""},
		{core.FsWriteParams{PathIn: in("z"), BytesOrText: text("ж"), Encoding: "latin1"}, op.CodeNotText, ""},
		{core.FsWriteParams{PathIn: in("z"), BytesOrText: text(""), Encoding: "latin1", BOM: ref(true)}, op.CodeBadRequest, "encoding"},
		{core.FsWriteParams{PathIn: in("z"), BytesOrText: core.BytesOrText{Base64: raw}, EOL: core.LF}, op.CodeBadRequest, "exclusive"},
		{core.FsWriteParams{PathIn: in("z"), BytesOrText: text(""), IfHash: op.Some("sha256:00")}, op.CodeNotFound, ""},
		{core.FsWriteParams{PathIn: in("../z"), BytesOrText: text("")}, op.CodeOutsideRoot, ""},
	} {
		_, e := write(c.p)
		spacetest.Want(t, e, c.code, c.reason)
	}
	if _, err := os.Lstat(x.Root + "/z"); !errors.Is(err, iofs.ErrNotExist) {
		t.Error("a refused write left something:", err)
	}
}

func TestWriteThroughAnOpenBuffer(t *testing.T) {
	x := newWorld(t, map[string]string{"f": "one\n"})
	b := spacetest.MustCall(x.c, core.BufferOpen, core.BufferOpenParams{PathIn: in("f")})
	write := func(s string, hash string) core.FsWriteResult {
		return spacetest.MustCall(x.c, core.FsWrite, core.FsWriteParams{
			PathIn: in("f"), BytesOrText: core.BytesOrText{Text: &s}, IfHash: op.Some(hash),
		})
	}
	r := write("two\n", *b.Disk.Hash)
	if r.Buffer != b.Buffer || !r.Saved || x.content("f") != "two\n" {
		t.Errorf("%+v", r)
	}
	spacetest.MustCall(x.c, core.BufferUndo, core.BufferUndoParams{Buffer: b.Buffer})
	r = write("three\n", r.Hash)
	if r.Saved || x.content("f") != "two\n" {
		t.Errorf("%+v %q", r, x.content("f"))
	}
	got := spacetest.MustCall(x.c, core.BufferText, core.BufferTextParams{Buffer: b.Buffer})
	if got.Text != "three\n" {
		t.Errorf("%q", got.Text)
	}
}

// changes waits for fs.changed of that kind and path.
func (x *world) changes(kind core.ChangeKind, name string) (core.FsChange, core.Origin) {
	x.T.Helper()
	var found core.FsChange
	var origin core.Origin
	x.c.Await(func(e client.Event) bool {
		var p core.FsChangedParams
		if e.Name != core.FsChanged.Name || json.Unmarshal(e.Params, &p) != nil {
			return false
		}
		for _, c := range p.Changes {
			if c.Kind == kind && c.Path == filepath.Join(x.Root, name) {
				found, origin = c, p.Origin
				return true
			}
		}
		return false
	})
	return found, origin
}

func TestChanges(t *testing.T) {
	x := newWorld(t, map[string]string{"f": "1", "g": "2"})
	e := spacetest.MustCall(x.c, core.FsCreate, core.FsCreateParams{PathIn: in("new"), Type: core.TypeFile})
	if e.Path != x.Root+"/new" || e.Type != core.TypeFile {
		t.Errorf("%+v", e)
	}
	if _, o := x.changes(core.Created, "new"); o.Kind != core.OriginClient || o.Certainty != core.Exact || o.Reason != "create" || o.Client == "" {
		t.Errorf("%+v", o)
	}
	spacetest.MustCall(x.c, core.FsMkdir, core.FsPathParams{PathIn: in("a/b/c")})
	x.changes(core.Created, "a/b/c")
	for _, p := range []core.FsCreateParams{{PathIn: in("f"), Type: core.TypeFile}, {PathIn: in("a"), Type: core.TypeDir}} {
		_, err := spacetest.Call(x.c, core.FsCreate, p)
		spacetest.Want(t, err, op.CodeExists, "")
	}
	_, err := spacetest.Call(x.c, core.FsMkdir, core.FsPathParams{PathIn: in("a")})
	spacetest.Want(t, err, op.CodeExists, "")
	_, err = spacetest.Call(x.c, core.FsCreate, core.FsCreateParams{PathIn: in("q"), Type: core.TypeSymlink})
	spacetest.Want(t, err, op.CodeBadRequest, "not_one_of")

	b := spacetest.MustCall(x.c, core.BufferOpen, core.BufferOpenParams{PathIn: in("f")})
	spacetest.MustCall(x.c, core.FsRename, core.FsRenameParams{From: "f", To: "a/f"})
	if c, _ := x.changes(core.Renamed, "a/f"); c.From != x.Root+"/f" {
		t.Errorf("%+v", c)
	}
	if i := spacetest.MustCall(x.c, core.BufferGet, core.BufferParams{Buffer: b.Buffer}); i.Path == nil || *i.Path != x.Root+"/a/f" {
		t.Errorf("%+v", i)
	}
	_, err = spacetest.Call(x.c, core.FsRename, core.FsRenameParams{From: "g", To: "a/f"})
	spacetest.Want(t, err, op.CodeExists, "")
	_, err = spacetest.Call(x.c, core.FsRename, core.FsRenameParams{From: "g", To: "a/f", Overwrite: true})
	spacetest.Want(t, err, op.CodeConflict, "path_open")
	_, err = spacetest.Call(x.c, core.FsRename, core.FsRenameParams{From: "a", To: "a/b/d"})
	spacetest.Want(t, err, op.CodeUnsupported, "")
	_, err = spacetest.Call(x.c, core.FsRename, core.FsRenameParams{From: ".", To: "a/b/d"})
	spacetest.Want(t, err, op.CodeUnsupported, "")
	_, err = spacetest.Call(x.c, core.FsRename, core.FsRenameParams{From: "zz", To: "y"})
	spacetest.Want(t, err, op.CodeNotFound, "")
	_, err = spacetest.Call(x.c, core.FsRename, core.FsRenameParams{From: "g", To: "/tmp/y"})
	spacetest.Want(t, err, op.CodeOutsideRoot, "")
	_, err = spacetest.Call(x.c, core.FsRename, core.FsRenameParams{From: "g\x00", To: "y"})
	spacetest.Want(t, err, op.CodeBadRequest, "nul")

	spacetest.MustDo(x.c, core.FsCopy, core.FsCopyParams{From: "a", To: "copy"})
	if x.content("copy/f") != "1" {
		t.Error("copy")
	}
	x.changes(core.Created, "copy/f")
	_, err = spacetest.Do(x.c, core.FsCopy, core.FsCopyParams{From: "a", To: "copy"})
	spacetest.Want(t, err, op.CodeExists, "")
	_, err = spacetest.Do(x.c, core.FsCopy, core.FsCopyParams{From: "a", To: "a/b/x"})
	spacetest.Want(t, err, op.CodeUnsupported, "")
}

func TestTrash(t *testing.T) {
	x := newWorld(t, map[string]string{"d/f": "12", "g": "3"})
	_, err := spacetest.Do(x.c, core.FsDelete, core.FsDeleteParams{PathIn: in("d")})
	if spacetest.Want(t, err, op.CodeIO, ""); err.Data["errno"] != "ENOTEMPTY" {
		t.Error(err.Data)
	}
	b := spacetest.MustCall(x.c, core.BufferOpen, core.BufferOpenParams{PathIn: in("d/f")})
	spacetest.MustDo(x.c, core.FsDelete, core.FsDeleteParams{PathIn: in("d"), Recursive: true})
	x.changes(core.Removed, "d/f")
	if i := spacetest.MustCall(x.c, core.BufferGet, core.BufferParams{Buffer: b.Buffer}); i.State != "gone" {
		t.Errorf("%+v", i)
	}
	list := spacetest.MustCall(x.c, core.FsListTrash, core.None{})
	if len(list.Items) != 1 || list.Items[0].Path != x.Root+"/d" || list.Items[0].Size != 2 || list.Items[0].Origin.Kind != core.OriginClient {
		t.Fatalf("%+v", list)
	}
	item := list.Items[0].Item
	put(t, x.Root+"/taken", "")
	_, err = spacetest.Do(x.c, core.FsRestore, core.FsRestoreParams{Item: item, To: "taken"})
	spacetest.Want(t, err, op.CodeExists, "")
	_, err = spacetest.Do(x.c, core.FsRestore, core.FsRestoreParams{Item: item, To: "/tmp/out"})
	spacetest.Want(t, err, op.CodeOutsideRoot, "")
	e := spacetest.MustDo(x.c, core.FsRestore, core.FsRestoreParams{Item: item})
	if e.Path != x.Root+"/d" || x.content("d/f") != "12" {
		t.Errorf("%+v", e)
	}
	_, err = spacetest.Do(x.c, core.FsRestore, core.FsRestoreParams{Item: item})
	spacetest.Want(t, err, op.CodeNotFound, "")
	spacetest.MustDo(x.c, core.FsDelete, core.FsDeleteParams{PathIn: in("g")})
	_, err = spacetest.Do(x.c, core.FsEmptyTrash, core.FsEmptyTrashParams{Items: []string{"nothing"}})
	spacetest.Want(t, err, op.CodeNotFound, "")
	spacetest.MustDo(x.c, core.FsEmptyTrash, core.FsEmptyTrashParams{})
	spacetest.MustDo(x.c, core.FsDelete, core.FsDeleteParams{PathIn: in("d"), Recursive: true, Permanent: true})
	if list := spacetest.MustCall(x.c, core.FsListTrash, core.None{}); len(list.Items) != 0 {
		t.Errorf("%+v", list)
	}
	for path, code := range map[string]op.Code{"zz": op.CodeNotFound, ".": op.CodeUnsupported, "..": op.CodeOutsideRoot} {
		_, err := spacetest.Do(x.c, core.FsDelete, core.FsDeleteParams{PathIn: in(path), Recursive: true})
		spacetest.Want(t, err, code, "")
	}
}

func TestGlob(t *testing.T) {
	x := newWorld(t, map[string]string{"a.go": "", "d/b10.go": "", "d/b9.go": "", ".h.go": "", "i.go": "", ".gitignore": "i.go\n"})
	glob := func(p core.FsGlobParams) string {
		r := spacetest.MustDo(x.c, core.FsGlob, p)
		return strings.ReplaceAll(strings.Join(r.Paths, " "), x.Root+"/", "")
	}
	for _, c := range []struct {
		p    core.FsGlobParams
		want string
	}{
		{core.FsGlobParams{Pattern: "*.go"}, "a.go d/b9.go d/b10.go"},
		{core.FsGlobParams{Pattern: "/*.go", Hidden: true, Ignored: true}, ".h.go a.go i.go"},
		{core.FsGlobParams{Pattern: "d/"}, "d"},
		{core.FsGlobParams{Pattern: "*", PathMaybe: core.PathMaybe{Path: "d"}, Limit: ref(1)}, "d/b9.go"},
	} {
		if got := glob(c.p); got != c.want {
			t.Errorf("%+v: %s", c.p, got)
		}
	}
	_, err := spacetest.Do(x.c, core.FsGlob, core.FsGlobParams{Pattern: "!x"})
	spacetest.Want(t, err, op.CodeBadRequest, "syntax")
	_, err = spacetest.Do(x.c, core.FsGlob, core.FsGlobParams{Pattern: "x", PathMaybe: core.PathMaybe{Path: "zz"}})
	spacetest.Want(t, err, op.CodeNotFound, "")
}

func TestWatch(t *testing.T) {
	x := newWorld(t, map[string]string{".gitignore": "out\n", "out/f": "1"})
	w := spacetest.MustCall(x.c, core.FsWatch, core.FsWatchParams{PathIn: in("out"), Recursive: true})
	put(t, x.Root+"/out/f", "22")
	if _, o := x.changes(core.Changed, "out/f"); o.Kind != core.OriginDisk {
		t.Errorf("%+v", o)
	}
	other := x.Attach()
	_, err := spacetest.Call(other, core.FsUnwatch, w)
	spacetest.Want(t, err, op.CodeNotFound, "")
	spacetest.MustCall(x.c, core.FsUnwatch, w)
	_, err = spacetest.Call(x.c, core.FsUnwatch, w)
	spacetest.Want(t, err, op.CodeNotFound, "")
	_, err = spacetest.Call(x.c, core.FsWatch, core.FsWatchParams{PathIn: in("/etc")})
	spacetest.Want(t, err, op.CodeOutsideRoot, "")
}
