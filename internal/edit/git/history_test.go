package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/internal/namespace/spacetest"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(spacetest.Patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it doesn't come")
		}
	}
}

func TestLogAndShow(t *testing.T) {
	p := newPlace(t)
	p.commit("one\n\nthe body\nof it\n", "f", "1\n", "g", "g\n")
	p.git("tag", "v1")
	p.commit("two", "f", "2\n", "bin", "\x00\xff")
	p.git("mv", "g", "h")
	p.git("commit", "-qm", "three")
	ten := 2
	l := spacetest.MustCall(p.Client, core.GitLog, core.GitLogParams{Max: &ten})
	if len(l.Commits) != 2 || !l.More || l.Commits[0].Subject != "three" || len(l.Commits[0].Parents) != 1 || l.Commits[0].Parents[0] != l.Commits[1].OID {
		t.Errorf("log %+v", l)
	}
	if r := l.Commits[0].Refs; len(r) != 2 || r[0] != "HEAD" || r[1] != "main" {
		t.Errorf("refs %q", r)
	}
	l = spacetest.MustCall(p.Client, core.GitLog, core.GitLogParams{Skip: 2, PathMaybe: core.PathMaybe{}})
	one := l.Commits[0]
	if len(l.Commits) != 1 || l.More || one.Body != "the body\nof it" || one.Author.Name != "A U Thor" || one.Committer.Email != "committer@example.com" ||
		!one.Author.At.Equal(time.Date(2024, 1, 2, 2, 4, 5, 0, time.UTC)) || one.Refs[0] != "v1" || len(one.Parents) != 0 {
		t.Errorf("log %+v", l)
	}
	l = spacetest.MustCall(p.Client, core.GitLog, core.GitLogParams{PathMaybe: core.PathMaybe{Path: "f"}, From: "main"})
	if len(l.Commits) != 2 {
		t.Errorf("log of f %+v", l)
	}
	s := spacetest.MustCall(p.Client, core.GitShow, core.GitShowParams{Rev: "v1"})
	if s.GitCommitInfo == nil || s.OID != one.OID || len(s.Files) != 2 || s.Files[0].Status != "A" || s.Files[0].Hunks[0].Lines[0] != (core.HunkLine{Op: "+", Text: "1"}) {
		t.Errorf("show %+v", s)
	}
	s = spacetest.MustCall(p.Client, core.GitShow, core.GitShowParams{Rev: "HEAD"})
	if len(s.Files) != 1 || s.Files[0].Status != "R" || s.Files[0].Orig != "g" || s.Files[0].Path != "h" {
		t.Errorf("show a rename %+v", s.Files)
	}
	s = spacetest.MustCall(p.Client, core.GitShow, core.GitShowParams{Rev: "HEAD", PathMaybe: core.PathMaybe{Path: "bin"}})
	if string(s.Base64) != "\x00\xff" || s.Text != nil {
		t.Errorf("show a file %+v", s)
	}
	head, err := p.space.Head(t.Context(), filepath.Join(p.root, "f"))
	if err != nil || string(head) != "2\n" {
		t.Errorf("head %q %v", head, err)
	}
}

func TestRevsThatArent(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n")
	zero, less := 0, -1
	for name, tt := range map[string]struct {
		e      *op.Error
		code   op.Code
		reason string
	}{
		"show":        {second(spacetest.Call(p.Client, core.GitShow, core.GitShowParams{Rev: "nope"})), op.CodeConflict, op.ConflictGitRefused},
		"option":      {second(spacetest.Call(p.Client, core.GitShow, core.GitShowParams{Rev: "--output=x"})), op.CodeConflict, op.ConflictGitRefused},
		"log":         {second(spacetest.Call(p.Client, core.GitLog, core.GitLogParams{From: "--output=x"})), op.CodeConflict, op.ConflictGitRefused},
		"diff":        {second(spacetest.Call(p.Client, core.GitDiff, core.GitDiffParams{From: "--output=x"})), op.CodeConflict, op.ConflictGitRefused},
		"to alone":    {second(spacetest.Call(p.Client, core.GitDiff, core.GitDiffParams{To: "HEAD"})), op.CodeBadRequest, "missing"},
		"to staged":   {second(spacetest.Call(p.Client, core.GitDiff, core.GitDiffParams{From: "HEAD", To: "HEAD", Staged: true})), op.CodeBadRequest, "exclusive"},
		"context":     {second(spacetest.Call(p.Client, core.GitDiff, core.GitDiffParams{Context: &less})), op.CodeBadRequest, "out_of_range"},
		"max":         {second(spacetest.Call(p.Client, core.GitLog, core.GitLogParams{Max: &zero})), op.CodeBadRequest, "out_of_range"},
		"skip":        {second(spacetest.Call(p.Client, core.GitLog, core.GitLogParams{Skip: -1})), op.CodeBadRequest, "out_of_range"},
		"no rev":      {second(spacetest.Call(p.Client, core.GitShow, core.GitShowParams{})), op.CodeBadRequest, "invalid"},
		"file":        {second(spacetest.Call(p.Client, core.GitShow, core.GitShowParams{Rev: "HEAD", PathMaybe: core.PathMaybe{Path: "no"}})), op.CodeNotFound, ""},
		"branch":      {second(spacetest.Do(p.Client, core.GitSwitch, core.GitSwitchParams{Branch: "nope"})), op.CodeConflict, op.ConflictGitRefused},
		"branch name": {second(spacetest.Do(p.Client, core.GitSwitch, core.GitSwitchParams{Branch: "--orphan"})), op.CodeBadRequest, "invalid"},
		"stash":       {second(spacetest.Do(p.Client, core.GitStash, core.GitStashParams{Action: "pop"})), op.CodeConflict, op.ConflictGitRefused},
		"stash index": {second(spacetest.Do(p.Client, core.GitStash, core.GitStashParams{Action: "pop", Index: -1})), op.CodeBadRequest, "out_of_range"},
		"stage":       {second(spacetest.Call(p.Client, core.GitStage, core.GitStageParams{Paths: []string{"none"}})), op.CodeConflict, op.ConflictGitRefused},
	} {
		t.Run(name, func(t *testing.T) { spacetest.Want(t, tt.e, tt.code, tt.reason) })
	}
	if _, err := os.Stat(filepath.Join(p.root, "x")); err == nil {
		t.Error("a rev was read as an option")
	}
}

func TestDiffOfRevsTypesAndBinaries(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "f", "1\n2\n3\n", "type", "t\n", "bin", "\x00")
	p.commit("two", "f", "1\nx\n3\n", "bin", "\x00\x01", "z", "last\n")
	if err := os.Remove(filepath.Join(p.root, "type")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", filepath.Join(p.root, "type")); err != nil {
		t.Fatal(err)
	}
	p.git("commit", "-qam", "three")
	d := spacetest.MustCall(p.Client, core.GitDiff, core.GitDiffParams{From: "HEAD~2", To: "HEAD"}).Files
	var got []string
	for _, f := range d {
		got = append(got, f.Status+" "+f.Path)
		if f.Path == "bin" && !f.Binary || f.Path == "type" && len(f.Hunks) != 2 {
			t.Errorf("%+v", f)
		}
	}
	if s := strings.Join(got, ","); s != "M bin,M f,T type,A z" {
		t.Errorf("files %s", s)
	}
	if h := d[1].Hunks[0]; h.OldStart != 1 || h.OldLines != 3 || len(h.Lines) != 4 {
		t.Errorf("hunk %+v", h)
	}
	p.write("f", "worktree\n")
	d = spacetest.MustCall(p.Client, core.GitDiff, core.GitDiffParams{From: "HEAD~1", PathMaybe: core.PathMaybe{Path: "f"}}).Files
	if len(d) != 1 || d[0].Hunks[0].NewLines != 1 {
		t.Errorf("against the worktree %+v", d)
	}
}

func TestLargeDiffIsCut(t *testing.T) {
	p := newPlace(t)
	line := strings.Repeat("x", 1000) + "\n"
	p.commit("one", "a", strings.Repeat(line, 3000), "b", "1\n")
	p.write("a", strings.Repeat(strings.ToUpper(line), 3000))
	p.write("b", "2\n")
	d := p.diff(false)
	if len(d) != 2 || !d[0].Truncated || len(d[0].Hunks) != 0 || d[1].Truncated || len(d[1].Hunks) != 1 {
		t.Errorf("diff %+v", d[1])
	}
}

// A file beyond what git compares: 700 MB of holes for the status, and a
// smaller one with a smaller limit for the difference, which reads it all.
func TestHugeFile(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "small", "1\n")
	huge := func(name string, size int64) {
		f, err := os.Create(filepath.Join(p.root, name))
		if err == nil {
			err = errors.Join(f.Truncate(size), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	huge("huge", 700<<20)
	p.wantSummary("untracked ?? huge")
	huge("huge", 16<<20)
	p.git("config", "core.bigFileThreshold", "1m")
	p.git("add", "--intent-to-add", "huge")
	d := p.diff(false)
	if len(d) != 1 || !d[0].Binary || len(d[0].Hunks) != 0 {
		t.Errorf("diff %+v", d)
	}
}

func TestShowIsBounded(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "big", strings.Repeat("x", maxShown+1))
	_, e := spacetest.Call(p.Client, core.GitShow, core.GitShowParams{Rev: "HEAD", PathMaybe: core.PathMaybe{Path: "big"}})
	spacetest.Want(t, e, op.CodeTooLarge, "")
	if e.Data["size"] != float64(maxShown+1) {
		t.Errorf("data %v", e.Data)
	}
}

func TestBlame(t *testing.T) {
	p := newPlace(t)
	p.commit("one", "old\tname", "1\n2\n3\n4\n")
	p.git("mv", "old\tname", "f")
	p.commit("two", "f", "1\n2\nthree\n4\n")
	p.write("f", "zero\n1\n2\nthree\n4\n")
	b := spacetest.MustDo(p.Client, core.GitBlame, core.GitBlameParams{PathIn: core.PathIn{Path: "f"}})
	var got []string
	for _, s := range b.Spans {
		c := b.Commits[s.OID]
		got = append(got, c.Author.Name+"|"+c.Subject+"|"+s.Path)
		if s.Lines < 1 || c.OID != s.OID {
			t.Errorf("span %+v of %+v", s, c)
		}
	}
	if s := strings.Join(got, ","); s != "Not Committed Yet||f,A U Thor|one|old\tname,A U Thor|two|f,A U Thor|one|old\tname" {
		t.Errorf("spans %q", s)
	}
	if b.Spans[1].Line != 1 || b.Spans[1].Lines != 2 || b.Spans[1].OrigLine != 0 {
		t.Errorf("span %+v", b.Spans[1])
	}
	at := func(from, to, char int64) *core.Range {
		return &core.Range{Start: core.Position{Line: from}, End: core.Position{Line: to, Character: char}}
	}
	b = spacetest.MustDo(p.Client, core.GitBlame, core.GitBlameParams{PathIn: core.PathIn{Path: "f"}, Range: at(3, 4, 0)})
	if len(b.Spans) != 1 || b.Spans[0].Line != 3 || b.Spans[0].Lines != 1 {
		t.Errorf("a range %+v", b.Spans)
	}
	for _, r := range []*core.Range{at(3, 2, 0), at(-1, 2, 0), at(9, 12, 0)} {
		_, e := spacetest.Do(p.Client, core.GitBlame, core.GitBlameParams{PathIn: core.PathIn{Path: "f"}, Range: r})
		spacetest.Want(t, e, op.CodeBadIndex, "")
	}
	_, e := spacetest.Do(p.Client, core.GitBlame, core.GitBlameParams{PathIn: core.PathIn{Path: "none"}})
	spacetest.Want(t, e, op.CodeConflict, op.ConflictGitRefused)
}

func TestUnquote(t *testing.T) {
	for in, want := range map[string]string{
		`plain`: "plain", `"a\tb"`: "a\tb", `"\"q\\"`: `"q\`, `"\303\251\n"`: "é\n", `"\a\b\v\f\r"`: "\a\b\v\f\r", `"open`: `"open`,
	} {
		if got := unquote(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestBranchesStashAndRemotes(t *testing.T) {
	server, p := newPlace(t), newPlace(t)
	server.commit("one", "f", "1\n")
	server.git("branch", "gone")
	p.git("remote", "add", "origin", server.root)
	spacetest.Want(t, second(spacetest.Do(p.Client, core.GitPull, core.GitRemoteParams{})), op.CodeConflict, op.ConflictGitRefused)
	spacetest.MustDo(p.Client, core.GitFetch, core.GitRemoteParams{})
	p.git("switch", "-q", "-c", "work", "origin/main")
	p.git("branch", "-q", "dead", "origin/gone")
	server.git("branch", "-D", "gone")
	p.git("fetch", "-q", "--prune")
	server.commit("two", "f", "2\n")
	p.commit("mine", "mine", "m\n")
	spacetest.MustDo(p.Client, core.GitFetch, core.GitRemoteParams{})
	b := spacetest.MustCall(p.Client, core.GitBranches, core.GitRoot{})
	if b.Current == nil || *b.Current != "work" || len(b.Local) != 2 || len(b.Remote) != 1 || b.Remote[0].Name != "origin/main" {
		t.Fatalf("branches %+v", b)
	}
	if d, w := b.Local[0], b.Local[1]; !d.Gone || d.Name != "dead" || w.Ahead != 1 || w.Behind != 1 || w.Upstream != "origin/main" {
		t.Errorf("branches %+v", b.Local)
	}
	// The two have parted, and nobody said how to join them.
	spacetest.Want(t, second(spacetest.Do(p.Client, core.GitPull, core.GitRemoteParams{})), op.CodeConflict, op.ConflictGitRefused)
	p.git("config", "pull.rebase", "true")
	spacetest.MustDo(p.Client, core.GitPull, core.GitRemoteParams{})
	if p.read("f") != "2\n" {
		t.Error("not pulled")
	}
	p.git("config", "push.default", "upstream")
	server.git("switch", "-q", "--detach")
	spacetest.MustDo(p.Client, core.GitPush, core.GitRemoteParams{})
	if got := server.git("log", "-1", "--format=%s", "main"); got != "mine" {
		t.Errorf("pushed %q", got)
	}
	p.write("f", "stashed\n")
	s := spacetest.MustDo(p.Client, core.GitStash, core.GitStashParams{Action: "push", Message: "a message"})
	if len(s.Entries) != 1 || !strings.Contains(s.Entries[0].Message, "a message") || s.Entries[0].OID == "" || p.read("f") != "2\n" {
		t.Errorf("stash %+v", s)
	}
	if s = spacetest.MustDo(p.Client, core.GitStash, core.GitStashParams{Action: "apply"}); len(s.Entries) != 1 || p.read("f") != "stashed\n" {
		t.Errorf("stash %+v", s)
	}
	if s = spacetest.MustDo(p.Client, core.GitStash, core.GitStashParams{Action: "drop"}); len(s.Entries) != 0 {
		t.Errorf("stash %+v", s)
	}
	spacetest.MustDo(p.Client, core.GitSwitch, core.GitSwitchParams{Branch: "fresh", Create: true})
	if got := p.git("branch", "--show-current"); got != "fresh" {
		t.Errorf("on %q", got)
	}
}

func TestClone(t *testing.T) {
	server, p := newPlace(t), newPlace(t)
	server.commit("one", "f", "1\n")
	server.commit("two", "f", "2\n")
	one := 1
	in := core.PathIn{Path: "copy"}
	spacetest.MustDo(p.Client, core.GitClone, core.GitCloneParams{URL: "file://" + server.root, PathIn: in, Depth: &one})
	if p.read("copy/f") != "2\n" {
		t.Error("not cloned")
	}
	l := spacetest.MustCall(p.Client, core.GitLog, core.GitLogParams{GitRoot: core.GitRoot{Root: "copy"}})
	if len(l.Commits) != 1 {
		t.Errorf("depth %+v", l)
	}
	zero := 0
	for name, tt := range map[string]struct {
		p      core.GitCloneParams
		code   op.Code
		reason string
	}{
		"there":    {core.GitCloneParams{URL: server.root, PathIn: in}, op.CodeExists, ""},
		"no url":   {core.GitCloneParams{URL: "", PathIn: in}, op.CodeBadRequest, "invalid"},
		"depth":    {core.GitCloneParams{URL: server.root, PathIn: in, Depth: &zero}, op.CodeBadRequest, "out_of_range"},
		"protocol": {core.GitCloneParams{URL: "ext::sh -c 'touch x'", PathIn: core.PathIn{Path: "other"}}, op.CodeConflict, op.ConflictGitRefused},
		"option":   {core.GitCloneParams{URL: "--upload-pack=x", PathIn: core.PathIn{Path: "other"}}, op.CodeConflict, op.ConflictGitRefused},
		"nothing":  {core.GitCloneParams{URL: server.root + "/none", PathIn: core.PathIn{Path: "other"}}, op.CodeConflict, op.ConflictGitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			spacetest.Want(t, second(spacetest.Do(p.Client, core.GitClone, tt.p)), tt.code, tt.reason)
		})
	}
}

func TestRefusals(t *testing.T) {
	for said, want := range map[string]string{
		"fatal: Unable to create '/r/.git/index.lock': File exists.":                  "busy index_lock",
		"fatal: could not read Username for 'https://h': terminal prompts disabled":   "denied auth",
		"git@host: Permission denied (publickey).\nfatal: Could not read from remote": "denied auth",
		"fatal: not a git repository (or any of the parent directories): .git":        "unsupported ",
		"fatal: detected dubious ownership in repository at '/r'":                     "conflict git_refused",
		"": "conflict git_refused",
	} {
		e, _ := op.AsError(refusal(said, ""))
		if got := string(e.Code) + " " + e.Reason(); got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
	e, _ := op.AsError(refusal("fatal: https://u:ghp_0123456789abcdefghijklmnopqrstuvwxyzAB@host", ""))
	if strings.Contains(e.Message, "ghp_0123456789") {
		t.Errorf("a secret in %q", e.Message)
	}
}
