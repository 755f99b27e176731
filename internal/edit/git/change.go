package git

import (
	"context"
	"strings"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// fromStdin makes a call read its paths from stdin, where there is no limit.
func (c call) fromStdin(paths []string) call {
	c.args = append(c.args, "--pathspec-from-file=-", "--pathspec-file-nul")
	c.stdin = []byte(strings.Join(paths, "\x00"))
	return c
}

func (s *Space) stage(ctx context.Context, _ op.Call, p core.GitStageParams) (core.None, error) {
	return s.toIndex(ctx, p, []string{"add", "--all"}, side{})
}

func (s *Space) unstage(ctx context.Context, _ op.Call, p core.GitStageParams) (core.None, error) {
	return s.toIndex(ctx, p, []string{"reset", "--quiet"}, side{staged: true, reverse: true})
}

// toIndex changes the index by whole paths with a command, or by hunks.
func (s *Space) toIndex(ctx context.Context, p core.GitStageParams, whole []string, from side) (core.None, error) {
	r, err := s.repo(ctx, p.Root)
	if err != nil {
		return core.None{}, err
	}
	paths, err := s.paths(r, p.Paths)
	if err != nil {
		return core.None{}, err
	}
	picks, err := s.picks(r, p.Hunks)
	if err != nil || len(paths)+len(picks) == 0 {
		return core.None{}, err
	}
	return core.None{}, s.change(ctx, r, func() error {
		if len(picks) > 0 {
			return s.applyHunks(ctx, r, picks, from)
		}
		return s.run(ctx, r.git(whole...).fromStdin(paths))
	})
}

func (s *Space) commit(_ context.Context, _ op.Call, p core.GitCommitParams) (op.Work[core.GitCommitResult], error) {
	if strings.ContainsRune(p.Message, 0) {
		return op.Work[core.GitCommitResult]{}, op.BadRequest("message", "nul")
	}
	return work(func(ctx context.Context, _ op.Run) (result core.GitCommitResult, err error) {
		r, err := s.repo(ctx, p.Root)
		if err != nil {
			return result, err
		}
		paths, err := s.paths(r, p.Paths)
		if err != nil {
			return result, err
		}
		args := []string{"commit", "--quiet", "--cleanup=whitespace", "--file=-"}
		if p.Amend {
			args = append(args, "--amend")
		}
		if len(paths) > 0 {
			args = append(args, "--only")
		}
		c := r.git(args...)
		if len(paths) > 0 {
			c = c.about(paths)
		}
		c.stdin, c.hooks = []byte(p.Message), withHooks
		err = s.change(ctx, r, func() error {
			if err := s.run(ctx, c); err != nil {
				return err
			}
			both, err := s.line(ctx, r.git("log", "-1", "--format=%H %h", "--no-color"))
			result.OID, result.Short, _ = strings.Cut(both, " ")
			return err
		})
		return result, err
	})
}

func (s *Space) discard(_ context.Context, c op.Call, p core.GitDiscardParams) (op.Work[core.None], error) {
	return work(func(ctx context.Context, run op.Run) (core.None, error) {
		if s.opts.Trash == nil {
			return core.None{}, op.Unsupported("there is no trash here, and nothing is given up without it")
		}
		r, err := s.repo(ctx, p.Root)
		if err != nil {
			return core.None{}, err
		}
		paths, err := s.paths(r, p.Paths)
		if err != nil || len(paths) == 0 {
			return core.None{}, err
		}
		origin := core.Origin{Kind: core.OriginGit, Client: c.Client, Run: run.ID(), Certainty: core.Exact, Reason: "git"}
		return core.None{}, s.change(ctx, r, func() error { return s.giveUp(ctx, r, paths, origin) })
	})
}

// giveUp puts what differs from the index into the trash, and brings the
// index's files back. Nothing is moved where git would then refuse.
func (s *Space) giveUp(ctx context.Context, r *repo, paths []string, origin core.Origin) error {
	st, err := s.askStatus(ctx, r, paths, false)
	if err != nil {
		return err
	}
	if st.Truncated {
		return op.TooLarge("what is to be given up", maxStatus, maxStatus+1)
	}
	var away, back []string
	for _, e := range st.Entries {
		path := e.Raw()
		switch {
		case e.Kind == "submodule":
			return op.Unsupported("%q is a submodule", path)
		case e.Kind == "unmerged":
			return gitRefused("path '" + e.Path + "' is unmerged")
		case e.Kind == "untracked":
			away = append(away, path)
		case e.Worktree != ".":
			back = append(back, path)
			if r.exists(path) {
				away = append(away, path)
			}
		}
	}
	if err := r.locked(); err != nil {
		return err
	}
	for _, path := range away {
		abs := strings.TrimSuffix(r.abs(path), "/")
		if err := s.opts.Trash.Put(ctx, abs, origin); err != nil {
			return op.IO(err, path)
		}
	}
	if len(back) == 0 {
		return nil
	}
	return s.run(ctx, r.git("restore", "--worktree", "--no-progress").fromStdin(back))
}
