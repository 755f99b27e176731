package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"dragoman/client"
	"dragoman/internal/namespace/spacetest"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestStatusKinds(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "kept", "k\n", "old name", "1\n2\n3\n4\n5\n", "gone", "g\n", "staged", "s\n", ".gitignore", "*.log\n")
	p.git("mv", "old name", "new name")
	if err := os.Remove(filepath.Join(p.root, "gone")); err != nil {
		t.Fatal(err)
	}
	p.write("staged", "S\n")
	p.git("add", "staged")
	p.write("staged", "SS\n")
	p.write("new/a", "")
	p.write("new/b", "")
	p.write("x.log", "")
	p.wantSummary("ordinary .D gone", "renamed R. new name < old name", "ordinary MM staged", "untracked ?? new/a", "untracked ?? new/b")
	st := spacetest.MustCall(p.Client, core.GitStatus, core.GitStatusParams{Ignored: true, PathMaybe: core.PathMaybe{Path: "x.log"}})
	if got := summaryOf(st); got != "ignored !! x.log" {
		t.Errorf("ignored: %s", got)
	}
	if b := st.Branch; b.Name != "main" || b.OID != p.git("rev-parse", "HEAD") || b.Detached {
		t.Errorf("branch %+v", b)
	}
	p.git("switch", "-q", "--detach")
	if b := spacetest.MustCall(p.Client, core.GitStatus, core.GitStatusParams{}).Branch; b.Name != "" || !b.Detached {
		t.Errorf("detached %+v", b)
	}
}

func TestOddNames(t *testing.T) {
	names := []string{
		"tab\there", `quo"te`, "new\nline", "a -> b", "é", "back\\slash", " lead", "*", ":(top)x", "\xff\xfe.txt", "-dash",
	}
	p := newPlace(t)
	for _, n := range names {
		p.write(n, "1\n")
	}
	st := spacetest.MustCall(p.Client, core.GitStatus, core.GitStatusParams{})
	var got []string
	for _, e := range st.Entries {
		got = append(got, e.Raw())
		if exact := e.PathBytes == nil; exact != (e.Raw() != "\xff\xfe.txt") {
			t.Errorf("%q: bytes %q", e.Path, e.PathBytes)
		}
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Fatalf("got %q, want %q", got, names)
	}
	utf8 := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n[0] == 0xff })
	spacetest.MustCall(p.Client, core.GitStage, core.GitStageParams{Paths: utf8})
	p.git("add", "-A")
	p.git("commit", "-qm", "odd")
	for _, n := range names {
		p.write(n, "1\n2\n")
		in := core.NewPath(n).In()
		d := spacetest.MustCall(p.Client, core.GitDiff, core.GitDiffParams{PathMaybe: core.PathMaybe(in)})
		if len(d.Files) != 1 || d.Files[0].Raw() != n || len(d.Files[0].Hunks) != 1 {
			t.Fatalf("%q: diff %+v", n, d.Files)
		}
		ref := core.GitHunkRef{PathIn: in, DiffHash: d.Files[0].DiffHash}
		spacetest.MustCall(p.Client, core.GitStage, core.GitStageParams{Hunks: []core.GitHunkRef{ref}})
		b := spacetest.MustDo(p.Client, core.GitBlame, core.GitBlameParams{PathIn: in})
		if len(b.Spans) != 2 || b.Spans[0].Raw() != n {
			t.Errorf("%q: blame %+v", n, b.Spans)
		}
		show := spacetest.MustCall(p.Client, core.GitShow, core.GitShowParams{Rev: "HEAD", PathMaybe: core.PathMaybe(in)})
		if show.Text == nil || *show.Text != "1\n" {
			t.Errorf("%q: show %+v", n, show)
		}
	}
	for _, line := range strings.Split(p.summary(), "\n") {
		if !strings.HasPrefix(line, "ordinary M. ") && strings.HasPrefix(line, "ordinary") {
			t.Errorf("not staged: %q", line)
		}
	}
}

func TestNoCommits(t *testing.T) {
	p := newPlace(t)
	st := spacetest.MustCall(p.Client, core.GitStatus, core.GitStatusParams{})
	if st.Branch.Name != "main" || st.Branch.OID != "" || len(st.Entries) != 0 {
		t.Errorf("status %+v", st)
	}
	if l := spacetest.MustCall(p.Client, core.GitLog, core.GitLogParams{}); len(l.Commits) != 0 || l.More {
		t.Errorf("log %+v", l)
	}
	b := spacetest.MustCall(p.Client, core.GitBranches, core.GitRoot{})
	if b.Current == nil || *b.Current != "main" || len(b.Local) != 0 {
		t.Errorf("branches %+v", b)
	}
	p.write("f", "1\n")
	spacetest.MustCall(p.Client, core.GitStage, core.GitStageParams{Paths: []string{"f"}})
	p.wantSummary("ordinary A. f")
	spacetest.MustCall(p.Client, core.GitUnstage, core.GitStageParams{Paths: []string{"f"}})
	p.wantSummary("untracked ?? f")
	spacetest.Want(t, second(spacetest.Do(p.Client, core.GitCommit, core.GitCommitParams{Message: "none"})), op.CodeConflict, op.ConflictGitRefused)
	spacetest.MustCall(p.Client, core.GitStage, core.GitStageParams{Paths: []string{"."}})
	c := spacetest.MustDo(p.Client, core.GitCommit, core.GitCommitParams{Message: "first"})
	if c.OID != p.git("rev-parse", "HEAD") || !strings.HasPrefix(c.OID, c.Short) || c.Short == "" {
		t.Errorf("commit %+v", c)
	}
}

func TestNoRepository(t *testing.T) {
	p := newPlace(t)
	if err := os.RemoveAll(filepath.Join(p.root, ".git")); err != nil {
		t.Fatal(err)
	}
	p.write("f", "")
	for name, e := range map[string]*op.Error{
		"status":   second(spacetest.Call(p.Client, core.GitStatus, core.GitStatusParams{})),
		"log":      second(spacetest.Call(p.Client, core.GitLog, core.GitLogParams{})),
		"branches": second(spacetest.Call(p.Client, core.GitBranches, core.GitRoot{})),
		"stage":    second(spacetest.Call(p.Client, core.GitStage, core.GitStageParams{Paths: []string{"f"}})),
		"commit":   second(spacetest.Do(p.Client, core.GitCommit, core.GitCommitParams{Message: "m"})),
		"blame":    second(spacetest.Do(p.Client, core.GitBlame, core.GitBlameParams{PathIn: core.PathIn{Path: "f"}})),
		"fetch":    second(spacetest.Do(p.Client, core.GitFetch, core.GitRemoteParams{})),
	} {
		t.Run(name, func(t *testing.T) { spacetest.Want(t, e, op.CodeUnsupported, "") })
	}
}

func TestGitIsMissing(t *testing.T) {
	p := newPlace(t)
	p.space.opts.Program = filepath.Join(p.root, "no-git")
	_, e := spacetest.Call(p.Client, core.GitStatus, core.GitStatusParams{})
	spacetest.Want(t, e, op.CodeIO, "")
	if e.Data["errno"] != "ENOENT" {
		t.Errorf("data %v", e.Data)
	}
}

func TestPathsStayInside(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n")
	for _, path := range []string{"../x", "/etc/passwd", "a/../../x"} {
		maybe := core.PathMaybe{Path: path}
		for name, e := range map[string]*op.Error{
			"status": second(spacetest.Call(p.Client, core.GitStatus, core.GitStatusParams{PathMaybe: maybe})),
			"diff":   second(spacetest.Call(p.Client, core.GitDiff, core.GitDiffParams{PathMaybe: maybe})),
			"log":    second(spacetest.Call(p.Client, core.GitLog, core.GitLogParams{PathMaybe: maybe})),
			"show":   second(spacetest.Call(p.Client, core.GitShow, core.GitShowParams{Rev: "HEAD", PathMaybe: maybe})),
			"stage":  second(spacetest.Call(p.Client, core.GitStage, core.GitStageParams{Paths: []string{path}})),
			"commit": second(spacetest.Do(p.Client, core.GitCommit, core.GitCommitParams{Message: "m", Paths: []string{path}})),
			"drop":   second(spacetest.Do(p.Client, core.GitDiscard, core.GitDiscardParams{Paths: []string{path}})),
			"clone":  second(spacetest.Do(p.Client, core.GitClone, core.GitCloneParams{URL: "x", PathIn: core.PathIn{Path: path}})),
		} {
			t.Run(name+" "+path, func(t *testing.T) { spacetest.Want(t, e, op.CodeOutsideRoot, "") })
		}
	}
	_, e := spacetest.Call(p.Client, core.GitStatus, core.GitStatusParams{GitRoot: core.GitRoot{Root: "/"}})
	spacetest.Want(t, e, op.CodeOutsideRoot, "")
}

func TestSubmodule(t *testing.T) {
	p := newPlace(t)
	other := newPlace(t)
	other.commit("sub", "s", "1\n")
	p.commit("one", "f", "1\n")
	p.git("submodule", "add", "-q", other.root, "sub")
	p.git("commit", "-qm", "with a submodule")
	p.wantSummary()
	p.write("sub/s", "2\n")
	p.wantSummary("submodule .M sub")
	spacetest.Want(t, second(spacetest.Do(p.Client, core.GitDiscard, core.GitDiscardParams{Paths: []string{"sub"}})), op.CodeUnsupported, "")
	d := spacetest.MustCall(p.Client, core.GitDiff, core.GitDiffParams{})
	if len(d.Files) != 1 || len(d.Files[0].Hunks) != 1 || !strings.HasSuffix(d.Files[0].Hunks[0].Lines[1].Text, "-dirty") {
		t.Errorf("diff %+v", d.Files)
	}
}

func TestWorktreeAndConflict(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n")
	p.git("branch", "side")
	p.git("worktree", "add", "-q", "wt\nx", "side")
	trees := spacetest.MustCall(p.Client, core.GitWorktrees, core.GitRoot{}).Worktrees
	if len(trees) != 2 || trees[1].Path != filepath.Join(p.root, "wt\nx") || trees[1].Branch != "side" || trees[1].OID == "" {
		t.Errorf("worktrees %+v", trees)
	}
	in := core.GitRoot{Root: "wt\nx"}
	p.write("wt\nx/f", "side\n")
	st := spacetest.MustCall(p.Client, core.GitStatus, core.GitStatusParams{GitRoot: in})
	if st.Branch.Name != "side" || summaryOf(st) != "ordinary .M f" {
		t.Errorf("status in the worktree %+v", st)
	}
	spacetest.MustDo(p.Client, core.GitCommit, core.GitCommitParams{GitRoot: in, Message: "side", Paths: []string{"f"}})
	p.git("worktree", "remove", "--force", "wt\nx")
	p.commit("main", "f", "main\n")
	if out, err := p.tryGit("merge", "side"); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	st = spacetest.MustCall(p.Client, core.GitStatus, core.GitStatusParams{})
	if st.State != "merge" || summaryOf(st) != "unmerged UU f" {
		t.Errorf("status of a conflict %+v", st)
	}
	d := spacetest.MustCall(p.Client, core.GitDiff, core.GitDiffParams{})
	if len(d.Files) != 1 || d.Files[0].Status != "U" || len(d.Files[0].Hunks) != 1 || d.Files[0].Hunks[0].NewLines != 5 {
		t.Errorf("diff of a conflict %+v", d.Files)
	}
	if d = spacetest.MustCall(p.Client, core.GitDiff, core.GitDiffParams{Staged: true}); len(d.Files) != 1 || d.Files[0].Status != "U" {
		t.Errorf("staged diff of a conflict %+v", d.Files)
	}
	spacetest.Want(t, second(spacetest.Do(p.Client, core.GitCommit, core.GitCommitParams{Message: "m"})), op.CodeConflict, op.ConflictGitRefused)
	spacetest.Want(t, second(spacetest.Do(p.Client, core.GitDiscard, core.GitDiscardParams{Paths: []string{"f"}})), op.CodeConflict, op.ConflictGitRefused)
}

// Git is asked again exactly when something moved.
func TestStatusIsCached(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n")
	asks := func() int64 {
		before := p.starts.Load()
		p.summary()
		return p.starts.Load() - before
	}
	asks()
	if n := asks(); n != 0 {
		t.Fatalf("%d calls of git though nothing moved", n)
	}
	move := map[string]func(){
		"watcher": func() { p.watcher.generation.Add(1) },
		"index":   func() { p.write("f", "22\n"); p.git("add", "f") },
		"HEAD":    func() { p.git("commit", "-qm", "two") },
		"branch":  func() { p.git("switch", "-qc", "b") },
		"config":  func() { p.git("config", "status.renames", "false") },
		"exclude": func() { p.write(".git/info/exclude", "x\n") },
		"user's": func() {
			p.write("../gitconfig", "[core]\n\texcludesFile = ~/ignored\n")
		},
		"user's exclude": func() { p.write("../ignored", "y\n") },
		"merge state":    func() { p.write(".git/BISECT_LOG", "") },
	}
	for _, name := range []string{"watcher", "index", "HEAD", "branch", "config", "exclude", "user's", "user's exclude", "merge state"} {
		move[name]()
		if asks() == 0 {
			t.Errorf("%s moved: answered from the cache", name)
		}
		if n := asks(); n != 0 {
			t.Errorf("%s: %d calls of git though nothing moved", name, n)
		}
	}
	p.watcher.blind.Store(true)
	if asks() == 0 {
		t.Error("answered from the cache though nobody watches")
	}
}

func TestChangedIsTold(t *testing.T) {
	p := newPlace(t)
	changed := func() func(client.Event) bool {
		seen := len(p.Events())
		n := 0
		return func(e client.Event) bool {
			n++
			var r core.RootParams
			return n > seen && e.Name == core.GitChanged.Name && json.Unmarshal(e.Params, &r) == nil && r.Root == p.root
		}
	}
	p.write("f", "1\n")
	for i, f := range []func(){
		func() { p.git("add", "f") },
		func() { p.git("commit", "-qm", "one") },
		func() { p.git("branch", "deep/er/one") },
		func() { p.git("branch", "deep/er/two") },
		func() { p.git("pack-refs", "--all") },
		func() { spacetest.MustDo(p.Client, core.GitSwitch, core.GitSwitchParams{Branch: "deep/er/one"}) },
	} {
		match := changed()
		f()
		t.Logf("change %d", i)
		p.Await(match)
	}
}

func TestManyUntracked(t *testing.T) {
	p := newPlace(t)
	const many = 1000
	for i := range many {
		p.write(fmt.Sprintf("d%d/f%d", i%10, i), "")
	}
	if n := len(spacetest.MustCall(p.Client, core.GitStatus, core.GitStatusParams{}).Entries); n != many {
		t.Errorf("%d entries", n)
	}
}

func TestStatusIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("# branch.head main\x00")
	name := strings.Repeat("x", 4000)
	for b.Len() < maxStatus+1<<20 {
		b.WriteString("? " + name + "\x00")
	}
	st, err := parseStatus(strings.NewReader(b.String()))
	if err != nil || !st.Truncated || len(st.Entries) == 0 || len(st.Entries) > maxStatus/len(name) {
		t.Errorf("%v, truncated %v, %d entries", err, st.Truncated, len(st.Entries))
	}
}
