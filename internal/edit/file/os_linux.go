package file

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func ctimeOf(s *syscall.Stat_t) time.Time { return timeOf(int64(s.Ctim.Sec), int64(s.Ctim.Nsec)) }

// exchange swaps two names at once.
func exchange(temp, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
	if unsupported(err) {
		return exchangeByLink(temp, path)
	}
	return linkError("exchange", temp, path, err)
}

// renameNew renames unless something has the new name.
func renameNew(temp, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
	if unsupported(err) {
		return linkNew(temp, path)
	}
	return linkError("rename", temp, path, err)
}

func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}

func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}
