package fs

import (
	"context"
	"io"
	iofs "io/fs"
	"path/filepath"

	"dragoman/internal/edit/confine"
	"dragoman/wire/core"
)

// Recreate writes a file of another namespace where nothing is, with its mode
// and the folders above it: else exists.
func (s *Space) Recreate(ctx context.Context, path string, mode iofs.FileMode, o core.Origin, write func(io.Writer) error) error {
	tell, err := s.Watcher.Expect(ctx, path, s.firstMissing(path))
	if err != nil {
		return wireError(err, path)
	}
	defer tell(o)
	if err := s.Roots.MkdirAll(filepath.Dir(path), newFolderMode); err != nil {
		return wireError(err, path)
	}
	if err := s.put(path, nil, "", write); err != nil {
		return wireError(err, path)
	}
	return s.chmod(path, mode)
}

// Chmod sets the permissions of a file for another namespace.
func (s *Space) Chmod(ctx context.Context, path string, mode iofs.FileMode, o core.Origin) error {
	tell, err := s.Watcher.Expect(ctx, path)
	if err != nil {
		return wireError(err, path)
	}
	defer tell(o)
	return s.chmod(path, mode)
}

func (s *Space) chmod(path string, mode iofs.FileMode) error {
	return wireError(s.Roots.Do(path, func(at *confine.Place) error { return at.Dir.Chmod(at.Name, mode.Perm()) }), path)
}

// Move renames a file for another namespace to where nothing is: else exists.
// Its buffer follows.
func (s *Space) Move(ctx context.Context, from, to string, o core.Origin) error {
	tell, err := s.Watcher.Expect(ctx, from, to, s.firstMissing(to))
	if err != nil {
		return wireError(err, from)
	}
	defer tell(o)
	if err := s.Roots.MkdirAll(filepath.Dir(to), newFolderMode); err != nil {
		return wireError(err, to)
	}
	t, err := s.places(from, to)
	if err != nil {
		return err
	}
	defer t.close()
	if err := move(ctx, t, confine.NeverReplace); err != nil {
		return wireError(err, to)
	}
	s.Buffers.Moved(t.from.Real, t.to.Real)
	return nil
}
