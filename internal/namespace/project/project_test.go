package project_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"dragoman/client"
	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/watch"
	buffers "dragoman/internal/namespace/buffer"
	"dragoman/internal/namespace/fs"
	"dragoman/internal/namespace/project"
	"dragoman/internal/namespace/spacetest"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a core with the buffer, fs and project namespaces.
type world struct {
	*spacetest.World
	c     *spacetest.Client
	state string
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
	for name, s := range files {
		put(t, filepath.Join(root, name), s)
	}
	x := &world{state: t.TempDir()}
	x.World = spacetest.New(t, root, func(w *spacetest.World) {
		roots, err := confine.New(root)
		if err != nil {
			t.Fatal(err)
		}
		in := confine.Files{Roots: roots}
		sink := fs.NewSink(w.Hub, in)
		set := buffer.New(buffer.Options{Files: in, Observer: sink.Observing(buffers.Observe(w.Hub))})
		sink.Use(set)
		watcher := watch.New(watch.Options{Sink: sink})
		if err := watcher.Add(t.Context(), root); err != nil {
			t.Fatal(err)
		}
		buffers.New(buffers.Options{Set: set, Paths: paths{in}}).Bind(w.Mux)
		files := fs.New(fs.Options{Roots: roots, Buffers: set, Watcher: watcher})
		files.Bind(w.Mux)
		project.New(project.Options{
			Roots: roots, Buffers: set, Watcher: watcher, Files: files, Events: w.Hub, StateDir: x.state,
		}).Bind(w.Mux)
		t.Cleanup(func() {
			watcher.Close()
			sink.Close()
			roots.Close()
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

func ref[T any](v T) *T { return &v }

// search runs a search and gives its result and matches as path:line:char:text.
func (x *world) search(p core.ProjectSearchParams) (core.ProjectSearchResult, []string, []core.ProjectMatchesParams) {
	x.T.Helper()
	id, err := core.ProjectSearch.Start(x.T.Context(), x.c, p)
	if err != nil {
		x.T.Fatal(err)
	}
	raw, e := x.c.Ended(id)
	if e != nil {
		x.T.Fatal(e)
	}
	var r core.ProjectSearchResult
	if err := json.Unmarshal(raw, &r); err != nil {
		x.T.Fatal(err)
	}
	var lines []string
	var batches []core.ProjectMatchesParams
	for _, ev := range x.c.OfRun(id) {
		var b core.ProjectMatchesParams
		if ev.Name != core.ProjectMatches.Name || json.Unmarshal(ev.Params, &b) != nil {
			continue
		}
		batches = append(batches, b)
		for _, m := range b.Matches {
			path := "-"
			if b.File.Path != nil {
				path = *b.File.Path
			}
			lines = append(lines, fmt.Sprintf("%s:%d:%d:%s", path, m.Range.Start.Line, m.Range.Start.Character, m.Text))
		}
	}
	slices.Sort(lines)
	return r, lines, batches
}

func TestSearch(t *testing.T) {
	x := newWorld(t, map[string]string{
		"a.txt": "one\ntwo öne one\n", "d/b.go": "ONE\r\nx one\r\n", ".hidden": "one", "ignored": "one", ".gitignore": "ignored\n",
		"bin": "one\x00", "latin": "\xe4 one", "utf16": "\xff\xfeo\x00n\x00e\x00",
	})
	for name, c := range map[string]struct {
		p    core.ProjectSearchParams
		want string
	}{
		"literal": {core.ProjectSearchParams{Query: "one"},
			"a.txt:0:0:one|a.txt:1:9:two öne one|d/b.go:1:2:x one|latin:0:3:ä one|utf16:0:0:one"},
		"globs":   {core.ProjectSearchParams{Query: "one", Globs: []string{"*.go"}}, "d/b.go:1:2:x one"},
		"exclude": {core.ProjectSearchParams{Query: "one", Globs: []string{"*.go", "*.txt"}, Exclude: []string{"d"}}, "a.txt:0:0:one|a.txt:1:9:two öne one"},
		"regexp": {core.ProjectSearchParams{Query: "^x? ?one$", Options: core.FindOptions{Regex: true, IgnoreCase: true}, Globs: []string{"*.go"}},
			"d/b.go:0:0:ONE|d/b.go:1:0:x one"},
		"only buffers": {core.ProjectSearchParams{Query: "one", Buffers: core.OverlayOnly}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, lines, _ := x.search(c.p)
			if got := strings.Join(lines, "|"); got != c.want || r.Matches != len(lines) || r.Truncated {
				t.Errorf("%s\n%+v", got, r)
			}
		})
	}
	r, _, _ := x.search(core.ProjectSearchParams{Query: "one"})
	if r.SearchedFiles != 4 || r.Files != 4 || len(r.Skipped) != 1 || r.Skipped[0].Code != op.CodeBinaryFile || r.Skipped[0].Path != x.Root+"/bin" {
		t.Errorf("%+v", r)
	}
	r, lines, _ := x.search(core.ProjectSearchParams{Query: "one", Max: ref(2)})
	if !r.Truncated || len(lines) != 2 || r.Matches != 2 {
		t.Errorf("%+v %q", r, lines)
	}
	_, _, batches := x.search(core.ProjectSearchParams{Query: "two", ContextLines: 1})
	if m := batches[0].Matches[0]; !slices.Equal(m.Before, []string{"one"}) || len(m.After) != 0 {
		t.Errorf("%+v", m)
	}
}

func TestSearchRefusals(t *testing.T) {
	x := newWorld(t, nil)
	for _, c := range []struct {
		p      core.ProjectSearchParams
		code   op.Code
		reason string
	}{
		{core.ProjectSearchParams{Query: "("}, "", ""},
		{core.ProjectSearchParams{Query: "(", Options: core.FindOptions{Regex: true}}, op.CodeBadRequest, "syntax"},
		{core.ProjectSearchParams{Query: ""}, op.CodeBadRequest, "syntax"},
		{core.ProjectSearchParams{Query: "x", Max: ref(0)}, op.CodeBadRequest, "out_of_range"},
		{core.ProjectSearchParams{Query: "x", ContextLines: -1}, op.CodeBadRequest, "out_of_range"},
		{core.ProjectSearchParams{Query: "x", Root: "/nowhere"}, op.CodeNotFound, ""},
	} {
		_, err := core.ProjectSearch.Start(t.Context(), x.c, c.p)
		if c.code == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		spacetest.Want(t, spacetest.AsError(t, err), c.code, c.reason)
	}
}

func TestUnsavedTextOverlaysTheDisk(t *testing.T) {
	x := newWorld(t, map[string]string{"f": "disk\n", "g": "disk\n"})
	b := spacetest.MustCall(x.c, core.BufferOpen, core.BufferOpenParams{PathIn: core.PathIn{Path: "f"}})
	spacetest.MustCall(x.c, core.BufferEdit, core.BufferEditParams{Buffer: b.Buffer, Edits: []core.Edit{{Text: "unsaved "}}})
	scratch := spacetest.MustCall(x.c, core.BufferNew, core.BufferNewParams{Text: "scratch unsaved"})
	_, lines, _ := x.search(core.ProjectSearchParams{Query: "unsaved"})
	if got := strings.Join(lines, "|"); got != "-:0:8:scratch unsaved|f:0:0:unsaved disk" {
		t.Error(got)
	}
	_, lines, batches := x.search(core.ProjectSearchParams{Query: "disk"})
	if got := strings.Join(lines, "|"); got != "f:0:8:unsaved disk|g:0:0:disk" {
		t.Error(got)
	}
	for _, batch := range batches {
		if *batch.File.Path == "f" && (batch.File.Buffer != b.Buffer || batch.File.Revision == nil) {
			t.Errorf("%+v", batch.File)
		}
	}
	if _, lines, _ = x.search(core.ProjectSearchParams{Query: "unsaved", Buffers: core.OverlayOff}); len(lines) > 0 {
		t.Error(lines)
	}
	if _, lines, _ = x.search(core.ProjectSearchParams{Query: "disk", Buffers: core.OverlayOnly}); len(lines) != 1 {
		t.Error(lines, scratch.Buffer)
	}
}

func TestLongLinesAreClippedAndBatchesBounded(t *testing.T) {
	long := strings.Repeat("ä", 3000) + "needle" + strings.Repeat("b", 3000)
	x := newWorld(t, map[string]string{"long": long, "many": strings.Repeat("hit\n", 450)})
	_, _, batches := x.search(core.ProjectSearchParams{Query: "needle"})
	m := batches[0].Matches[0]
	if !m.Truncated || len(m.Text) > 1000 || m.Range.Start.Character != 6000 || m.Text[m.Range.Start.Character-m.TextStart:][:6] != "needle" {
		t.Errorf("%+v", m)
	}
	r, _, batches := x.search(core.ProjectSearchParams{Query: "hit"})
	if len(batches) != 3 || len(batches[0].Matches) != 200 || r.Files != 1 || r.Matches != 450 {
		t.Errorf("%d batches, %+v", len(batches), r)
	}
}

func TestSearchIsCancelled(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%d", i%10, i)] = strings.Repeat("abcdefgh", 20_000)
	}
	x := newWorld(t, files)
	id, err := core.ProjectSearch.Start(t.Context(), x.c, core.ProjectSearchParams{Query: "[a-h]+z", Options: core.FindOptions{Regex: true}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	spacetest.MustCall(x.c, core.RunCancel, core.RunParams{Run: id})
	_, e := x.c.Ended(id)
	spacetest.Want(t, e, op.CodeCancelled, "")
	t.Logf("ended after %v", time.Since(start))
	x.c.OfRun(id)
}

// preview computes a replacement.
func (x *world) preview(p core.ProjectReplaceParams) (core.ProjectReplaceResult, []core.ProjectEditsParams) {
	x.T.Helper()
	id, err := core.ProjectReplace.Start(x.T.Context(), x.c, p)
	if err != nil {
		x.T.Fatal(err)
	}
	raw, e := x.c.Ended(id)
	if e != nil {
		x.T.Fatal(e)
	}
	var r core.ProjectReplaceResult
	if err := json.Unmarshal(raw, &r); err != nil {
		x.T.Fatal(err)
	}
	var out []core.ProjectEditsParams
	for _, ev := range x.c.OfRun(id) {
		var b core.ProjectEditsParams
		if ev.Name == core.ProjectEdits.Name && json.Unmarshal(ev.Params, &b) == nil {
			out = append(out, b)
		}
	}
	return r, out
}

func TestReplace(t *testing.T) {
	x := newWorld(t, map[string]string{
		"crlf": "\uFEFFold\r\nkeep\rme\nold\r\n", "latin": "\xe4 old", "open": "old", "changed": "old", "other": "none",
	})
	b := spacetest.MustCall(x.c, core.BufferOpen, core.BufferOpenParams{PathIn: core.PathIn{Path: "open"}})
	spacetest.MustCall(x.c, core.BufferEdit, core.BufferEditParams{Buffer: b.Buffer, Edits: []core.Edit{{Text: "unsaved "}}})
	r, batches := x.preview(core.ProjectReplaceParams{Query: "o(l)d", With: "n${1}w\n", Options: core.FindOptions{Regex: true}})
	if r.Matches != 5 || len(r.Files) != 4 || len(batches) != 4 {
		t.Fatalf("%+v", r)
	}
	for _, batch := range batches {
		if *batch.File.Path == "latin" && (batch.Edits[0].Old != "old" || batch.Edits[0].Text != "nlw\n" || batch.Edits[0].Range.Start.Character != 3 || batch.File.Hash == "") {
			t.Errorf("%+v", batch)
		}
	}
	if x.content("latin") != "\xe4 old" {
		t.Error("a preview changed something")
	}
	put(t, x.Root+"/changed", "old and new")
	done := spacetest.MustDo(x.c, core.ProjectApplyReplace, core.ProjectApplyReplaceParams{Preview: r.Preview})
	if done.Applied != 3 || len(done.Failed) != 1 || done.Failed[0].Path != x.Root+"/changed" || done.Failed[0].Code != op.CodeConflict {
		t.Errorf("%+v", done)
	}
	if got := x.content("crlf"); got != "\uFEFFnlw\r\n\r\nkeep\rme\nnlw\r\n\r\n" {
		t.Errorf("%q", got)
	}
	if got := x.content("latin"); got != "\xe4 nlw\n" {
		t.Errorf("%q", got)
	}
	got := spacetest.MustCall(x.c, core.BufferText, core.BufferTextParams{Buffer: b.Buffer})
	if got.Text != "unsaved nlw\n" || x.content("open") != "old" {
		t.Errorf("%q %q", got.Text, x.content("open"))
	}
	again := spacetest.MustDo(x.c, core.ProjectApplyReplace, core.ProjectApplyReplaceParams{Preview: r.Preview, Paths: []string{"open", "latin"}})
	if again.Applied != 0 || len(again.Failed) != 2 {
		t.Errorf("%+v", again)
	}
	_, e := spacetest.Do(x.c, core.ProjectApplyReplace, core.ProjectApplyReplaceParams{Preview: "none"})
	spacetest.Want(t, e, op.CodeNotFound, "")
	_, e = spacetest.Do(x.c, core.ProjectApplyReplace, core.ProjectApplyReplaceParams{Preview: r.Preview, Paths: []string{"zz"}})
	spacetest.Want(t, e, op.CodeNotFound, "")
	_, e = spacetest.Do(x.c, core.ProjectReplace, core.ProjectReplaceParams{Query: "[", Options: core.FindOptions{Regex: true}})
	spacetest.Want(t, e, op.CodeBadRequest, "syntax")
}

func TestFiles(t *testing.T) {
	x := newWorld(t, map[string]string{"cmd/main.go": "", "domain.txt": "", ".gitignore": "out\n", "out/main.go": "", ".github/main": ""})
	r := spacetest.MustCall(x.c, core.ProjectFiles, core.ProjectFilesParams{Query: "main"})
	if len(r.Files) != 2 || r.Files[0].Path != "cmd/main.go" || !slices.Equal(r.Files[0].Positions, []int{4, 5, 6, 7}) || r.Total != 2 || r.Truncated {
		t.Errorf("%+v", r)
	}
	if r = spacetest.MustCall(x.c, core.ProjectFiles, core.ProjectFilesParams{Query: ".git", Limit: ref(1)}); len(r.Files) != 1 || !r.Truncated || r.Total != 2 {
		t.Errorf("%+v", r)
	}
	_, e := spacetest.Call(x.c, core.ProjectFiles, core.ProjectFilesParams{Limit: ref(0)})
	spacetest.Want(t, e, op.CodeBadRequest, "out_of_range")
	_, e = spacetest.Call(x.c, core.ProjectFiles, core.ProjectFilesParams{Root: "/nowhere"})
	spacetest.Want(t, e, op.CodeNotFound, "")
}

func TestRoots(t *testing.T) {
	x := newWorld(t, map[string]string{"f": ""})
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, other+"/.git/HEAD", "")
	put(t, other+"/g", "text")
	_, e := spacetest.Call(x.c, core.FsStat, core.FsPathParams{PathIn: core.PathIn{Path: other + "/g"}})
	spacetest.Want(t, e, op.CodeOutsideRoot, "")
	r := spacetest.MustCall(x.c, core.ProjectOpen, core.ProjectOpenParams{PathIn: core.PathIn{Path: other}})
	if r.Root != other || r.VCS != "git" || r.Name != filepath.Base(other) {
		t.Errorf("%+v", r)
	}
	x.c.Await(func(e client.Event) bool { return e.Name == core.ProjectOpened.Name })
	spacetest.MustCall(x.c, core.ProjectOpen, core.ProjectOpenParams{PathIn: core.PathIn{Path: other}})
	if got := spacetest.MustCall(x.c, core.ProjectGet, core.None{}); len(got.Roots) != 2 {
		t.Errorf("%+v", got)
	}
	b := spacetest.MustCall(x.c, core.BufferOpen, core.BufferOpenParams{PathIn: core.PathIn{Path: other + "/g"}})
	edited := spacetest.MustCall(x.c, core.BufferEdit, core.BufferEditParams{Buffer: b.Buffer, Edits: []core.Edit{{Text: "x"}}})
	_, e = spacetest.Call(x.c, core.ProjectClose, core.RootParams{Root: other})
	spacetest.Want(t, e, op.CodeConflict, "modified")
	spacetest.MustCall(x.c, core.BufferUndo, core.BufferUndoParams{Buffer: b.Buffer, Revision: &edited.Revision})
	spacetest.MustCall(x.c, core.ProjectClose, core.RootParams{Root: other})
	x.c.Await(func(e client.Event) bool { return e.Name == core.ProjectClosed.Name })
	_, e = spacetest.Call(x.c, core.ProjectClose, core.RootParams{Root: other})
	spacetest.Want(t, e, op.CodeNotFound, "")
	_, e = spacetest.Call(x.c, core.ProjectClose, core.RootParams{Root: x.Root})
	spacetest.Want(t, e, op.CodeUnsupported, "")
	_, e = spacetest.Call(x.c, core.ProjectOpen, core.ProjectOpenParams{PathIn: core.PathIn{Path: "f"}})
	spacetest.Want(t, e, op.CodeUnsupported, "")
	_, e = spacetest.Call(x.c, core.ProjectOpen, core.ProjectOpenParams{PathIn: core.PathIn{Path: "nothing"}})
	spacetest.Want(t, e, op.CodeNotFound, "")
}

func TestState(t *testing.T) {
	x := newWorld(t, nil)
	if r := spacetest.MustCall(x.c, core.ProjectGetState, core.ProjectStateParams{}); string(r.Value) != "null" || r.Revision != 0 {
		t.Errorf("%+v", r)
	}
	set := core.ProjectSetStateParams{Value: jsontext.Value(`{"tabs":[1]}`), IfRevision: ref(int64(0))}
	if r := spacetest.MustCall(x.c, core.ProjectSetState, set); r.Revision != 1 {
		t.Errorf("%+v", r)
	}
	_, e := spacetest.Call(x.c, core.ProjectSetState, set)
	spacetest.Want(t, e, op.CodeStale, "")
	x.c.Await(func(e client.Event) bool { return e.Name == core.ProjectStateChanged.Name })
	if r := spacetest.MustCall(x.c, core.ProjectGetState, core.ProjectStateParams{Root: x.Root}); string(r.Value) != `{"tabs":[1]}` {
		t.Errorf("%+v", r)
	}
	if files, err := os.ReadDir(x.state); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
	_, e = spacetest.Call(x.c, core.ProjectSetState, core.ProjectSetStateParams{Root: "/nowhere", Value: jsontext.Value("1")})
	spacetest.Want(t, e, op.CodeNotFound, "")
}
