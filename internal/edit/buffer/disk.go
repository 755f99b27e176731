package buffer

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"dragoman/internal/edit/diff"
	"dragoman/internal/edit/text"
)

// Look compares a buffer's file with its base and takes in what changed
// (documents.md rules 1, 2 and 6): nothing if identity or hash are the same;
// minimal edits if the buffer is unmodified; else a merge. The caller has
// waited until the file was still. A file that isn't there makes the buffer
// gone. The origin's kind may be left empty.
func (s *Set) Look(ctx context.Context, id ID, o Origin) error {
	b, err := s.get(id)
	if err != nil {
		return err
	}
	b.disk.Lock()
	defer b.disk.Unlock()
	if o.Kind == "" {
		o = diskOrigin
	}
	path, had, encoding := b.fileState()
	if path == "" {
		return nil
	}
	stat, err := s.files.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if had != nil {
			b.updateLocked(func() { b.state, b.theirs = Gone, nil })
		}
		return nil
	}
	if err != nil || had != nil && had.stat.Same(stat) && !b.astray() {
		return diskError(path, err)
	}
	v, err := s.read(ctx, path, encoding, false)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.updateLocked(func() { b.state = StaleState })
		return nil
	}
	return b.takeIn(v, o)
}

// fileState gives what a look at the disk needs to know.
func (b *Buffer) fileState() (path string, had *base, encoding string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.named {
		encoding = b.format.Encoding
	}
	return b.path, b.base, encoding
}

// astray reports whether the state may be better than it was although the file
// is the base.
func (b *Buffer) astray() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state != OK
}

// takeIn brings a version of the disk into the buffer.
func (b *Buffer) takeIn(v *version, o Origin) error {
	if b.sameAsBase(v) {
		return nil
	}
	return b.transact(nil, func(m moment) ([]text.Edit, commit, error) {
		if !m.modified {
			return diff.Edits(m.text, v.text), commit{origin: o.because("reload"), exact: true, settle: func() { b.rebaseLocked(v) }}, nil
		}
		edits, ok := diff.Merge3(m.saved, m.text, v.text)
		if !ok {
			return nil, commit{origin: o, settle: func() { b.state, b.theirs = InConflict, v }}, nil
		}
		return edits, commit{origin: o.because("merge"), exact: true, settle: func() { b.rebaseLocked(v) }}, nil
	})
}

// sameAsBase moves the base's identity on if the content is the same.
func (b *Buffer) sameAsBase(v *version) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base == nil || v.format != b.savedFormat || !text.Equal(v.text, b.store.Saved()) {
		return false
	}
	b.updateLocked(func() { b.base, b.state, b.theirs = &v.base, OK, nil })
	return true
}

// rebaseLocked makes v the base.
func (b *Buffer) rebaseLocked(v *version) {
	if b.format == b.savedFormat {
		b.format = v.format
	}
	b.base, b.savedFormat, b.state, b.theirs, b.isNew = &v.base, v.format, OK, nil, false
	b.store.SetSaved(v.text)
	if !b.store.Modified() {
		b.savedRevision = b.revision
	}
	b.restartLogLocked()
}

// restartLogLocked starts the log anew after the base has moved.
func (b *Buffer) restartLogLocked() {
	b.dropLogLocked()
	if b.store.Modified() {
		b.beginLogLocked(b.store.Snapshot())
	}
}

// ReloadParams are the params of Reload.
type ReloadParams struct {
	Buffer ID
	// Discard gives unsaved text up.
	Discard bool
	Origin  Origin
}

// Reload takes the disk's text by minimal edits (buffer.reload).
func (s *Set) Reload(ctx context.Context, p ReloadParams) (Info, error) {
	return s.withDisk(ctx, p.Buffer, func(b *Buffer, v *version) error {
		return b.transact(nil, func(m moment) ([]text.Edit, commit, error) {
			if !p.Discard && m.modified {
				return nil, commit{}, conflict(ReasonModified, "%s has unsaved text", b.id)
			}
			return diff.Edits(m.text, v.text), commit{origin: p.Origin.because("reload"), exact: true, settle: func() {
				b.savedFormat = b.format
				b.rebaseLocked(v)
			}}, nil
		})
	})
}

// withDisk reads a buffer's file and hands it to do, with the file held.
func (s *Set) withDisk(ctx context.Context, id ID, do func(*Buffer, *version) error) (Info, error) {
	b, err := s.get(id)
	if err != nil {
		return Info{}, err
	}
	b.disk.Lock()
	defer b.disk.Unlock()
	path, _, encoding := b.fileState()
	if path == "" {
		return Info{}, fail(NoPath, "%s has no path", b.id)
	}
	v, err := s.read(ctx, path, encoding, false)
	if err != nil {
		return Info{}, diskError(path, err)
	}
	if err := do(b, v); err != nil {
		return Info{}, err
	}
	return s.Get(id)
}

// KeepParams are the params of Keep.
type KeepParams struct {
	Buffer ID
	// Hash is that of the disk's bytes which the caller has seen.
	Hash string
}

// Keep makes what is on the disk the base and leaves the text (buffer.keep).
func (s *Set) Keep(ctx context.Context, p KeepParams) (Info, error) {
	return s.withDisk(ctx, p.Buffer, func(b *Buffer, v *version) (err error) {
		if v.base.hash == "" {
			if v.base.hash, err = hashText(v.text, v.format); err != nil {
				return err
			}
		}
		if v.base.hash != p.Hash {
			e := conflict(ReasonDiskChanged, "%s has the hash %s", b.id, v.base.hash)
			e.Disk = v.base.disk()
			return e
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.updateLocked(func() { b.keepLocked(v) })
		return nil
	})
}

// keepLocked makes v the base and leaves text and format.
func (b *Buffer) keepLocked(v *version) {
	format := b.format
	b.rebaseLocked(v)
	b.format = format
}

// A Take says whose text a conflict ends with.
type Take string

// The ways out of a conflict.
const (
	TakeBuffer Take = "buffer"
	TakeDisk   Take = "disk"
	TakeEdits  Take = "edits"
)

// ResolveParams are the params of Resolve.
type ResolveParams struct {
	Buffer ID
	Take   Take
	// Edits go with TakeEdits.
	Edits  []Edit
	Unit   text.Unit
	Origin Origin
}

// Resolve leads out of state conflict (buffer.resolve): the disk's version
// becomes the base, the text becomes what is taken.
func (s *Set) Resolve(p ResolveParams) (Info, error) {
	b, err := s.get(p.Buffer)
	if err != nil {
		return Info{}, err
	}
	b.disk.Lock()
	defer b.disk.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.checkLocked(nil); err != nil {
		return Info{}, err
	}
	v := b.theirs
	if b.state != InConflict || v == nil {
		return Info{}, badRequest("buffer", "state", "%s isn't in conflict", b.id)
	}
	c := commit{origin: p.Origin.because("resolve"), exact: true, settle: func() { b.keepLocked(v) }}
	var edits []text.Edit
	switch p.Take {
	case TakeBuffer:
	case TakeDisk:
		edits = diff.Edits(b.store.Snapshot(), v.text)
		c.settle = func() {
			b.savedFormat = b.format
			b.rebaseLocked(v)
		}
	case TakeEdits:
		if edits, _, err = b.offsetsLocked(p.Edits, p.Unit); err != nil {
			return Info{}, err
		}
	default:
		return Info{}, badRequest("take", "not_one_of", "%q isn't buffer, disk or edits", p.Take)
	}
	b.commitLocked(edits, c)
	return b.infoLocked(), nil
}

// A StaleBuffer is one whose disk isn't its base.
type StaleBuffer struct {
	Buffer ID
	Path   string
	Gone   bool
	// Hash is that of the disk's bytes; "" if they're gone or large.
	Hash string
}

// CheckDisk gives every buffer of ids, or of all, whose disk isn't its base,
// whatever its state (buffer.checkDisk). It changes nothing.
func (s *Set) CheckDisk(ctx context.Context, ids []ID) ([]StaleBuffer, error) {
	var out []StaleBuffer
	for _, info := range s.List() {
		if info.Path == "" || len(ids) > 0 && !slices.Contains(ids, info.Buffer) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, cancelled(err)
		}
		b, err := s.get(info.Buffer)
		if err != nil {
			continue
		}
		if st, ok := s.check(b); ok {
			out = append(out, st)
		}
	}
	return out, nil
}

func (s *Set) check(b *Buffer) (StaleBuffer, bool) {
	b.disk.Lock()
	defer b.disk.Unlock()
	path, had, _ := b.fileState()
	out := StaleBuffer{Buffer: b.id, Path: path}
	stat, err := s.files.Stat(path)
	if err != nil {
		out.Gone = true
		return out, had != nil
	}
	if had != nil && had.stat.Same(stat) {
		return out, false
	}
	if now := s.diskNow(path); now != nil {
		out.Hash = now.Hash
	}
	return out, had == nil || out.Hash == "" || out.Hash != had.hash
}
