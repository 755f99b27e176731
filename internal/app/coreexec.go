package app

import (
	"context"
	"path/filepath"

	"dragoman/internal/config"
	"dragoman/internal/edit/exec"
	"dragoman/wire/core"
)

// addExec adds the exec namespace. Its logs are kept a root.
func addExec(b *coreBuild) error {
	dir := ""
	if b.state != "" {
		dir = filepath.Join(b.state, "exec", b.name)
	}
	s, err := exec.New(exec.Options{
		Starter: b.sup, Dir: dir, Folder: b.paths.Resolve, Pending: b.execPending,
		Environ: b.env.Environ, Log: b.log,
		Inherit: func() []string { return b.config.List(config.Inherit) },
	})
	if err != nil {
		return err
	}
	b.atEnd = append(b.atEnd, func(context.Context) error { return s.Close() })
	b.exec = s
	s.Bind(b.mux)
	return nil
}

// execPending reports whether that is a run of a program that hasn't ended.
func (b *coreBuild) execPending(id string) bool {
	r := b.runs.Get(id)
	if r == nil {
		return false
	}
	info := r.Info()
	return info.Op == core.ExecRun.Name && info.State != core.RunStateEnded
}
