package proc

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// An InterruptError is the cause of a context of [InterruptContext] that a
// signal ended.
type InterruptError struct{ Signal os.Signal }

func (e *InterruptError) Error() string { return "got " + e.Signal.String() }

// InterruptContext returns a context that ends with the first SIGINT, SIGTERM
// or SIGHUP, whose cause is then an [*InterruptError]; later ones are
// swallowed, the shutdown that the first began is on its way. While it
// lasts, a write to a closed stdout is an error and doesn't kill us. The
// function that it returns ends it, and waits for its goroutine.
func InterruptContext(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 4)
	// SIGPIPE is caught, not ignored: children would inherit an ignored one.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case got := <-signals:
				if got != syscall.SIGPIPE {
					cancel(&InterruptError{got})
				}
			case <-stop:
				return
			}
		}
	}()
	stopped := false
	return ctx, func() {
		if stopped {
			return
		}
		stopped = true
		signal.Stop(signals)
		close(stop)
		<-done
		cancel(nil)
	}
}
