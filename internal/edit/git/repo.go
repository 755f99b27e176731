package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"dragoman/wire/op"
)

// A repo is a worktree and where its repository is.
type repo struct {
	// root is the folder that was asked for, top the worktree's.
	root, top string
	// dir is the worktree's own git folder, common that of all worktrees.
	dir, common string
	// scope are the pathspecs of a question about everything: what of the
	// worktree the roots hold; nil for all.
	scope []string
	// turn holds one token: whoever changes the repository has it.
	turn chan struct{}

	mu       sync.Mutex
	settings *settings
}

// repos remembers the repositories of folders.
type repos struct {
	mu sync.Mutex
	// by folder
	known map[string]found
	// turns by common folder
	turns map[string]chan struct{}
}

// found is a repository, and what shows that it still is the folder's.
type found struct {
	repo *repo
	mark string
}

// repo finds the repository of a folder in params, "" for the first root. It
// asks git once for each folder.
func (s *Space) repo(ctx context.Context, raw string) (*repo, error) {
	root, err := s.opts.Paths.Resolve(raw)
	if err != nil {
		return nil, err
	}
	s.repos.mu.Lock()
	f, ok := s.repos.known[root]
	s.repos.mu.Unlock()
	if ok && f.mark == mark(root, f.repo) {
		return f.repo, nil
	}
	r, err := s.discover(ctx, root)
	if err != nil {
		return nil, err
	}
	s.repos.mu.Lock()
	defer s.repos.mu.Unlock()
	if s.repos.known == nil {
		s.repos.known, s.repos.turns = map[string]found{}, map[string]chan struct{}{}
	}
	if s.repos.turns[r.common] == nil {
		s.repos.turns[r.common] = make(chan struct{}, 1)
	}
	r.turn = s.repos.turns[r.common]
	s.repos.known[root] = found{r, mark(root, r)}
	s.monitor.add(root)
	return r, nil
}

// mark changes when another repository takes the place of a folder's: one
// between the folder and the top, or another one at the top.
func mark(root string, r *repo) string {
	var b strings.Builder
	for dir := root; ; dir = filepath.Dir(dir) {
		b.WriteString(identity(filepath.Join(dir, ".git")).stable())
		if dir == r.top || dir == filepath.Dir(dir) {
			break
		}
	}
	b.WriteString(identity(r.dir).stable())
	return b.String()
}

// discover asks git. It is asked thing by thing where a line end in a path
// would mix up the answer.
func (s *Space) discover(ctx context.Context, root string) (*repo, error) {
	ask := func(what ...string) (string, error) {
		args := append([]string{"rev-parse", "--path-format=absolute"}, what...)
		return s.line(ctx, call{dir: root, args: args})
	}
	all, err := ask("--show-toplevel", "--git-dir", "--git-common-dir")
	if err != nil {
		var e *op.Error
		if errors.As(err, &e) && strings.Contains(e.Message, "must be run in a work tree") {
			return nil, op.Unsupported("%s", e.Message)
		}
		return nil, err
	}
	parts := strings.Split(all, "\n")
	if len(parts) != 3 {
		parts = make([]string, 3)
		for i, what := range []string{"--show-toplevel", "--git-dir", "--git-common-dir"} {
			if parts[i], err = ask(what); err != nil {
				return nil, err
			}
		}
	}
	r := &repo{root: root, top: parts[0], dir: parts[1], common: parts[2]}
	if _, err := s.opts.Paths.Resolve(r.top); err != nil {
		rel, err := filepath.Rel(r.top, root)
		if err != nil {
			return nil, op.OutsideRoot(root)
		}
		r.scope = []string{filepath.ToSlash(rel)}
	}
	return r, nil
}

// path gives a path of params relative to the top, with slashes.
func (s *Space) path(r *repo, raw string) (string, error) {
	abs := raw
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(r.top, filepath.FromSlash(raw))
	}
	real, err := s.opts.Paths.ResolveName(abs)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(r.top, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", op.OutsideRoot(raw)
	}
	return filepath.ToSlash(rel), nil
}

func (s *Space) paths(r *repo, raw []string) ([]string, error) {
	rels := make([]string, 0, len(raw))
	for _, p := range raw {
		if p == "" || strings.ContainsRune(p, 0) {
			return nil, op.BadRequest("paths", "invalid")
		}
		rel, err := s.path(r, p)
		if err != nil {
			return nil, err
		}
		rels = append(rels, rel)
	}
	return rels, nil
}

// pathspec is what a question is about: one path, or what the roots hold.
func (s *Space) pathspec(r *repo, raw string) ([]string, error) {
	if raw == "" {
		return r.scope, nil
	}
	rel, err := s.path(r, raw)
	return []string{rel}, err
}

// git is a call in the worktree.
func (r *repo) git(args ...string) call { return call{dir: r.top, args: args} }

// about appends pathspecs to a call.
func (c call) about(paths []string) call {
	c.args = append(append(c.args, "--"), paths...)
	return c
}

// change runs f as the only change of the repository, and tells afterwards
// if HEAD, index or refs moved.
func (s *Space) change(ctx context.Context, r *repo, f func() error) error {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.turn }()
	err := f()
	s.monitor.check()
	if errors.Is(err, errSilent) {
		return errors.Join(r.locked(), err)
	}
	return err
}

// locked is busy while somebody holds the index.
func (r *repo) locked() error {
	if !identity(filepath.Join(r.dir, "index.lock")).there {
		return nil
	}
	return op.Busy(op.BusyIndexLock, "another process holds the index of %s", r.top)
}

// exists reports whether something is at a path of the repository.
func (r *repo) exists(rel string) bool {
	_, err := os.Lstat(r.abs(rel))
	return err == nil
}

func (r *repo) abs(rel string) string { return filepath.Join(r.top, filepath.FromSlash(rel)) }
