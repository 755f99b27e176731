package file

import (
	"syscall"
	"time"
)

func ctimeOf(s *syscall.Stat_t) time.Time {
	return timeOf(int64(s.Ctimespec.Sec), int64(s.Ctimespec.Nsec))
}

func exchange(temp, path string) error { return exchangeByLink(temp, path) }

func renameNew(temp, path string) error { return linkNew(temp, path) }
