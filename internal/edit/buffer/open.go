package buffer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/recovery"
	"dragoman/internal/edit/text"
)

// MaxOpenBytes is the largest file that opens without force, in bytes, unless
// [Options] says another.
const MaxOpenBytes = 2 << 30

// HashMax is the largest file whose hash is computed at once, in bytes.
const HashMax = 64 << 20

// stableTries is how often a file that changes while it is read is read again.
const stableTries = 3

// OpenParams are the params of Open.
type OpenParams struct {
	Path     string
	Encoding string
	// Force opens what is binary or too large too.
	Force  bool
	Client string
}

// version is one state of a file, read.
type version struct {
	text   text.Text
	format charset.Format
	base   base
}

// Open gives the buffer of a file (buffer.open). existing says that it was open
// before.
func (s *Set) Open(ctx context.Context, p OpenParams) (info Info, existing bool, err error) {
	encoding := ""
	if p.Encoding != "" {
		if encoding, err = charset.Canonical(p.Encoding); err != nil {
			return Info{}, false, diskError(p.Path, err)
		}
	}
	path, err := s.files.Resolve(p.Path)
	if err != nil {
		return Info{}, false, diskError(p.Path, err)
	}
	stat, err := s.files.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.join(path, nil, encoding, p.Client, func() *Buffer { return s.emptyAt(path, encoding) })
	}
	if err != nil {
		return Info{}, false, diskError(p.Path, err)
	}
	if !stat.Mode.IsRegular() {
		return Info{}, false, diskError(p.Path, file.ErrNotRegular)
	}
	if info, existing, err = s.join(path, &stat.Key, encoding, p.Client, nil); existing || err != nil {
		return info, existing, err
	}
	v, err := s.read(ctx, path, encoding, p.Force)
	if err != nil {
		return Info{}, false, diskError(p.Path, err)
	}
	return s.join(path, &v.base.stat.Key, encoding, p.Client, func() *Buffer {
		return s.bufferOf(path, v, encoding != "", stat.NotWritable)
	})
}

// join uses the buffer that has the file open, or adds what create makes.
// create nil: it only looks.
func (s *Set) join(path string, key *file.Key, encoding, client string, create func() *Buffer) (Info, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.findLocked(path, key)
	if b == nil {
		if create == nil {
			return Info{}, false, nil
		}
		return s.addLocked(create(), client), false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if encoding != "" && encoding != b.format.Encoding {
		return Info{}, false, conflict(ReasonEncoding, "%s is open in %s", b.name, b.format.Encoding)
	}
	if client != "" && !b.clients[client] {
		b.updateLocked(func() { b.clients[client] = true })
	}
	return b.infoLocked(), true, nil
}

func (s *Set) emptyAt(path, encoding string) *Buffer {
	if encoding == "" {
		encoding = charset.UTF8
	}
	b := &Buffer{path: path, isNew: true, preferred: LF, format: charset.Format{Encoding: encoding}}
	b.savedFormat = b.format
	b.store = text.NewStore(text.Text{}, s.undoBytes)
	s.offerRecovery(b)
	return b
}

func (s *Set) bufferOf(path string, v *version, named, readOnly bool) *Buffer {
	b := &Buffer{
		path: path, preferred: LF, format: v.format, savedFormat: v.format,
		named: named, base: &v.base, readOnly: readOnly,
	}
	b.store = text.NewStore(v.text, s.undoBytes)
	s.offerRecovery(b)
	return b
}

// offerRecovery tells of a log for b's path. Call with s.mu held.
func (s *Set) offerRecovery(b *Buffer) {
	if it, ok := s.left[b.path]; ok {
		b.recovery = &RecoveryInfo{ID: it.ID, SavedAt: it.SavedAt, Edits: it.Edits, BaseChanged: !madeOn(it, b.base)}
	}
}

// madeOn reports whether a log's edits were made on base; large files have no
// hash, so that size and time have to do.
func madeOn(it recovery.Item, base *base) bool {
	if base == nil || it.Mtime.IsZero() {
		return base == nil && it.Mtime.IsZero()
	}
	if it.Hash != "" && base.hash != "" {
		return it.Hash == base.hash
	}
	return it.Size == base.stat.Size && it.Mtime.Equal(base.stat.Mtime)
}

// read reads a file that stays as it is while it is read.
func (s *Set) read(ctx context.Context, path, encoding string, force bool) (*version, error) {
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			e := fail(Cancelled, "reading %s was cancelled", path)
			e.Err = err
			return nil, e
		}
		v, stable, err := s.readOnce(path, encoding, force)
		if stable || err != nil && try+1 >= stableTries {
			return v, err
		}
		if try+1 >= stableTries {
			return nil, fail(IO, "%s changes while it is read", path)
		}
	}
}

func (s *Set) readOnce(path, encoding string, force bool) (v *version, stable bool, err error) {
	f, err := s.files.Open(path)
	if err != nil {
		return nil, true, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, true, err
	}
	if before.Size > s.maxOpen && !force {
		e := fail(TooLarge, "%s has %d bytes, limit %d", path, before.Size, s.maxOpen)
		e.Limit, e.Size = s.maxOpen, before.Size
		return nil, true, e
	}
	o := charset.Options{Encoding: encoding}
	if force {
		o.Binary = charset.AllowBinary
	}
	t, format, err := charset.Load(f, before.Size, o)
	after, statErr := f.Stat()
	stable = statErr == nil && after.Same(before)
	if err != nil {
		return nil, stable, err
	}
	v = &version{text: t, format: format, base: base{stat: before}}
	if before.Size <= HashMax {
		v.base.hash, err = hashText(t, format)
	}
	return v, stable, err
}

// hashText is the hash of the bytes that a text is on disk: those that it was
// read from, since nothing is lost in between.
func hashText(t text.Text, f charset.Format) (string, error) {
	h := sha256.New()
	if err := charset.Write(h, t, f); err != nil {
		return "", fmt.Errorf("hashing: %w", err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
