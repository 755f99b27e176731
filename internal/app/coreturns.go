package app

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"dragoman/internal/edit/changes"
	"dragoman/internal/edit/checkpoint"
	"dragoman/internal/edit/watch"
	"dragoman/internal/namespace/turns"
	"dragoman/wire/core"
)

// A turnsHook is where the watcher's sink finds the tracker, which is built
// after it.
type turnsHook struct{ atomic.Pointer[turns.Tracker] }

// attribute says who changed a path.
func (h *turnsHook) attribute(root, path string) core.Origin {
	if t := h.Load(); t != nil {
		return t.Attribute(root, path)
	}
	return core.Origin{Kind: core.OriginDisk, Certainty: core.Exact}
}

// observed passes on what the watcher saw.
func (h *turnsHook) observed(c watch.Change, o core.Origin) {
	if t := h.Load(); t != nil {
		t.Observed(c, o)
	}
}

// addTurns adds what follows agents' turns. Checkpoints and changes are kept a
// root.
func addTurns(b *coreBuild) error {
	dir := filepath.Join(b.state, "turns", b.name)
	if b.state == "" {
		var err error
		if dir, err = os.MkdirTemp(b.env.tempDir(), "dragoman-turns-"); err != nil {
			return err
		}
		b.atEnd = append(b.atEnd, func(context.Context) error { return os.RemoveAll(dir) })
	}
	store, err := checkpoint.Open(filepath.Join(dir, "contents"))
	if err != nil {
		return err
	}
	b.atEnd = append(b.atEnd, func(context.Context) error { return store.Close() })
	now := time.Now()
	if err := store.Expire(now); err != nil {
		b.log.Warn("the checkpoints", "err", err)
	}
	ledger, err := changes.Open(filepath.Join(dir, "changes.jsonl"), now)
	if err != nil {
		return err
	}
	b.atEnd = append(b.atEnd, func(context.Context) error { return ledger.Close() })
	t := turns.New(turns.Options{
		Roots: b.confined, Buffers: b.buffers, FS: b.fs, Watcher: b.watcher, Settler: b.sink.Settler(), Store: store,
		Ledger: ledger, Events: b.events, Head: b.git.Commit, GlobalIgnore: b.globalIgnore, Log: b.log,
	})
	b.atEnd = append(b.atEnd, func(context.Context) error { return t.Close() })
	b.turns.Store(t)
	t.Bind(b.mux)
	return nil
}
