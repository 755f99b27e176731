//go:build unix && !linux && !darwin

package file

import (
	"os"
	"syscall"
	"time"
)

func ctimeOf(s *syscall.Stat_t) time.Time { return time.Time{} }

func exchange(dir *os.Root, temp, name string) error { return exchangeByLink(dir, temp, name) }

func renameNew(dir *os.Root, temp, name string) error { return linkNew(dir, temp, name) }
