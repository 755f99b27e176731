package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func lockNow(f *os.File) error {
	err := lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

func lockWait(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lock takes a byte far behind the content, since locks are mandatory here.
func lock(f *os.File, flags uint32) error {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
}
