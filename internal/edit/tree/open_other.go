//go:build !unix

package tree

import (
	"io"

	"dragoman/internal/edit/confine"
)

// Open opens a regular file of the folder for one reading.
func (f *Folder) Open(name string) (io.ReadCloser, error) { return confine.OpenRegular(f.root, name) }
