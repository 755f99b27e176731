package app

import (
	"context"
	"path/filepath"
	"time"

	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/trash"
	"dragoman/internal/edit/watch"
	"dragoman/internal/namespace/fs"
)

// addRoots confines every path to the roots.
func addRoots(b *coreBuild) error {
	roots, err := confine.New(b.roots...)
	if err != nil {
		return err
	}
	b.atEnd = append(b.atEnd, func(context.Context) error { return roots.Close() })
	b.confined, b.currentRoots = roots, roots.List
	b.files = confine.Files{Roots: roots}
	b.sink = fs.NewSink(b.hub, confine.Files{Roots: roots})
	b.sink.Attribute, b.sink.Observed = b.turns.attribute, b.turns.observed
	return nil
}

// addFS adds the fs namespace, and the watching of the roots.
func addFS(b *coreBuild) error {
	b.sink.Use(b.buffers)
	b.globalIgnore = b.env.globalIgnore()
	b.watcher = watch.New(watch.Options{Sink: b.sink, GlobalIgnore: b.globalIgnore, Log: b.log})
	b.atEnd = append(b.atEnd, func(context.Context) error {
		err := b.watcher.Close()
		b.sink.Close()
		return err
	})
	for _, root := range b.confined.List() {
		if err := b.watcher.Add(b.ctx, root); err != nil {
			return err
		}
	}
	o := fs.Options{Roots: b.confined, Buffers: b.buffers, Watcher: b.watcher, GlobalIgnore: b.globalIgnore}
	if b.state != "" {
		bin, err := trash.Open(filepath.Join(b.state, "trash", b.name))
		if err != nil {
			return err
		}
		b.atEnd = append(b.atEnd, func(context.Context) error { return bin.Close() })
		if err := bin.Expire(time.Now()); err != nil {
			b.log.Warn("the trash", "err", err)
		}
		o.Trash = bin
	}
	b.fs = fs.New(o)
	b.fs.Bind(b.mux)
	b.detached = append(b.detached, b.fs.Detached)
	return nil
}
