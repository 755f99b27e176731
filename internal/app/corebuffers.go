package app

import (
	"context"
	"path/filepath"
	"strings"

	"dragoman/internal/config"
	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/recovery"
	space "dragoman/internal/namespace/buffer"
	"dragoman/wire/op"
)

// addBuffers adds the buffer namespace. Its recovery logs are kept a root,
// so that a core offers only what its own left.
func addBuffers(b *coreBuild) error {
	if b.files == nil {
		b.files = file.OS{}
	}
	if b.paths == nil {
		b.paths = &rootPaths{files: b.files, roots: func() []string { return b.currentRoots() }}
	}
	dir := ""
	if b.state != "" {
		dir = filepath.Join(b.state, "recovery", b.name)
	}
	logs := recovery.Open(dir)
	b.atEnd = append(b.atEnd, func(context.Context) error { return logs.Close() })
	b.buffers = buffer.New(buffer.Options{
		Files: b.files, Recovery: logs, Observer: b.sink.Observing(space.Observe(b.hub)),
		UndoBytes: int(b.config.Int(config.UndoBytes)), MaxOpenBytes: b.config.Int(config.MaxFileBytes),
	})
	s := space.New(space.Options{Set: b.buffers, Paths: b.paths, Heads: heads{b}})
	s.Bind(b.mux)
	b.unsaved = append(b.unsaved, s.Unsaved)
	b.detached = append(b.detached, s.Detached)
	return nil
}

// rootPaths resolves the paths of params: relative ones from the first root,
// and none beyond the roots, after every link (core.md §6 "fs").
type rootPaths struct {
	files file.System
	roots func() []string
}

// Resolve implements the namespaces' path resolution.
func (p *rootPaths) Resolve(raw string) (string, error) {
	roots := p.roots()
	path := raw
	if !filepath.IsAbs(path) {
		path = filepath.Join(roots[0], path)
	}
	real, err := p.files.Resolve(filepath.Clean(path))
	if err != nil {
		return "", op.IO(err, raw)
	}
	for _, r := range roots {
		if real == r || strings.HasPrefix(real, strings.TrimSuffix(r, "/")+"/") {
			return real, nil
		}
	}
	return "", op.OutsideRoot(raw)
}

// Exists implements the namespaces' path resolution.
func (p *rootPaths) Exists(path string) bool {
	_, err := p.files.Stat(path)
	return err == nil
}
