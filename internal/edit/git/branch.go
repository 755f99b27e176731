package git

import (
	"context"
	"strconv"
	"strings"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

func (s *Space) branches(ctx context.Context, _ op.Call, p core.GitRoot) (core.GitBranchesResult, error) {
	result := core.GitBranchesResult{Local: []core.GitBranch{}, Remote: []core.GitRemoteBranch{}}
	r, err := s.repo(ctx, p.Root)
	if err != nil {
		return result, err
	}
	raw, err := s.output(ctx, r.git("for-each-ref",
		"--format=%(refname)%00%(objectname)%00%(upstream:short)%00%(upstream:track)%00%(symref)",
		"refs/heads", "refs/remotes"))
	if err != nil {
		return result, err
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(f) != 5 || f[4] != "" { // a name for another ref
			continue
		}
		if name, ok := strings.CutPrefix(f[0], "refs/remotes/"); ok {
			result.Remote = append(result.Remote, core.GitRemoteBranch{Name: name, OID: f[1]})
			continue
		}
		b := core.GitBranch{Name: strings.TrimPrefix(f[0], "refs/heads/"), OID: f[1], Upstream: f[2]}
		b.Ahead, b.Behind, b.Gone = track(f[3])
		result.Local = append(result.Local, b)
	}
	head, err := s.line(ctx, r.git("rev-parse", "--symbolic-full-name", "HEAD"))
	if err != nil { // no commit yet: a name all the same
		head, err = s.line(ctx, r.git("symbolic-ref", "HEAD"))
	}
	if err != nil {
		return result, err
	}
	if name, ok := strings.CutPrefix(head, "refs/heads/"); ok {
		result.Current = &name
	}
	return result, nil
}

// track reads "[ahead 1, behind 2]" or "[gone]".
func track(s string) (ahead, behind int, gone bool) {
	for part := range strings.SplitSeq(strings.Trim(s, "[]"), ", ") {
		word, n, _ := strings.Cut(part, " ")
		switch word {
		case "ahead":
			ahead, _ = strconv.Atoi(n)
		case "behind":
			behind, _ = strconv.Atoi(n)
		case "gone":
			gone = true
		}
	}
	return ahead, behind, gone
}

func (s *Space) switchTo(_ context.Context, _ op.Call, p core.GitSwitchParams) (op.Work[core.None], error) {
	if p.Branch == "" || p.Branch[0] == '-' || strings.ContainsRune(p.Branch, 0) {
		return op.Work[core.None]{}, op.BadRequest("branch", "invalid")
	}
	return work(func(ctx context.Context, _ op.Run) (core.None, error) {
		r, err := s.repo(ctx, p.Root)
		if err != nil {
			return core.None{}, err
		}
		args := []string{"switch", "--no-progress", "--no-recurse-submodules"}
		if p.Create {
			args = append(args, "--create")
		}
		c := r.git(append(args, p.Branch)...)
		c.hooks = withHooks
		return core.None{}, s.change(ctx, r, func() error { return s.run(ctx, c) })
	})
}

func (s *Space) stash(_ context.Context, _ op.Call, p core.GitStashParams) (op.Work[core.GitStashResult], error) {
	switch {
	case p.Index < 0:
		return op.Work[core.GitStashResult]{}, op.BadRequest("index", op.ReasonOutOfRange)
	case strings.ContainsRune(p.Message, 0):
		return op.Work[core.GitStashResult]{}, op.BadRequest("message", "nul")
	}
	return work(func(ctx context.Context, _ op.Run) (core.GitStashResult, error) {
		r, err := s.repo(ctx, p.Root)
		if err != nil {
			return core.GitStashResult{}, err
		}
		if c := r.git(stashArgs(p)...); p.Action != "list" {
			if err := s.change(ctx, r, func() error { return s.run(ctx, c) }); err != nil {
				return core.GitStashResult{}, err
			}
		}
		return s.stashes(ctx, r)
	})
}

func stashArgs(p core.GitStashParams) []string {
	if p.Action == "push" {
		args := []string{"stash", "push"}
		if p.Message != "" {
			args = append(args, "--message="+p.Message)
		}
		return args
	}
	return []string{"stash", string(p.Action), "stash@{" + strconv.Itoa(p.Index) + "}"}
}

func (s *Space) stashes(ctx context.Context, r *repo) (core.GitStashResult, error) {
	result := core.GitStashResult{Entries: []core.GitStashEntry{}}
	raw, err := s.output(ctx, r.git("stash", "list", "-z", "--format=tformat:%H%x00%ct%x00%gs", "--encoding=UTF-8"))
	if err != nil {
		return result, err
	}
	f := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	for ; len(f) >= 3; f = f[3:] {
		result.Entries = append(result.Entries, core.GitStashEntry{
			Index: len(result.Entries), OID: f[0], Message: strings.ToValidUTF8(f[2], "\uFFFD"), At: unixTime(f[1]),
		})
	}
	return result, nil
}

func (s *Space) worktrees(ctx context.Context, _ op.Call, p core.GitRoot) (core.GitWorktreesResult, error) {
	result := core.GitWorktreesResult{Worktrees: []core.GitWorktree{}}
	r, err := s.repo(ctx, p.Root)
	if err != nil {
		return result, err
	}
	raw, err := s.output(ctx, r.git("worktree", "list", "--porcelain", "-z"))
	if err != nil {
		return result, err
	}
	for field := range strings.SplitSeq(string(raw), "\x00") {
		key, value, _ := strings.Cut(field, " ")
		if key == "worktree" {
			result.Worktrees = append(result.Worktrees, core.GitWorktree{PathOut: core.NewPath(value)})
			continue
		}
		if len(result.Worktrees) == 0 {
			continue
		}
		last := &result.Worktrees[len(result.Worktrees)-1]
		switch key {
		case "HEAD":
			last.OID = value
		case "branch":
			last.Branch = strings.TrimPrefix(value, "refs/heads/")
		}
	}
	return result, nil
}
