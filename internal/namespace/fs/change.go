package fs

import (
	"context"
	"crypto/rand"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"syscall"

	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/tree"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func (s *Space) create(ctx context.Context, c op.Call, p core.FsCreateParams) (core.FsEntry, error) {
	return s.make(ctx, c, p.Raw(), func(at *confine.Place) error {
		if p.Type == core.TypeDir {
			return at.Dir.Mkdir(at.Name, newFolderMode)
		}
		f, err := at.Dir.OpenFile(at.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFileMode)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// make makes something at a path where nothing is, not even a dangling link.
func (s *Space) make(ctx context.Context, c op.Call, path string, do func(*confine.Place) error) (core.FsEntry, error) {
	at, err := s.Roots.Place(path)
	if err != nil {
		return core.FsEntry{}, wireError(err, path)
	}
	defer at.Close()
	end, err := s.changing(ctx, c, "create", at.Real)
	if err != nil {
		return core.FsEntry{}, wireError(err, path)
	}
	defer end()
	if err := do(at); err != nil {
		if errors.Is(err, iofs.ErrExist) {
			return core.FsEntry{}, s.exists(at.Real)
		}
		return core.FsEntry{}, wireError(err, path)
	}
	return s.entryAt(at.Real)
}

func (s *Space) mkdir(ctx context.Context, c op.Call, p core.FsPathParams) (core.FsEntry, error) {
	real, err := s.Roots.Resolve(p.Raw())
	if err != nil {
		return core.FsEntry{}, wireError(err, p.Raw())
	}
	if _, err := s.files.Stat(real); err == nil {
		return core.FsEntry{}, s.exists(real)
	}
	end, err := s.changing(ctx, c, "create", s.firstMissing(real))
	if err != nil {
		return core.FsEntry{}, wireError(err, p.Raw())
	}
	defer end()
	if err := s.Roots.MkdirAll(real, newFolderMode); err != nil {
		return core.FsEntry{}, wireError(err, p.Raw())
	}
	return s.entryAt(real)
}

// two are the places of a rename or a copy.
type two struct{ from, to *confine.Place }

func (t two) close() {
	t.from.Close()
	t.to.Close()
}

func (s *Space) places(from, to string) (two, error) {
	var t two
	var err error
	if t.from, err = s.Roots.Place(from); err != nil {
		return t, wireError(err, from)
	}
	if t.to, err = s.Roots.Place(to); err != nil {
		t.from.Close()
		return t, wireError(err, to)
	}
	switch {
	case t.from.IsRoot() || t.to.IsRoot():
		err = op.Unsupported("a root can't be moved, copied or replaced")
	case inside(t.from.Real, t.to.Real) && t.from.Real != t.to.Real:
		err = op.Unsupported("%q lies in %q", to, from)
	}
	if err != nil {
		t.close()
	}
	return t, err
}

func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

func (s *Space) rename(ctx context.Context, c op.Call, p core.FsRenameParams) (core.FsEntry, error) {
	t, err := s.places(p.From, p.To)
	if err != nil {
		return core.FsEntry{}, err
	}
	defer t.close()
	if _, err := t.from.Lstat(); err != nil {
		return core.FsEntry{}, wireError(err, p.From)
	}
	if t.from.Real == t.to.Real {
		return s.entryAt(t.to.Real)
	}
	replace := confine.NeverReplace
	if p.Overwrite {
		replace = confine.Replace
		if id, ok := s.Buffers.ByPath(t.to.Real); ok {
			return core.FsEntry{}, op.Conflict(op.ConflictPathOpen, "%q is open as %s", p.To, id)
		}
	}
	end, err := s.changing(ctx, c, "rename", t.from.Real, t.to.Real)
	if err != nil {
		return core.FsEntry{}, wireError(err, p.From)
	}
	defer end()
	switch err := move(ctx, t, replace); {
	case errors.Is(err, iofs.ErrExist):
		return core.FsEntry{}, s.exists(t.to.Real)
	case err != nil:
		return core.FsEntry{}, wireError(err, p.From)
	}
	s.Buffers.Moved(t.from.Real, t.to.Real)
	return s.entryAt(t.to.Real)
}

// move renames, or copies and deletes between file systems.
func move(ctx context.Context, t two, r confine.Replacing) error {
	err := confine.Rename(t.from, t.to, r)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := copyIn(ctx, t, r, func(int64) {}); err != nil {
		return err
	}
	return t.from.Dir.RemoveAll(t.from.Name)
}

// copyIn copies to a name of its own and moves that in, so that no half of a
// copy is ever seen.
func copyIn(ctx context.Context, t two, r confine.Replacing, progress func(int64)) error {
	temp := "." + rand.Text()[:12] + file.TempSuffix
	err := tree.Copy(ctx, t.from.Dir, t.from.Name, t.to.Dir, temp, progress)
	if err == nil {
		err = confine.Rename(&confine.Place{Real: t.to.Real, Name: temp, Dir: t.to.Dir}, t.to, r)
	}
	if err != nil {
		return errors.Join(err, t.to.Dir.RemoveAll(temp))
	}
	return nil
}

func (s *Space) copy(_ context.Context, c op.Call, p core.FsCopyParams) (op.Work[core.None], error) {
	return op.Work[core.None]{Do: func(ctx context.Context, r op.Run) (none core.None, err error) {
		t, err := s.places(p.From, p.To)
		if err != nil {
			return none, err
		}
		defer t.close()
		if t.from.Real == t.to.Real {
			return none, s.exists(t.to.Real)
		}
		if _, err := t.to.Lstat(); err == nil {
			return none, s.exists(t.to.Real)
		}
		end, err := s.changing(ctx, c, "copy", t.to.Real)
		if err != nil {
			return none, wireError(err, p.To)
		}
		defer end()
		err = copyIn(ctx, t, confine.NeverReplace, func(n int64) { r.Progress(n, 0, "") })
		if errors.Is(err, iofs.ErrExist) {
			return none, s.exists(t.to.Real)
		}
		return none, wireError(err, p.From)
	}}, nil
}
