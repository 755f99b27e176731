package watch

import (
	"context"
	"sync"
	"time"

	"dragoman/internal/edit/file"
)

// When a file that changed may be read (documents.md rule 2).
const (
	// QuietFor is how long no event of a file may come.
	QuietFor = 50 * time.Millisecond
	// SettleLimit is how long to wait for that at most, and for how long a file
	// that is empty or gone is a replacement under way.
	SettleLimit = 500 * time.Millisecond
)

// A Settler waits until files that change are still.
type Settler struct {
	// Stat tells a file's state.
	Stat func(path string) (file.Stat, error)
	// Look is called with a file that is still, by one goroutine a path. origin
	// is that of the last change.
	Look func(ctx context.Context, path string, origin any)

	mu      sync.Mutex
	waiting map[string]*waiting
	ctx     context.Context
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

// waiting is a file that changed: news holds that it did so again.
type waiting struct {
	news   chan struct{}
	origin any
	again  bool
}

// Touch says that a file changed.
func (s *Settler) Touch(path string, origin any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.stop = context.WithCancel(context.Background())
		s.waiting = map[string]*waiting{}
	}
	if s.ctx.Err() != nil {
		return
	}
	if w := s.waiting[path]; w != nil {
		w.origin, w.again = origin, true
		select {
		case w.news <- struct{}{}:
		default:
		}
		return
	}
	w := &waiting{news: make(chan struct{}, 1), origin: origin}
	s.waiting[path] = w
	s.wg.Go(func() { s.settle(path, w) })
}

// settle waits and looks, again as long as the file changes.
func (s *Settler) settle(path string, w *waiting) {
	for {
		if !s.still(path, w) {
			return
		}
		s.mu.Lock()
		w.again = false
		origin := w.origin
		s.mu.Unlock()
		s.Look(s.ctx, path, origin)
		s.mu.Lock()
		if !w.again {
			delete(s.waiting, path)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

// still waits until a file is still or the limit has passed; false: the end.
func (s *Settler) still(path string, w *waiting) bool {
	start := time.Now()
	before, beforeErr := s.Stat(path)
	for {
		wait := time.NewTimer(min(QuietFor, SettleLimit-time.Since(start)))
		select {
		case <-s.ctx.Done():
			wait.Stop()
			return false
		case <-w.news:
			wait.Stop()
			before, beforeErr = s.Stat(path)
		case <-wait.C:
			now, err := s.Stat(path)
			underWay := err != nil || now.Size == 0
			if !underWay && beforeErr == nil && now.Same(before) {
				return true
			}
			before, beforeErr = now, err
		}
		if time.Since(start) >= SettleLimit {
			return true
		}
	}
}

// Wait waits until no file is waited for.
func (s *Settler) Wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		n := len(s.waiting)
		s.mu.Unlock()
		if n == 0 {
			return nil
		}
		pause := time.NewTimer(5 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// Close ends all waiting. It may be called twice.
func (s *Settler) Close() {
	s.mu.Lock()
	if s.stop == nil {
		s.ctx, s.stop = context.WithCancel(context.Background())
	}
	s.stop()
	s.mu.Unlock()
	s.wg.Wait()
}
