// Package buffer serves the operations of the buffer namespace (core.md §6)
// over the engine in internal/edit/buffer: it turns params, results, errors
// and what the engine tells into those of the wire, and nothing else.
//
// # Concurrency
//
// A [Space] has no state of its own but the engine, which may be used from
// any goroutine.
package buffer

import (
	"context"

	engine "dragoman/internal/edit/buffer"
	"dragoman/internal/edit/text"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Paths resolves what clients call a path.
type Paths interface {
	// Resolve makes a path absolute and confines it to the roots. The error
	// is one of the protocol's.
	Resolve(raw string) (string, error)
	// Exists reports whether something is at a resolved path.
	Exists(path string) bool
}

// Heads reads files as of the last commit.
type Heads interface {
	// Head is the content of a file in HEAD.
	Head(ctx context.Context, path string) ([]byte, error)
}

// Options are what a [Space] works with.
type Options struct {
	// Set is the engine, made with the observer of [Observe].
	Set *engine.Set
	// Paths confines.
	Paths Paths
	// Heads serves buffer.diff against head; nil for none.
	Heads Heads
}

// A Space serves the namespace.
type Space struct {
	set   *engine.Set
	paths Paths
	heads Heads
}

// New makes a space.
func New(o Options) *Space { return &Space{set: o.Set, paths: o.Paths, heads: o.Heads} }

// Bind binds the operations, and tells the table which path is which buffer.
func (s *Space) Bind(m *op.Mux) {
	core.BufferOpen.Handle(m, s.open)
	core.BufferNew.Handle(m, s.scratch)
	core.BufferClose.Handle(m, s.close)
	core.BufferList.Handle(m, s.list)
	core.BufferGet.Handle(m, s.get)
	core.BufferText.Handle(m, s.text)
	core.BufferEdit.Handle(m, s.edit)
	core.BufferUndo.Handle(m, s.undo)
	core.BufferRedo.Handle(m, s.redo)
	core.BufferFind.Handle(m, s.find)
	core.BufferMatches.Handle(m, s.matches)
	core.BufferReplaceAll.Handle(m, s.replaceAll)
	core.BufferSave.Handle(m, s.save)
	core.BufferReload.Handle(m, s.reload)
	core.BufferKeep.Handle(m, s.keep)
	core.BufferResolve.Handle(m, s.resolve)
	core.BufferDiff.Handle(m, s.diff)
	core.BufferSetPath.Handle(m, s.setPath)
	core.BufferSetFormat.Handle(m, s.setFormat)
	core.BufferCheckDisk.Handle(m, s.checkDisk)
	core.BufferRecover.Handle(m, s.recover)
	core.BufferForget.Handle(m, s.forget)
	core.BufferRecoveries.Handle(m, s.recoveries)
	m.Alias(s.alias)
}

// alias gives an open file's path the key of its buffer.
func (s *Space) alias(key string) string {
	path, ok := core.PathOfKey(key)
	if !ok {
		return key
	}
	abs, err := s.paths.Resolve(path)
	if err != nil {
		return key
	}
	if id, open := s.set.ByPath(abs); open {
		return core.BufferKey(string(id))
	}
	return core.PathKey(abs)
}

// Unsaved lists the buffers with unsaved text.
func (s *Space) Unsaved() []string {
	var ids []string
	for _, info := range s.set.List() {
		if info.Modified {
			ids = append(ids, string(info.Buffer))
		}
	}
	return ids
}

// Detached drops the uses of a client that is gone.
func (s *Space) Detached(client string) { s.set.Detach(client) }

func unit(c op.Call) text.Unit { return text.Unit(c.Unit) }

// origin is that of a client's call; the engine adds the reason.
func origin(c op.Call) engine.Origin {
	return engine.Origin{Kind: string(core.OriginClient), Client: c.Client, Certainty: string(core.Exact)}
}
