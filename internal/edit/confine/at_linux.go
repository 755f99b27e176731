package confine

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func renameAt(src, dst *os.File, from, to *Place, r Replacing) error {
	if r == Replace {
		return unix.Renameat(int(src.Fd()), from.Name, int(dst.Fd()), to.Name)
	}
	err := unix.Renameat2(int(src.Fd()), from.Name, int(dst.Fd()), to.Name, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// The file system can't: look first.
	if _, err := to.Lstat(); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return unix.Renameat(int(src.Fd()), from.Name, int(dst.Fd()), to.Name)
}
