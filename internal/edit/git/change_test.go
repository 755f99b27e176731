package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/namespace/spacetest"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// hunked is a file whose three changes make three hunks, the middle one
// between lines that are all alike.
func hunked() (before, after string) {
	lines := slices.Repeat([]string{"same\n"}, 40)
	before = strings.Join(lines, "")
	lines[5], lines[33] = "five\n", "thirty-three\n"
	lines = slices.Insert(lines, 20, "new one\n", "new two\n")
	return before, strings.Join(lines, "")
}

func (p *place) diff(staged bool) []core.GitFileDiff {
	p.t.Helper()
	return spacetest.MustCall(p.Client, core.GitDiff, core.GitDiffParams{Staged: staged}).Files
}

func TestHunksAreStagedOneByOne(t *testing.T) {
	for _, order := range [][]int{{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}} {
		p := newPlace(t)
		before, after := hunked()
		p.commit("one", "f", before)
		p.write("f", after)
		d := p.diff(false)
		if len(d) != 1 || len(d[0].Hunks) != 3 {
			t.Fatalf("diff %+v", d)
		}
		p.pick(core.GitStage, d[0], order)
		want := expected(before, d[0].Hunks, order)
		if got := p.git("show", ":f") + "\n"; got != want {
			t.Errorf("hunks %v in the index:\n%s", order, got)
		}
		// Out again, all at once.
		s := p.diff(true)
		all := []int{}
		for i := range s[0].Hunks {
			all = append(all, i)
		}
		p.pick(core.GitUnstage, s[0], all)
		if got := p.git("show", ":f") + "\n"; got != before {
			t.Errorf("hunks %v out of the index:\n%s", order, got)
		}
	}
}

func TestHunksAreUnstagedOneByOne(t *testing.T) {
	before, after := hunked()
	for i := range 3 {
		p := newPlace(t)
		p.commit("one", "f", before)
		p.write("f", after)
		p.git("add", "f")
		d := p.diff(true)
		p.pick(core.GitUnstage, d[0], []int{i})
		left := slices.DeleteFunc([]int{0, 1, 2}, func(n int) bool { return n == i })
		if got := p.git("show", ":f") + "\n"; got != expected(before, d[0].Hunks, left) {
			t.Errorf("without hunk %d the index has:\n%s", i, got)
		}
	}
}

func (p *place) pick(o *op.Op[core.GitStageParams, core.None], f core.GitFileDiff, hunks []int) {
	p.t.Helper()
	var refs []core.GitHunkRef
	for _, i := range hunks {
		refs = append(refs, core.GitHunkRef{PathIn: f.In(), DiffHash: f.DiffHash, Index: i})
	}
	spacetest.MustCall(p.Client, o, core.GitStageParams{Hunks: refs})
}

// expected applies hunks to a text by their numbers.
func expected(text string, hunks []core.Hunk, which []int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	for i := len(hunks) - 1; i >= 0; i-- {
		if !slices.Contains(which, i) {
			continue
		}
		h := hunks[i]
		var new []string
		for _, l := range h.Lines {
			if l.Op != "-" {
				new = append(new, l.Text+"\n")
			}
		}
		lines = slices.Replace(lines, h.OldStart-1, h.OldStart-1+h.OldLines, new...)
	}
	return strings.Join(lines, "") + "\n"
}

func TestHunksWithoutContextAndLineEnd(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "a\nb\nc\nd\n", "g", "x\r\ny")
	p.write("f", "a\nB\nc\nd\ne")
	p.write("g", "x\r\nz")
	zero := 0
	d := spacetest.MustCall(p.Client, core.GitDiff, core.GitDiffParams{Context: &zero}).Files
	if len(d) != 2 || len(d[0].Hunks) != 2 || !d[0].Hunks[1].Lines[0].NoEOL || d[1].Hunks[0].Lines[0].Op != "-" {
		t.Fatalf("diff %+v", d)
	}
	refs := []core.GitHunkRef{
		{PathIn: d[0].In(), DiffHash: d[0].DiffHash, Index: 1},
		{PathIn: d[1].In(), DiffHash: d[1].DiffHash, Index: 0},
	}
	spacetest.MustCall(p.Client, core.GitStage, core.GitStageParams{Hunks: refs})
	for name, want := range map[string]string{"f": "a\nb\nc\nd\ne", "g": "x\r\nz"} {
		if got := p.git("show", ":"+name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestMovedHunksAreStale(t *testing.T) {
	p := newPlace(t)
	before, after := hunked()
	p.commit("one", "f", before)
	p.write("f", after)
	ref := core.GitHunkRef{PathIn: core.PathIn{Path: "f"}, DiffHash: p.diff(false)[0].DiffHash}
	stage := func(r core.GitHunkRef) *op.Error {
		return second(spacetest.Call(p.Client, core.GitStage, core.GitStageParams{Hunks: []core.GitHunkRef{r}}))
	}
	bad := ref
	bad.Index = 3
	spacetest.Want(t, stage(bad), op.CodeBadRequest, "out_of_range")
	bad.Index = -1
	spacetest.Want(t, stage(bad), op.CodeBadRequest, "out_of_range")
	bad = ref
	bad.DiffHash = "what"
	spacetest.Want(t, stage(bad), op.CodeBadRequest, "diffHash")
	p.write("f", after+"more\n")
	spacetest.Want(t, stage(ref), op.CodeStale, "")
	both := core.GitStageParams{Paths: []string{"f"}, Hunks: []core.GitHunkRef{ref}}
	spacetest.Want(t, second(spacetest.Call(p.Client, core.GitStage, both)), op.CodeBadRequest, "one_of")
	if got := p.git("diff", "--cached"); got != "" {
		t.Errorf("staged all the same: %s", got)
	}
}

func TestHeldIndexLock(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n")
	p.write("f", "2\n")
	p.write(".git/index.lock", "")
	p.wantSummary("ordinary .M f")
	for name, e := range map[string]*op.Error{
		"stage":   second(spacetest.Call(p.Client, core.GitStage, core.GitStageParams{Paths: []string{"f"}})),
		"unstage": second(spacetest.Call(p.Client, core.GitUnstage, core.GitStageParams{Paths: []string{"f"}})),
		"commit":  second(spacetest.Do(p.Client, core.GitCommit, core.GitCommitParams{Message: "m", Paths: []string{"f"}})),
		"discard": second(spacetest.Do(p.Client, core.GitDiscard, core.GitDiscardParams{Paths: []string{"f"}})),
		"stash":   second(spacetest.Do(p.Client, core.GitStash, core.GitStashParams{Action: "push"})),
	} {
		t.Run(name, func(t *testing.T) { spacetest.Want(t, e, op.CodeBusy, op.BusyIndexLock) })
	}
	if p.read("f") != "2\n" {
		t.Error("the file was given up")
	}
}

func TestDiscardGoesToTheTrash(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "d/f", "1\n", "d/gone", "g\n", "staged", "s\n", "other", "o\n")
	p.write("d/f", "changed\n")
	p.write("d/new", "new\n")
	p.write("other", "kept\n")
	p.write("staged", "S\n")
	p.git("add", "staged")
	if err := os.Remove(filepath.Join(p.root, "d/gone")); err != nil {
		t.Fatal(err)
	}
	spacetest.MustDo(p.Client, core.GitDiscard, core.GitDiscardParams{Paths: []string{"d", "staged"}})
	p.wantSummary("ordinary .M other", "ordinary M. staged")
	for name, want := range map[string]string{"f": "changed\n", "new": "new\n"} {
		b, err := os.ReadFile(filepath.Join(p.trash.dir, name))
		if err != nil || string(b) != want {
			t.Errorf("trash: %s %q %v", name, b, err)
		}
	}
	p.space.opts.Trash = nil
	spacetest.Want(t, second(spacetest.Do(p.Client, core.GitDiscard, core.GitDiscardParams{Paths: []string{"other"}})), op.CodeUnsupported, "")
	if p.read("other") != "kept\n" {
		t.Error("given up without a trash")
	}
}

func TestCommit(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n", "g", "1\n")
	p.write("f", "2\n")
	p.write("g", "2\n")
	p.git("add", "f")
	spacetest.MustDo(p.Client, core.GitCommit, core.GitCommitParams{Message: "# só\n\nbody \"x\"\n", Paths: []string{"g"}})
	p.wantSummary("ordinary M. f")
	if got := p.git("log", "-1", "--format=%B", "--name-only"); got != "# só\n\nbody \"x\"\n\n\ng" {
		t.Errorf("commit %q", got)
	}
	spacetest.MustDo(p.Client, core.GitCommit, core.GitCommitParams{Message: "both", Amend: true})
	if got := p.git("log", "--format=%s"); got != "both\none" {
		t.Errorf("log %q", got)
	}
	spacetest.Want(t, second(spacetest.Do(p.Client, core.GitCommit, core.GitCommitParams{Message: "a\x00b"})), op.CodeBadRequest, "nul")
}

// Hooks run for commit and switch, and for nothing else.
func TestHooks(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n")
	p.git("branch", "side")
	script := "#!/bin/sh\necho \"$0\" >>\"" + filepath.Join(p.root, "..", "ran") + "\"\n"
	for _, h := range []string{"pre-commit", "post-checkout", "reference-transaction", "post-index-change", "post-merge", "fsmonitor"} {
		p.write(".git/hooks/"+h, script)
		if err := os.Chmod(filepath.Join(p.root, ".git/hooks", h), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.write(".git/info/attributes", "* diff=evil\n")
	for _, kv := range [][2]string{
		{"core.fsmonitor", ".git/hooks/fsmonitor"}, {"diff.evil.textconv", ".git/hooks/fsmonitor"},
		{"diff.external", ".git/hooks/fsmonitor"}, {"core.pager", ".git/hooks/fsmonitor"}, {"core.editor", ".git/hooks/fsmonitor"},
	} {
		p.git("config", kv[0], kv[1])
	}
	ran := func() []string {
		path := filepath.Join(p.root, "..", "ran")
		b, _ := os.ReadFile(path)
		os.Remove(path)
		return strings.Fields(string(b))
	}
	ran()
	p.write("f", "2\n")
	p.summary()
	p.diff(false)
	spacetest.MustCall(p.Client, core.GitLog, core.GitLogParams{})
	spacetest.MustCall(p.Client, core.GitShow, core.GitShowParams{Rev: "HEAD"})
	spacetest.MustDo(p.Client, core.GitBlame, core.GitBlameParams{PathIn: core.PathIn{Path: "f"}})
	spacetest.MustCall(p.Client, core.GitStage, core.GitStageParams{Paths: []string{"f"}})
	spacetest.MustCall(p.Client, core.GitUnstage, core.GitStageParams{Paths: []string{"f"}})
	spacetest.MustDo(p.Client, core.GitStash, core.GitStashParams{Action: "push"})
	spacetest.MustDo(p.Client, core.GitStash, core.GitStashParams{Action: "pop"})
	spacetest.MustDo(p.Client, core.GitDiscard, core.GitDiscardParams{Paths: []string{"f"}})
	if r := ran(); len(r) > 0 {
		t.Errorf("ran %v", r)
	}
	spacetest.MustDo(p.Client, core.GitSwitch, core.GitSwitchParams{Branch: "side"})
	if r := ran(); !slices.ContainsFunc(r, func(s string) bool { return strings.HasSuffix(s, "post-checkout") }) {
		t.Errorf("switch ran %v", r)
	}
	p.write("f", "3\n")
	spacetest.MustDo(p.Client, core.GitCommit, core.GitCommitParams{Message: "m", Paths: []string{"f"}})
	if r := ran(); !slices.ContainsFunc(r, func(s string) bool { return strings.HasSuffix(s, "pre-commit") }) {
		t.Errorf("commit ran %v", r)
	}
	p.write(".git/hooks/pre-commit", "#!/bin/sh\necho no way >&2\nexit 1\n")
	p.write("f", "4\n")
	_, e := spacetest.Do(p.Client, core.GitCommit, core.GitCommitParams{Message: "m", Paths: []string{"f"}})
	spacetest.Want(t, e, op.CodeConflict, op.ConflictGitRefused)
	if !strings.Contains(e.Message, "no way") {
		t.Errorf("message %q", e.Message)
	}
}

func TestCancelledCommitLeavesNoLock(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n")
	mark := filepath.Join(p.root, "..", "began")
	p.write(".git/hooks/pre-commit", "#!/bin/sh\necho x >\""+mark+"\"\nexec sleep 100\n")
	if err := os.Chmod(filepath.Join(p.root, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("f", "2\n")
	id, err := core.GitCommit.Start(context.Background(), p.Client, core.GitCommitParams{Message: "m", Paths: []string{"f"}})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := os.Stat(mark); return err == nil })
	spacetest.MustCall(p.Client, core.RunCancel, core.RunParams{Run: id})
	_, e := p.Ended(id)
	spacetest.Want(t, e, op.CodeCancelled, "")
	p.OfRun(id)
	if _, err := os.Stat(filepath.Join(p.root, ".git/index.lock")); err == nil {
		t.Error("the index is locked")
	}
	p.wantSummary("ordinary .M f")
}
