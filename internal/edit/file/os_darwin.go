package file

import (
	"os"
	"syscall"
	"time"
)

func ctimeOf(s *syscall.Stat_t) time.Time {
	return timeOf(int64(s.Ctimespec.Sec), int64(s.Ctimespec.Nsec))
}

func exchange(dir *os.Root, temp, name string) error { return exchangeByLink(dir, temp, name) }

func renameNew(dir *os.Root, temp, name string) error { return linkNew(dir, temp, name) }
