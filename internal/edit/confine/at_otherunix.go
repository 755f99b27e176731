//go:build unix && !linux

package confine

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func renameAt(src, dst *os.File, from, to *Place, r Replacing) error {
	if _, err := to.Lstat(); r == NeverReplace && !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return unix.Renameat(int(src.Fd()), from.Name, int(dst.Fd()), to.Name)
}
