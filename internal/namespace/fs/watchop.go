package fs

import (
	"context"
	"fmt"

	"dragoman/internal/edit/watch"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func (s *Space) watch(ctx context.Context, c op.Call, p core.FsWatchParams) (core.FsWatchResult, error) {
	e, err := s.entryAt(p.Raw())
	if err != nil {
		return core.FsWatchResult{}, err
	}
	real, err := s.Roots.Resolve(e.Raw())
	if err != nil {
		return core.FsWatchResult{}, wireError(err, p.Raw())
	}
	root, _ := s.Roots.RootOf(real)
	s.mu.Lock()
	s.next++
	id := fmt.Sprintf("w%d", s.next)
	s.watches[id] = c.Client
	s.mu.Unlock()
	depth := watch.Flat
	if p.Recursive {
		depth = watch.Recursive
	}
	if err := s.Watcher.AddMore(ctx, id, root, real, depth); err != nil {
		s.dropWatch(id)
		return core.FsWatchResult{}, wireError(err, p.Raw())
	}
	return core.FsWatchResult{Watch: id}, nil
}

func (s *Space) unwatch(ctx context.Context, c op.Call, p core.FsWatchResult) (core.None, error) {
	s.mu.Lock()
	owner, ok := s.watches[p.Watch]
	s.mu.Unlock()
	if !ok || owner != c.Client {
		return core.None{}, op.NotFound("watch", p.Watch)
	}
	s.dropWatch(p.Watch)
	return core.None{}, wireError(s.Watcher.RemoveMore(ctx, p.Watch), p.Watch)
}

func (s *Space) dropWatch(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, id)
}

// Detached ends the watches of a client that is gone.
func (s *Space) Detached(client string) {
	s.mu.Lock()
	var ids []string
	for id, owner := range s.watches {
		if owner == client {
			ids = append(ids, id)
			delete(s.watches, id)
		}
	}
	s.mu.Unlock()
	for _, id := range ids {
		_ = s.Watcher.RemoveMore(context.Background(), id)
	}
}
