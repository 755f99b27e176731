package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"time"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/tree"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Defaults and limits of lists (core.md §6).
const (
	defaultLimit = 10000
	maxLimit     = 1000000
	defaultDepth = 1
)

func typeOf(m iofs.FileMode) core.FileType {
	switch {
	case m.IsRegular():
		return core.TypeFile
	case m.IsDir():
		return core.TypeDir
	case m&iofs.ModeSymlink != 0:
		return core.TypeSymlink
	}
	return core.TypeOther
}

// octal is a mode as the wire has it: the permissions, setuid, setgid, sticky.
func octal(m iofs.FileMode) string {
	n := uint32(m.Perm())
	for i, bit := range []iofs.FileMode{iofs.ModeSticky, iofs.ModeSetgid, iofs.ModeSetuid} {
		if m&bit != 0 {
			n |= 0o1000 << i
		}
	}
	return fmt.Sprintf("%04o", n)
}

// entryOf describes a thing by its path.
func (s *Space) entryOf(path string, info iofs.FileInfo) core.FsEntry {
	e := core.FsEntry{
		Name: core.NewPath(filepath.Base(path)).Path, PathOut: core.NewPath(path), Type: typeOf(info.Mode()),
		Size: info.Size(), Mtime: info.ModTime().UTC().Truncate(time.Nanosecond), Mode: octal(info.Mode()),
	}
	if e.Type == core.TypeSymlink {
		s.target(&e, path)
	}
	return e
}

// target tells where a link leads; outside the roots only how it is written.
func (s *Space) target(e *core.FsEntry, path string) {
	p, err := s.Roots.Place(path)
	if err != nil {
		return
	}
	defer p.Close()
	if target, err := p.Dir.Readlink(p.Name); err == nil {
		e.Target = core.NewPath(target).Path
	}
	if st, err := s.files.Stat(path); err == nil {
		e.TargetType = typeOf(st.Mode)
	}
}

// entryAt describes what is at a path.
func (s *Space) entryAt(path string) (core.FsEntry, error) {
	p, err := s.Roots.Place(path)
	if err != nil {
		return core.FsEntry{}, wireError(err, path)
	}
	defer p.Close()
	info, err := p.Lstat()
	if err != nil {
		return core.FsEntry{}, wireError(err, path)
	}
	return s.entryOf(p.Real, info), nil
}

func positive(key string, given *int, byDefault, most int) (int, error) {
	switch {
	case given == nil:
		return byDefault, nil
	case *given < 1:
		return 0, op.BadRequest(key, op.ReasonOutOfRange)
	}
	return min(*given, most), nil
}

// start opens the folder that a list or glob starts in; "" is the first root.
func (s *Space) start(path string, hidden, ignored bool) (start startOf, err error) {
	if path == "" {
		path = "."
	}
	dir, real, err := s.Roots.Open(path)
	if err != nil {
		return startOf{}, wireError(err, path)
	}
	f := tree.Filter{Hidden: hidden, Ignored: ignored}
	if !ignored {
		f.Rules = s.rulesOf(real)
	}
	return startOf{dir, real, f}, nil
}

func (s *Space) list(ctx context.Context, _ op.Call, p core.FsListParams) (core.FsListResult, error) {
	depth, err := positive("depth", p.Depth, defaultDepth, 1<<20)
	if err != nil {
		return core.FsListResult{}, err
	}
	limit, err := positive("limit", p.Limit, defaultLimit, maxLimit)
	if err != nil {
		return core.FsListResult{}, err
	}
	start, err := s.start(p.Raw(), p.Hidden, p.Ignored)
	if err != nil {
		return core.FsListResult{}, err
	}
	r := core.FsListResult{PathOut: core.NewPath(start.path), Entries: []core.FsEntry{}}
	infos := map[string]iofs.FileInfo{}
	var paths []string
	err = tree.Walk(ctx, start.dir, start.filter, func(f *tree.Folder, entries []tree.Entry) error {
		for _, e := range entries {
			if info, err := f.Lstat(e.Name); err == nil {
				infos[e.Path] = info
				paths = append(paths, e.Path)
			}
		}
		if f.Depth+1 >= depth {
			return tree.SkipDir
		}
		return nil
	})
	if err != nil {
		return core.FsListResult{}, wireError(err, start.path)
	}
	slices.SortFunc(paths, compareNatural)
	if r.Truncated = len(paths) > limit; r.Truncated {
		paths = paths[:limit]
	}
	for _, rel := range paths {
		r.Entries = append(r.Entries, s.entryOf(filepath.Join(start.path, filepath.FromSlash(rel)), infos[rel]))
	}
	return r, nil
}

func (s *Space) stat(_ context.Context, _ op.Call, p core.FsPathParams) (core.FsStatResult, error) {
	e, err := s.entryAt(p.Raw())
	if err != nil {
		return core.FsStatResult{}, err
	}
	r := core.FsStatResult{FsEntry: e}
	if r.Real, err = s.Roots.Resolve(p.Raw()); err != nil {
		// A link that leads out: the thing itself is inside.
		r.Real = r.FsEntry.Path
		return r, nil
	}
	if st, err := s.files.Stat(r.Real); err == nil {
		r.Writable = !st.NotWritable
		if st.Mode.IsRegular() {
			r.Hash = s.hash(r.Real, st.Size)
		}
	}
	if id, ok := s.Buffers.ByPath(r.Real); ok {
		r.Buffer = string(id)
	}
	return r, nil
}

// hash gives the hash of a file; nil for one that is too large or gone.
func (s *Space) hash(path string, size int64) *string {
	if size > buffer.HashMax {
		return nil
	}
	f, err := s.files.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	h, err := hashOf(f, size)
	if err != nil {
		return nil
	}
	return &h
}

func hashOf(f file.Reader, size int64) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// diskAt tells what is at a path, for the data of exists; nil: nothing.
func (s *Space) diskAt(path string) *core.DiskState {
	st, err := s.files.Stat(path)
	if err != nil {
		return nil
	}
	return &core.DiskState{Hash: s.hash(path, st.Size), Mtime: st.Mtime.UTC(), Size: st.Size, Mode: octal(st.Mode)}
}

// exists is the error of something that is there.
func (s *Space) exists(path string) error {
	e := op.Fail(op.CodeExists, "%q is there already", path)
	if d := s.diskAt(path); d != nil {
		e = e.With("disk", d)
	}
	return e
}
