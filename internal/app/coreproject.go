package app

import (
	"path/filepath"

	"dragoman/internal/namespace/project"
)

// addProject adds the project namespace.
func addProject(b *coreBuild) error {
	o := project.Options{
		Roots: b.confined, Buffers: b.buffers, Watcher: b.watcher, Files: b.fs,
		Events: b.events, GlobalIgnore: b.globalIgnore,
	}
	if b.state != "" {
		o.StateDir = filepath.Join(b.state, "project")
	}
	project.New(o).Bind(b.mux)
	return nil
}
