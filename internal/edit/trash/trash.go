// Package trash keeps what was deleted until it is restored, emptied or old
// (core.md §6 fs.delete). Its contents are never redacted, are readable by their
// owner alone and removed by age (core.md §7).
//
// Each item is a folder of its own with the thing and a description; the
// description is written first, so that a crash leaves nothing that can't be
// told apart.
//
// # Concurrency
//
// A Store may be used from any goroutine and by several processes.
package trash

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/tree"
)

// MaxAge is how long items are kept.
const MaxAge = 30 * 24 * time.Hour

// ErrNoItem says that an item isn't there.
var ErrNoItem = errors.New("no such item in the trash")

const (
	infoName = "info.json"
	dataName = "data"
)

// An Item is one thing in the trash.
type Item struct {
	// ID names it.
	ID string `json:"-"`
	// Path is where it was, its bytes as they are.
	Path []byte `json:"path"`
	// Type is its type on the wire.
	Type string `json:"type"`
	// Size in bytes of all that is in it.
	Size int64 `json:"size"`
	// DeletedAt is when.
	DeletedAt time.Time `json:"deletedAt"`
	// Origin is who deleted it, for the caller to read.
	Origin jsontext.Value `json:"origin"`
}

// A Store is a trash in a folder. Close gives the folder back.
type Store struct{ dir *os.Root }

// Open opens the trash in a folder, which it makes.
func Open(path string) (*Store, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Store{dir}, nil
}

// Close may be called twice.
func (s *Store) Close() error { return s.dir.Close() }

// Put moves what is at a place into the trash: by renaming, or by copying where
// the trash is on another file system. it says what it is but for ID and Size.
func (s *Store) Put(ctx context.Context, p *confine.Place, it Item) (Item, error) {
	it.ID = rand.Text()
	var err error
	if it.Size, err = sizeOf(ctx, p.Dir, p.Name); err != nil {
		return it, err
	}
	box, err := s.box(it)
	if err != nil {
		return it, err
	}
	defer box.Close()
	err = confine.Rename(p, box, confine.NeverReplace)
	if errors.Is(err, syscall.EXDEV) {
		if err = tree.Copy(ctx, p.Dir, p.Name, box.Dir, dataName, func(int64) {}); err == nil {
			err = p.Dir.RemoveAll(p.Name)
		}
	}
	if err != nil {
		return it, errors.Join(err, s.dir.RemoveAll(it.ID))
	}
	return it, nil
}

// box makes the folder of an item and gives the place in it.
func (s *Store) box(it Item) (*confine.Place, error) {
	raw, err := json.Marshal(it)
	if err != nil {
		return nil, err
	}
	if err := s.dir.Mkdir(it.ID, 0o700); err != nil {
		return nil, err
	}
	if err := s.dir.WriteFile(filepath.Join(it.ID, infoName), raw, 0o600); err != nil {
		return nil, errors.Join(err, s.dir.RemoveAll(it.ID))
	}
	return s.place(it.ID)
}

func (s *Store) place(id string) (*confine.Place, error) {
	dir, err := s.dir.OpenRoot(id)
	if err != nil {
		return nil, err
	}
	return &confine.Place{Real: filepath.Join(dir.Name(), dataName), Name: dataName, Dir: dir}, nil
}

// sizeOf counts the bytes of a thing and all below it.
func sizeOf(ctx context.Context, dir *os.Root, name string) (size int64, err error) {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() {
		if err == nil {
			size = info.Size()
		}
		return size, err
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return 0, err
	}
	err = tree.Walk(ctx, sub, tree.Filter{Hidden: true, Ignored: true}, func(f *tree.Folder, entries []tree.Entry) error {
		for _, e := range entries {
			if info, err := f.Lstat(e.Name); err == nil && !info.IsDir() {
				size += info.Size()
			}
		}
		return nil
	})
	return size, err
}

// List gives all items, the newest first.
func (s *Store) List() ([]Item, error) {
	names, err := fs.ReadDir(s.dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	out := []Item{}
	for _, n := range names {
		if it, err := s.Get(n.Name()); err == nil {
			out = append(out, it)
		}
	}
	slices.SortFunc(out, func(a, b Item) int {
		return cmp.Or(b.DeletedAt.Compare(a.DeletedAt), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Get gives one item.
func (s *Store) Get(id string) (Item, error) {
	if id == "" || strings.ContainsAny(id, "/\\.\x00") {
		return Item{}, ErrNoItem
	}
	raw, err := s.dir.ReadFile(filepath.Join(id, infoName))
	if err != nil {
		return Item{}, ErrNoItem
	}
	it := Item{ID: id}
	if err := json.Unmarshal(raw, &it); err != nil {
		return Item{}, ErrNoItem
	}
	if _, err := s.dir.Lstat(filepath.Join(id, dataName)); err != nil {
		return Item{}, ErrNoItem
	}
	return it, nil
}

// Restore moves an item to a place where nothing is.
func (s *Store) Restore(ctx context.Context, id string, to *confine.Place) error {
	if _, err := s.Get(id); err != nil {
		return err
	}
	box, err := s.place(id)
	if err != nil {
		return err
	}
	defer box.Close()
	err = confine.Rename(box, to, confine.NeverReplace)
	if errors.Is(err, syscall.EXDEV) {
		err = tree.Copy(ctx, box.Dir, box.Name, to.Dir, to.Name, func(int64) {})
	}
	if err != nil {
		return err
	}
	return s.dir.RemoveAll(id)
}

// Remove deletes an item for good.
func (s *Store) Remove(id string) error {
	if _, err := s.Get(id); err != nil {
		return err
	}
	return s.dir.RemoveAll(id)
}

// Expire deletes what is older than MaxAge.
func (s *Store) Expire(now time.Time) error {
	items, err := s.List()
	for _, it := range items {
		if now.Sub(it.DeletedAt) > MaxAge {
			err = errors.Join(err, s.dir.RemoveAll(it.ID))
		}
	}
	return err
}
