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
func exchange(dir *os.Root, temp, name string) error {
	err := renameAt(dir, temp, name, unix.RENAME_EXCHANGE)
	if unsupported(err) {
		return exchangeByLink(dir, temp, name)
	}
	return linkError("exchange", temp, name, err)
}

// renameNew renames unless something has the new name.
func renameNew(dir *os.Root, temp, name string) error {
	err := renameAt(dir, temp, name, unix.RENAME_NOREPLACE)
	if unsupported(err) {
		return linkNew(dir, temp, name)
	}
	return linkError("rename", temp, name, err)
}

func renameAt(dir *os.Root, from, to string, flags uint) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	fd := int(d.Fd())
	return errors.Join(unix.Renameat2(fd, from, fd, to, flags), d.Close())
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
