package fs

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"dragoman/internal/edit/ignore"
	"dragoman/internal/edit/tree"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// startOf is where a walk starts; the walk closes the folder.
type startOf struct {
	dir    *os.Root
	path   string
	filter tree.Filter
}

func (s *Space) glob(_ context.Context, _ op.Call, p core.FsGlobParams) (op.Work[core.FsGlobResult], error) {
	limit, err := positive("limit", p.Limit, defaultLimit, maxLimit)
	if err != nil {
		return op.Work[core.FsGlobResult]{}, err
	}
	pattern, ok := ignore.Parse(p.Pattern)
	if !ok || pattern.Negated() {
		return op.Work[core.FsGlobResult]{}, op.BadRequest("pattern", "syntax")
	}
	return op.Work[core.FsGlobResult]{Do: func(ctx context.Context, _ op.Run) (core.FsGlobResult, error) {
		start, err := s.start(p.Raw(), p.Hidden, p.Ignored)
		if err != nil {
			return core.FsGlobResult{}, err
		}
		return start.match(ctx, pattern, limit)
	}}, nil
}

func (s startOf) match(ctx context.Context, pattern ignore.Pattern, limit int) (core.FsGlobResult, error) {
	var found []string
	err := tree.Walk(ctx, s.dir, s.filter, func(_ *tree.Folder, entries []tree.Entry) error {
		for _, e := range entries {
			t := ignore.File
			if e.IsDir() {
				t = ignore.Dir
			}
			if pattern.Match(e.Path, t) {
				found = append(found, e.Path)
			}
		}
		return nil
	})
	if err != nil {
		return core.FsGlobResult{}, wireError(err, s.path)
	}
	slices.SortFunc(found, compareNatural)
	r := core.FsGlobResult{Paths: []string{}}
	if r.Truncated = len(found) > limit; r.Truncated {
		found = found[:limit]
	}
	for _, rel := range found {
		r.Paths = append(r.Paths, core.NewPath(filepath.Join(s.path, filepath.FromSlash(rel))).Path)
	}
	return r, nil
}
