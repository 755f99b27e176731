package turns_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/client"
	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/changes"
	"dragoman/internal/edit/checkpoint"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/text"
	"dragoman/internal/edit/trash"
	"dragoman/internal/edit/watch"
	buffers "dragoman/internal/namespace/buffer"
	"dragoman/internal/namespace/fs"
	"dragoman/internal/namespace/spacetest"
	"dragoman/internal/namespace/turns"
	"dragoman/wire/agent"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a core with the namespaces that agents' changes go through.
type world struct {
	*spacetest.World
	t    *testing.T
	set  *buffer.Set
	bin  *trash.Store
	turn *turns.Tracker
	c    *spacetest.Client
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
	x := &world{t: t}
	for name, s := range files {
		put(t, filepath.Join(root, name), s)
	}
	x.World = spacetest.New(t, root, func(w *spacetest.World) { x.build(w, root) })
	x.c = x.Attach()
	return x
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (x *world) build(w *spacetest.World, root string) {
	t := x.t
	roots, err := confine.New(root)
	must(t, roots, err)
	in := confine.Files{Roots: roots}
	sink := fs.NewSink(w.Hub, in)
	sink.Attribute = func(root, path string) core.Origin { return x.turn.Attribute(root, path) }
	sink.Observed = func(c watch.Change, o core.Origin) { x.turn.Observed(c, o) }
	x.set = buffer.New(buffer.Options{Files: in, Observer: sink.Observing(buffers.Observe(w.Hub))})
	sink.Use(x.set)
	watcher := watch.New(watch.Options{Sink: sink})
	x.bin, err = trash.Open(filepath.Join(t.TempDir(), "trash"))
	must(t, x.bin, err)
	store, err := checkpoint.Open(filepath.Join(t.TempDir(), "contents"))
	must(t, store, err)
	ledger, err := changes.Open("", time.Now())
	must(t, ledger, err)
	space := fs.New(fs.Options{Roots: roots, Buffers: x.set, Watcher: watcher, Trash: x.bin})
	x.turn = turns.New(turns.Options{
		Roots: roots, Buffers: x.set, FS: space, Watcher: watcher, Settler: sink.Settler(), Store: store, Ledger: ledger,
		Events: w.Hub, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err := watcher.Add(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	must(t, 0, must2(watcher.Files(t.Context(), root)))
	buffers.New(buffers.Options{Set: x.set, Paths: paths{in}}).Bind(w.Mux)
	space.Bind(w.Mux)
	x.turn.Bind(w.Mux)
	t.Cleanup(func() {
		watcher.Close()
		sink.Close()
		x.turn.Close()
		store.Close()
		x.bin.Close()
		roots.Close()
	})
}

func must2[T any](_ T, err error) error { return err }

func put(t *testing.T, path, s string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (x *world) at(name string) string { return filepath.Join(x.Root, name) }

// run is a turn of an agent that does something to the disk by itself.
func (x *world) run(id string, do func()) {
	x.t.Helper()
	if !x.turn.Begin(x.t.Context(), id, "s1", x.Root) {
		x.t.Error("the contents before aren't all kept")
	}
	do()
	x.turn.End(context.Background(), id)
}

func (x *world) has(name, want string) {
	x.t.Helper()
	got, err := os.ReadFile(x.at(name))
	switch {
	case want == "" && err == nil:
		x.t.Errorf("%s is there: %q", name, got)
	case want != "" && (err != nil || string(got) != want):
		x.t.Errorf("%s: %q, %v; want %q", name, got, err, want)
	}
}

// changes gives agent.changes as a line a file.
func (x *world) changes(run string) string {
	x.t.Helper()
	r, err := core.AgentChanges.Call(x.t.Context(), x.c, core.AgentChangesParams{Run: run})
	if err != nil {
		x.t.Fatal(err)
	}
	if !r.Complete {
		x.t.Error("not complete")
	}
	var lines []string
	for _, f := range r.Files {
		rel, _ := filepath.Rel(x.Root, f.Path)
		line := f.Kind + " " + rel + " " + string(f.Certainty)
		if !f.Revertible {
			line += " " + f.Why
		}
		if f.Mixed {
			line += " mixed"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func (x *world) revert(p core.AgentRevertParams) core.AgentRevertResult {
	x.t.Helper()
	return spacetest.MustDo(x.c, core.AgentRevert, p)
}

func rewrite(t *testing.T, path, from, to string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), from) {
		t.Fatalf("%s: %q, %v", path, b, err)
	}
	put(t, path, strings.Replace(string(b), from, to, 1))
}

const lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"

func TestATurnIsSeenAndTakenBack(t *testing.T) {
	x := newWorld(t, map[string]string{
		"a.txt": lines, "gone.txt": "kept\n", "same.txt": "same\n", "bin": "\x00\x01", "script": "#!\n", "old.txt": "moved\n",
	})
	x.run("turn1", func() {
		rewrite(t, x.at("a.txt"), "two", "TWO")
		put(t, x.at("d/new.txt"), "new\n")
		put(t, x.at("bin"), "\x00\x02\x03")
		rewrite(t, x.at("same.txt"), "same", "other")
		rewrite(t, x.at("same.txt"), "other", "same")
		for _, err := range []error{os.Remove(x.at("gone.txt")), os.Chmod(x.at("script"), 0o755), os.Rename(x.at("old.txt"), x.at("moved.txt"))} {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	got := x.changes("turn1")
	for _, want := range []string{
		"changed a.txt inferred", "created d/new.txt inferred", "changed bin inferred", "deleted gone.txt inferred",
		"changed script inferred", "renamed moved.txt inferred",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("changes %q, want %q", got, want)
		}
	}
	if strings.Contains(got, "same.txt") {
		t.Errorf("net nothing is told: %q", got)
	}
	r := x.revert(core.AgentRevertParams{Run: "turn1"})
	if len(r.Reverted) != 6 || len(r.Conflicts) != 0 {
		t.Errorf("%+v", r)
	}
	x.has("a.txt", lines)
	x.has("d/new.txt", "")
	x.has("bin", "\x00\x01")
	x.has("gone.txt", "kept\n")
	x.has("old.txt", "moved\n")
	x.has("moved.txt", "")
	if info, err := os.Stat(x.at("script")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the mode: %v, %v", info.Mode(), err)
	}
	if items, err := x.bin.List(); err != nil || len(items) != 1 {
		t.Errorf("the trash holds %d, %v", len(items), err)
	}
	again := x.revert(core.AgentRevertParams{Run: "turn1"})
	if len(again.Already) != 6 || len(again.Reverted) != 0 || len(again.Conflicts) != 0 {
		t.Errorf("again: %+v", again)
	}
}

func TestTheRevertCanBeReverted(t *testing.T) {
	x := newWorld(t, map[string]string{"a.txt": lines})
	x.run("turn1", func() { rewrite(t, x.at("a.txt"), "two", "TWO") })
	id, err := core.AgentRevert.Start(t.Context(), x.c, core.AgentRevertParams{Run: "turn1"})
	if err != nil {
		t.Fatal(err)
	}
	x.c.Await(func(e client.Event) bool {
		return e.Name == "run.ended" && strings.Contains(string(e.Params), `"`+id+`"`)
	})
	x.has("a.txt", lines)
	if got := x.changes(id); got != "changed a.txt exact" {
		t.Errorf("the revert's changes: %q", got)
	}
	x.revert(core.AgentRevertParams{Run: id})
	x.has("a.txt", strings.Replace(lines, "two", "TWO", 1))
}

func TestUnsavedTextLivesOn(t *testing.T) {
	x := newWorld(t, map[string]string{"a.txt": lines})
	info, err := core.BufferOpen.Call(t.Context(), x.c, core.BufferOpenParams{PathIn: core.PathIn{Path: x.at("a.txt")}})
	if err != nil {
		t.Fatal(err)
	}
	id := buffer.ID(info.Buffer)
	person := func(line int, s string) {
		t.Helper()
		at := text.Position{Line: line}
		if _, err := x.set.Edit(buffer.EditParams{Buffer: id, Edits: []buffer.Edit{{Range: buffer.Range{Start: at, End: at}, Text: s}}, Origin: buffer.Origin{Kind: "client", Client: "c1", Certainty: "exact"}}); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(want string) {
		t.Helper()
		now, _, err := x.set.Snapshot(id)
		if err != nil || now.String() != want {
			t.Errorf("the buffer shows %q, %v; want %q", now.String(), err, want)
		}
	}
	person(7, "mine ")
	other := x.Attach()
	x.run("turn1", func() { rewrite(t, x.at("a.txt"), "two", "TWO") })
	shows("one\nTWO\nthree\nfour\nfive\nsix\nseven\nmine eight\n")
	for _, c := range []*spacetest.Client{x.c, other} {
		c.Await(func(e client.Event) bool {
			return e.Name == "buffer.changed" && strings.Contains(string(e.Params), `"run":"turn1"`) && strings.Contains(string(e.Params), `"inferred"`)
		})
	}
	if r := x.revert(core.AgentRevertParams{Run: "turn1"}); len(r.Reverted) != 1 {
		t.Errorf("%+v", r)
	}
	shows("one\ntwo\nthree\nfour\nfive\nsix\nseven\nmine eight\n")

	x.run("turn2", func() { rewrite(t, x.at("a.txt"), "five", "FIVE") })
	person(4, "mine ")
	r := x.revert(core.AgentRevertParams{Run: "turn2"})
	if len(r.Conflicts) != 1 || r.Conflicts[0].Reason != "overlap" || len(r.Conflicts[0].Hunks) == 0 {
		t.Errorf("%+v", r)
	}
	shows("one\ntwo\nthree\nfour\nmine FIVE\nsix\nseven\nmine eight\n")
}

func TestConflictsAreNamed(t *testing.T) {
	x := newWorld(t, map[string]string{"a.txt": lines, "gone.txt": "old\n", "bin": "\x00\x01", "b.txt": lines})
	x.run("turn1", func() {
		rewrite(t, x.at("a.txt"), "two", "TWO")
		rewrite(t, x.at("b.txt"), "two", "TWO")
		put(t, x.at("new.txt"), "new\n")
		put(t, x.at("bin"), "\x00\x02")
		if err := os.Remove(x.at("gone.txt")); err != nil {
			t.Fatal(err)
		}
	})
	rewrite(t, x.at("a.txt"), "TWO", "zwei")
	rewrite(t, x.at("b.txt"), "eight", "acht")
	put(t, x.at("new.txt"), "newer\n")
	put(t, x.at("bin"), "\x00\x03")
	put(t, x.at("gone.txt"), "another\n")
	r := x.revert(core.AgentRevertParams{Run: "turn1"})
	reasons := map[string]string{}
	for _, c := range r.Conflicts {
		reasons[filepath.Base(c.Path)] = c.Reason
	}
	want := map[string]string{"a.txt": "overlap", "new.txt": "changed", "bin": "changed", "gone.txt": "exists"}
	for name, reason := range want {
		if reasons[name] != reason {
			t.Errorf("%s: %q, want %q", name, reasons[name], reason)
		}
	}
	if len(r.Reverted) != 1 || len(reasons) != len(want) {
		t.Errorf("%+v", r)
	}
	x.has("b.txt", strings.Replace(lines, "eight", "acht", 1))
	x.has("a.txt", strings.Replace(lines, "two", "zwei", 1))
	x.has("bin", "\x00\x03")

	forced := x.revert(core.AgentRevertParams{Run: "turn1", Paths: []string{"a.txt", "bin", "gone.txt"}, Force: true})
	if len(forced.Reverted) != 3 {
		t.Errorf("%+v", forced)
	}
	x.has("a.txt", lines)
	x.has("bin", "\x00\x01")
	x.has("gone.txt", "old\n")
	if items, err := x.bin.List(); err != nil || len(items) != 3 {
		t.Errorf("the trash holds %d, %v", len(items), err)
	}
}

func TestTwoTurnsAtOnce(t *testing.T) {
	x := newWorld(t, map[string]string{"a.txt": lines, "b.txt": lines})
	x.turn.Begin(t.Context(), "turn1", "s1", x.Root)
	x.turn.Begin(t.Context(), "turn2", "s2", x.Root)
	x.turn.ToolCall("turn2", &agent.ToolCall{ID: "c1", Kind: "edit", Status: "in_progress", Locations: []agent.Location{{Path: "a.txt"}}})
	rewrite(t, x.at("a.txt"), "two", "TWO")
	rewrite(t, x.at("b.txt"), "two", "TWO")
	x.turn.End(context.Background(), "turn1")
	x.turn.End(context.Background(), "turn2")
	if got := x.changes("turn1"); got != "changed b.txt ambiguous" {
		t.Errorf("r1: %q", got)
	}
	if got := x.changes("turn2"); !strings.Contains(got, "changed a.txt reported") || !strings.Contains(got, "changed b.txt ambiguous") {
		t.Errorf("r2: %q", got)
	}
	if r := x.revert(core.AgentRevertParams{Run: "turn1"}); len(r.Conflicts) != 1 || r.Conflicts[0].Reason != "ambiguous" {
		t.Errorf("%+v", r)
	}
	if r := x.revert(core.AgentRevertParams{Run: "turn1", Paths: []string{"b.txt"}}); len(r.Reverted) != 1 {
		t.Errorf("%+v", r)
	}
	x.has("b.txt", lines)
}

func TestALaterCallCorrects(t *testing.T) {
	x := newWorld(t, map[string]string{"a.txt": lines})
	x.turn.Begin(t.Context(), "turn1", "s1", x.Root)
	x.turn.Begin(t.Context(), "turn2", "s2", x.Root)
	x.turn.ToolCall("turn1", &agent.ToolCall{ID: "c1", Kind: "edit", Status: "pending"})
	rewrite(t, x.at("a.txt"), "two", "TWO")
	x.turn.End(context.Background(), "turn2")
	x.turn.ToolCall("turn1", &agent.ToolCall{ID: "c1", Status: "completed", Content: []agent.ToolContent{{Type: "diff", Path: x.at("a.txt")}}})
	x.turn.End(context.Background(), "turn1")
	if got := x.changes("turn1"); got != "changed a.txt reported" {
		t.Errorf("r1: %q", got)
	}
	if got := x.changes("turn2"); got != "" {
		t.Errorf("r2: %q", got)
	}
	x.c.Await(func(e client.Event) bool {
		return e.Name == "agent.changed" && strings.Contains(string(e.Params), `"turn2"`)
	})
}

func TestOthersChangesAreLeftOut(t *testing.T) {
	x := newWorld(t, map[string]string{"a.txt": lines})
	info, err := core.BufferOpen.Call(t.Context(), x.c, core.BufferOpenParams{PathIn: core.PathIn{Path: x.at("a.txt")}})
	if err != nil {
		t.Fatal(err)
	}
	x.turn.Begin(t.Context(), "turn1", "s1", x.Root)
	rewrite(t, x.at("a.txt"), "two", "TWO")
	x.c.Await(func(e client.Event) bool { return e.Name == "buffer.changed" })
	looked := func() {
		t.Helper()
		if _, err := core.AgentChanges.Call(t.Context(), x.c, core.AgentChangesParams{Run: "turn1"}); err != nil {
			t.Fatal(err)
		}
	}
	looked() // it waits until what was told by now has been looked at
	at := core.Position{Line: 7}
	if _, err := core.BufferEdit.Call(t.Context(), x.c, core.BufferEditParams{Buffer: info.Buffer, Edits: []core.Edit{{Range: core.Range{Start: at, End: at}, Text: "mine "}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.BufferSave.Call(t.Context(), x.c, core.BufferSaveParams{Buffer: info.Buffer}); err != nil {
		t.Fatal(err)
	}
	x.c.Await(func(e client.Event) bool {
		return e.Name == "fs.changed" && strings.Contains(string(e.Params), `"save"`)
	})
	looked()
	rewrite(t, x.at("a.txt"), "four", "FOUR")
	x.turn.End(context.Background(), "turn1")
	if got := x.changes("turn1"); got != "changed a.txt inferred mixed" {
		t.Errorf("%q", got)
	}
	x.revert(core.AgentRevertParams{Run: "turn1"})
	x.has("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\nmine eight\n")
}

func TestRefusals(t *testing.T) {
	x := newWorld(t, nil)
	x.turn.Begin(t.Context(), "turn1", "s1", x.Root)
	for _, c := range []struct {
		err  error
		code op.Code
	}{
		{must2(core.AgentRevert.Start(t.Context(), x.c, core.AgentRevertParams{Run: "turn1"})), op.CodeBusy},
		{must2(core.AgentRevert.Start(t.Context(), x.c, core.AgentRevertParams{Run: "r9"})), op.CodeNotFound},
		{must2(core.AgentChanges.Call(t.Context(), x.c, core.AgentChangesParams{Run: "r9"})), op.CodeNotFound},
		{must2(core.AgentChanges.Call(t.Context(), x.c, core.AgentChangesParams{Session: "s9"})), op.CodeNotFound},
		{must2(core.AgentChanges.Call(t.Context(), x.c, core.AgentChangesParams{})), op.CodeBadRequest},
		{must2(core.AgentChanges.Call(t.Context(), x.c, core.AgentChangesParams{Run: "turn1", Session: "s1"})), op.CodeBadRequest},
	} {
		if e, _ := op.AsError(c.err); c.err == nil || e.Code != c.code {
			t.Errorf("%v, want %s", c.err, c.code)
		}
	}
	x.turn.End(context.Background(), "turn1")
}
