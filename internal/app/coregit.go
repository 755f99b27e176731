package app

import (
	"context"

	"dragoman/internal/edit/git"
	"dragoman/internal/namespace/fs"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// addGit adds the git namespace.
func addGit(b *coreBuild) error {
	b.git = git.New(git.Options{
		Starter: b.sup, Paths: b.confined, Roots: b.confined.List, Events: b.events,
		Environ: b.env.Environ, Watcher: b.watcher, Trash: gitTrash{b.fs}, Log: b.log,
	})
	b.atEnd = append(b.atEnd, func(context.Context) error { return b.git.Close() })
	b.git.Bind(b.mux)
	return nil
}

// gitTrash takes what git.discard gives up.
type gitTrash struct{ fs *fs.Space }

// Put implements git.Trash.
func (t gitTrash) Put(ctx context.Context, path string, o core.Origin) error {
	return t.fs.Discard(ctx, path, o)
}

// heads reads files as of the last commit, once there is a git namespace.
type heads struct{ *coreBuild }

// Head implements what buffer.diff needs.
func (h heads) Head(ctx context.Context, path string) ([]byte, error) {
	if h.git == nil {
		return nil, op.Unsupported("there is no git here")
	}
	return h.git.Head(ctx, path)
}
