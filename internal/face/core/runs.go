package core

import (
	"context"

	"dragoman/internal/run"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func (s *Server) find(id string) (*run.Run, error) {
	r := s.opts.Runs.Get(id)
	if r == nil {
		return nil, op.NotFound("run", id)
	}
	return r, nil
}

func (s *Server) runGet(_ context.Context, _ op.Call, p core.RunParams) (core.RunInfo, error) {
	r, err := s.find(p.Run)
	if err != nil {
		return core.RunInfo{}, err
	}
	return r.Info(), nil
}

func (s *Server) runList(context.Context, op.Call, core.None) (core.RunListResult, error) {
	l := core.RunListResult{Runs: []core.RunInfo{}}
	for _, r := range s.opts.Runs.List() {
		l.Runs = append(l.Runs, r.Info())
	}
	return l, nil
}

// runCancel needs the effect of the run's own operation (core.md §3).
func (s *Server) runCancel(_ context.Context, c op.Call, p core.RunParams) (core.RunCancelResult, error) {
	r, err := s.find(p.Run)
	if err != nil {
		return core.RunCancelResult{}, err
	}
	if err := c.Access.Allows("run.cancel", r.Effect()); err != nil {
		return core.RunCancelResult{}, err
	}
	return core.RunCancelResult{State: r.Cancel("")}, nil
}

func (s *Server) runWatch(ctx context.Context, _ op.Call, p core.RunParams) (core.None, error) {
	c, err := connOf(ctx)
	if err != nil {
		return core.None{}, err
	}
	if _, err := s.find(p.Run); err != nil {
		return core.None{}, err
	}
	c.client.Watch(p.Run)
	return core.None{}, nil
}
