// Package fs serves the operations of the fs namespace (core.md §6) inside the
// roots.
//
// Each change that it makes is announced to the watcher before and told by it
// after, so that own and outside changes come the same way, once, with their
// origin, and before the operation's response.
//
// # Concurrency
//
// A Space may be used from any goroutine.
package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"path/filepath"
	"sync"
	"syscall"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/ignore"
	"dragoman/internal/edit/trash"
	"dragoman/internal/edit/watch"
	buffers "dragoman/internal/namespace/buffer"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Options are what a Space works with.
type Options struct {
	// Roots confine every path.
	Roots *confine.Roots
	// Buffers are the open documents.
	Buffers *buffer.Set
	// Watcher tells what changes; its sink is the caller's.
	Watcher *watch.Watcher
	// Trash takes what is deleted; nil: there is none.
	Trash *trash.Store
	// GlobalIgnore are the user's own files of gitignore rules.
	GlobalIgnore []string
}

// A Space serves the namespace.
type Space struct {
	Options
	files confine.Files

	mu      sync.Mutex
	next    int
	watches map[string]string
}

// New makes a space.
func New(o Options) *Space {
	return &Space{Options: o, files: confine.Files{Roots: o.Roots}, watches: map[string]string{}}
}

// Bind binds the operations.
func (s *Space) Bind(m *op.Mux) {
	core.FsList.Handle(m, s.list)
	core.FsStat.Handle(m, s.stat)
	core.FsRead.Handle(m, s.read)
	core.FsWrite.Handle(m, s.write)
	core.FsCreate.Handle(m, s.create)
	core.FsMkdir.Handle(m, s.mkdir)
	core.FsRename.Handle(m, s.rename)
	core.FsCopy.Stream(m, s.copy)
	core.FsDelete.Stream(m, s.delete)
	core.FsListTrash.Handle(m, s.listTrash)
	core.FsRestore.Stream(m, s.restore)
	core.FsEmptyTrash.Stream(m, s.emptyTrash)
	core.FsGlob.Stream(m, s.glob)
	core.FsWatch.Handle(m, s.watch)
	core.FsUnwatch.Handle(m, s.unwatch)
}

// wireError turns what went wrong with a path into an error of the protocol.
func wireError(err error, path string) error {
	var own *op.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, syscall.ENOTEMPTY):
		// The standard library counts it as fs.ErrExist.
		return op.Fail(op.CodeIO, "%q isn't empty", path).With("errno", "ENOTEMPTY")
	case errors.Is(err, iofs.ErrExist), errors.Is(err, iofs.ErrNotExist):
		return op.IO(err, path)
	}
	var engine *buffer.Error
	if errors.As(buffer.DiskError(path, err), &engine) && engine.Code != buffer.IO {
		return buffers.WireError(engine)
	}
	return op.IO(err, path)
}

// rulesOf gives the ignore rules that hold in a folder of a root.
func (s *Space) rulesOf(folder string) *ignore.Rules {
	return ignore.Load(folder, s.GlobalIgnore)
}

// changing announces a change of paths by a call to the watcher. Its end tells
// the change.
func (s *Space) changing(ctx context.Context, c op.Call, reason core.ChangeReason, paths ...string) (end func(), err error) {
	tell, err := s.Watcher.Expect(ctx, paths...)
	if err != nil {
		return func() {}, err
	}
	return func() { tell(core.ClientOrigin(c, reason)) }, nil
}

// lookAtBuffers has the buffers of paths look at the disk.
func (s *Space) lookAtBuffers(ctx context.Context, c op.Call, reason core.ChangeReason, path string) {
	for _, info := range s.Buffers.List() {
		rel, err := filepath.Rel(path, info.Path)
		if info.Path != "" && err == nil && filepath.IsLocal(rel) {
			_ = s.Buffers.Look(ctx, info.Buffer, engineOrigin(c, reason))
		}
	}
}

func engineOrigin(c op.Call, reason core.ChangeReason) buffer.Origin {
	return buffer.Origin{
		Kind: string(core.OriginClient), Client: c.Client, Certainty: string(core.Exact), Reason: string(reason),
	}
}
