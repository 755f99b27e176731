//go:build !unix

package file

import (
	"io"
	"os"
)

// Sequential opens a file for reading once from start to end.
func Sequential(path string) (io.ReadCloser, error) { return os.Open(path) }
