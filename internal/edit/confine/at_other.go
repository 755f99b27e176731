//go:build !unix

package confine

import (
	"errors"
	"io/fs"
	"os"
)

func writableAt(_ *os.File, p *Place) bool {
	info, err := p.Dir.Stat(p.Name)
	return err == nil && info.Mode().Perm()&0o200 != 0
}

func renameAt(_, _ *os.File, from, to *Place, r Replacing) error {
	if _, err := to.Lstat(); r == NeverReplace && !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return os.Rename(from.Real, to.Real)
}
