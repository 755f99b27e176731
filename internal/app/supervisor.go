package app

import (
	"context"
	"log/slog"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/proc"
)

// supervisorCloseLimit bounds the end of children that nobody ended.
const supervisorCloseLimit = 15 * time.Second

// A supervisor is a [proc.Supervisor] that is made in the background: ending
// what a dead instance left takes time, and the first answer mustn't wait.
type supervisor struct {
	ready chan struct{}
	sup   *proc.Supervisor
	err   error
}

func startSupervisor(stateDir string, log *slog.Logger) *supervisor {
	s := &supervisor{ready: make(chan struct{})}
	go func() {
		defer close(s.ready)
		s.sup, s.err = proc.New(proc.Options{StateDir: stateDir, Log: log})
	}()
	return s
}

// Start implements [lane.Starter].
func (s *supervisor) Start(ctx context.Context, c lane.Command) (lane.Process, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.sup.Start(ctx, c)
}

// StartRaw starts a child of the exec and git namespaces.
func (s *supervisor) StartRaw(ctx context.Context, c proc.Command) (*proc.Process, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.sup.StartRaw(ctx, c)
}

func (s *supervisor) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends every child that is left.
func (s *supervisor) Close() error {
	<-s.ready
	if s.err != nil {
		return nil // it never started anything
	}
	ctx, cancel := context.WithTimeout(context.Background(), supervisorCloseLimit)
	defer cancel()
	return s.sup.Close(ctx)
}
