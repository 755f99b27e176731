package git

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// withRemote makes the work of a call that reaches the branch's remote.
func (s *Space) withRemote(root string, args ...string) (op.Work[core.None], error) {
	return work(func(ctx context.Context, run op.Run) (core.None, error) {
		r, err := s.repo(ctx, root)
		if err != nil {
			return core.None{}, err
		}
		conf, err := s.settings(ctx, r)
		if err != nil {
			return core.None{}, err
		}
		c := r.git(args...)
		c.remote, c.ssh, c.progress = true, conf.ssh, progressOf(run)
		return core.None{}, s.change(ctx, r, func() error { return s.run(ctx, c) })
	})
}

func (s *Space) fetch(_ context.Context, _ op.Call, p core.GitRemoteParams) (op.Work[core.None], error) {
	return s.withRemote(p.Root, "fetch", "--progress", "--no-recurse-submodules")
}

func (s *Space) pull(_ context.Context, _ op.Call, p core.GitRemoteParams) (op.Work[core.None], error) {
	return s.withRemote(p.Root, "pull", "--progress", "--no-edit", "--no-recurse-submodules")
}

func (s *Space) push(_ context.Context, _ op.Call, p core.GitRemoteParams) (op.Work[core.None], error) {
	return s.withRemote(p.Root, "push", "--progress", "--recurse-submodules=no")
}

func (s *Space) clone(_ context.Context, _ op.Call, p core.GitCloneParams) (op.Work[core.None], error) {
	switch {
	case p.URL == "" || strings.ContainsRune(p.URL, 0):
		return op.Work[core.None]{}, op.BadRequest("url", "invalid")
	case p.Depth != nil && (*p.Depth < 1 || *p.Depth > 1<<30):
		return op.Work[core.None]{}, op.BadRequest("depth", op.ReasonOutOfRange)
	}
	return work(func(ctx context.Context, run op.Run) (core.None, error) {
		root, err := s.opts.Paths.Resolve(p.Root)
		if err != nil {
			return core.None{}, err
		}
		path := p.Raw()
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		path, err = s.opts.Paths.Resolve(path)
		if err != nil {
			return core.None{}, err
		}
		if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 || err != nil && !os.IsNotExist(err) {
			return core.None{}, op.Fail(op.CodeExists, "%q is there already", p.Raw())
		}
		args := []string{"clone", "--progress", "--no-recurse-submodules"}
		if p.Depth != nil {
			args = append(args, "--depth="+strconv.Itoa(*p.Depth))
		}
		return core.None{}, s.run(ctx, call{
			dir: root, args: append(args, "--", p.URL, path), remote: true, progress: progressOf(run),
		})
	})
}

// counted is a line of git's progress: "Receiving objects:  42% (21/50)".
var counted = regexp.MustCompile(`^(?:remote: )?([A-Za-z ]+): +\d+% \((\d+)/(\d+)\)`)

// progressOf tells git's progress as that of a run.
func progressOf(run op.Run) func(string) {
	return func(line string) {
		m := counted.FindStringSubmatch(line)
		if m == nil {
			return
		}
		done, err1 := strconv.ParseInt(m[2], 10, 64)
		total, err2 := strconv.ParseInt(m[3], 10, 64)
		if err1 == nil && err2 == nil {
			run.Progress(done, total, m[1])
		}
	}
}
