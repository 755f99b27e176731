package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/trash"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func (s *Space) delete(_ context.Context, c op.Call, p core.FsDeleteParams) (op.Work[core.None], error) {
	return op.Work[core.None]{Do: func(ctx context.Context, _ op.Run) (none core.None, err error) {
		at, err := s.Roots.Place(p.Raw())
		if err != nil {
			return none, wireError(err, p.Raw())
		}
		defer at.Close()
		if at.IsRoot() {
			return none, op.Unsupported("a root can't be deleted")
		}
		end, err := s.changing(ctx, c, "delete", at.Real)
		if err != nil {
			return none, wireError(err, p.Raw())
		}
		err = s.remove(ctx, c, at, p)
		if err == nil {
			s.lookAtBuffers(ctx, c, "delete", at.Real)
		}
		end()
		return none, wireError(err, p.Raw())
	}}, nil
}

func (s *Space) remove(ctx context.Context, c op.Call, at *confine.Place, p core.FsDeleteParams) error {
	info, err := at.Lstat()
	if err != nil {
		return err
	}
	if info.IsDir() && !p.Recursive {
		empty, err := isEmpty(at)
		if err != nil {
			return err
		}
		if !empty {
			return &iofs.PathError{Op: "delete", Path: at.Real, Err: syscall.ENOTEMPTY}
		}
	}
	if p.Permanent {
		return at.Dir.RemoveAll(at.Name)
	}
	return s.toTrash(ctx, at, info, core.ClientOrigin(c, "delete"))
}

func isEmpty(at *confine.Place) (bool, error) {
	f, err := at.Dir.Open(at.Name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	names, err := f.Readdirnames(1)
	return len(names) == 0, ignoreEOF(err)
}

func ignoreEOF(err error) error {
	var path *iofs.PathError
	if errors.As(err, &path) {
		return err
	}
	return nil
}

func (s *Space) toTrash(ctx context.Context, at *confine.Place, info iofs.FileInfo, o core.Origin) error {
	if s.Trash == nil {
		return op.Unsupported("there is no trash; delete with permanent")
	}
	origin, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = s.Trash.Put(ctx, at, trash.Item{
		Path: []byte(at.Real), Type: string(typeOf(info.Mode())), DeletedAt: time.Now().UTC(), Origin: origin,
	})
	return err
}

// Discard moves what is at a path to the trash for another namespace.
func (s *Space) Discard(ctx context.Context, path string, o core.Origin) error {
	at, err := s.Roots.Place(path)
	if err != nil {
		return wireError(err, path)
	}
	defer at.Close()
	info, err := at.Lstat()
	if err != nil {
		return wireError(err, path)
	}
	tell, err := s.Watcher.Expect(ctx, at.Real)
	if err != nil {
		return wireError(err, path)
	}
	defer tell(o)
	return wireError(s.toTrash(ctx, at, info, o), path)
}

func (s *Space) listTrash(context.Context, op.Call, core.None) (core.FsListTrashResult, error) {
	r := core.FsListTrashResult{Items: []core.TrashItem{}}
	if s.Trash == nil {
		return r, nil
	}
	items, err := s.Trash.List()
	if err != nil {
		return r, wireError(err, "trash")
	}
	for _, it := range items {
		t := core.TrashItem{
			Item: it.ID, PathOut: core.NewPath(string(it.Path)), Type: core.FileType(it.Type),
			Size: it.Size, DeletedAt: it.DeletedAt,
		}
		if err := json.Unmarshal(it.Origin, &t.Origin); err == nil {
			r.Items = append(r.Items, t)
		}
	}
	return r, nil
}

func (s *Space) restore(_ context.Context, c op.Call, p core.FsRestoreParams) (op.Work[core.FsEntry], error) {
	return op.Work[core.FsEntry]{Do: func(ctx context.Context, _ op.Run) (core.FsEntry, error) {
		it, err := s.item(p.Item)
		if err != nil {
			return core.FsEntry{}, err
		}
		to := p.To
		if to == "" {
			to = string(it.Path)
		}
		e, err := s.restoreTo(ctx, c, it, to)
		return e, err
	}}, nil
}

func (s *Space) item(id string) (trash.Item, error) {
	if s.Trash == nil {
		return trash.Item{}, op.NotFound("item", id)
	}
	it, err := s.Trash.Get(id)
	if err != nil {
		return it, op.NotFound("item", id)
	}
	return it, nil
}

func (s *Space) restoreTo(ctx context.Context, c op.Call, it trash.Item, to string) (core.FsEntry, error) {
	at, err := s.Roots.Place(to)
	if err != nil {
		return core.FsEntry{}, wireError(err, to)
	}
	defer at.Close()
	end, err := s.changing(ctx, c, "restore", at.Real)
	if err != nil {
		return core.FsEntry{}, wireError(err, to)
	}
	defer end()
	err = s.Trash.Restore(ctx, it.ID, at)
	switch {
	case errors.Is(err, iofs.ErrExist):
		return core.FsEntry{}, s.exists(at.Real)
	case errors.Is(err, trash.ErrNoItem):
		return core.FsEntry{}, op.NotFound("item", it.ID)
	case err != nil:
		return core.FsEntry{}, wireError(err, to)
	}
	s.lookAtBuffers(ctx, c, "restore", at.Real)
	return s.entryAt(at.Real)
}

func (s *Space) emptyTrash(_ context.Context, _ op.Call, p core.FsEmptyTrashParams) (op.Work[core.None], error) {
	return op.Work[core.None]{Do: func(ctx context.Context, r op.Run) (none core.None, err error) {
		ids := p.Items
		for _, id := range ids {
			if _, err := s.item(id); err != nil {
				return none, err
			}
		}
		if p.Items == nil && s.Trash != nil {
			items, err := s.Trash.List()
			if err != nil {
				return none, wireError(err, "trash")
			}
			for _, it := range items {
				ids = append(ids, it.ID)
			}
		}
		for i, id := range ids {
			if err := ctx.Err(); err != nil {
				return none, err
			}
			if err := s.Trash.Remove(id); err != nil && !errors.Is(err, trash.ErrNoItem) {
				return none, wireError(err, id)
			}
			r.Progress(int64(i+1), int64(len(ids)), "")
		}
		return none, nil
	}}, nil
}
