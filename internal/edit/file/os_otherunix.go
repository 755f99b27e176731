//go:build unix && !linux && !darwin

package file

import (
	"syscall"
	"time"
)

func ctimeOf(s *syscall.Stat_t) time.Time { return time.Time{} }

func exchange(temp, path string) error { return exchangeByLink(temp, path) }

func renameNew(temp, path string) error { return linkNew(temp, path) }
