package watch

import (
	"errors"
	"log/slog"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// notifierBuffer is how many events may wait for the watcher's goroutine
// beside those in the kernel.
const notifierBuffer = 4096

type system struct{ *fsnotify.Watcher }

func (s system) Events() <-chan fsnotify.Event { return s.Watcher.Events }
func (s system) Errors() <-chan error          { return s.Watcher.Errors }

// systemNotifier gives the operating system's events, or a notifier that takes
// no folder.
func systemNotifier(log *slog.Logger) Notifier {
	w, err := fsnotify.NewBufferedWatcher(notifierBuffer)
	if err != nil {
		log.Warn("watching", "err", err)
		return none{}
	}
	return system{w}
}

// none is a notifier where there is none.
type none struct{}

func (none) Add(string) error              { return syscall.ENOSPC }
func (none) Remove(string) error           { return nil }
func (none) Events() <-chan fsnotify.Event { return nil }
func (none) Errors() <-chan error          { return nil }
func (none) Close() error                  { return nil }

// limited reports whether an error means that no more folders can be watched.
func limited(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENOMEM)
}
