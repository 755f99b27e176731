package buffer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"syscall"

	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/text"
)

// newFileMode is the mode of a file that a save creates, before the process's
// mask.
const newFileMode fs.FileMode = 0o666

// SaveParams are the params of Save.
type SaveParams struct {
	Buffer ID
	// Path, if set, is where to save instead; the buffer moves there.
	Path string
	// Force saves over whatever is there.
	Force  bool
	Origin Origin
	// Unit is that of the position in an error.
	Unit text.Unit
}

// saving is one save on its way.
type saving struct {
	set      *Set
	b        *Buffer
	path     string
	as       bool
	force    bool
	text     text.Text
	format   charset.Format
	revision int64
	base     *base
	wasGone  bool
	unit     text.Unit
}

// Save writes a buffer to its file, or to another (buffer.save). The file is
// replaced by a new one at once; the one that it displaces is looked at, and
// put back if it isn't the base.
func (s *Set) Save(ctx context.Context, p SaveParams) (Info, error) {
	b, err := s.get(p.Buffer)
	if err != nil {
		return Info{}, err
	}
	b.disk.Lock()
	defer b.disk.Unlock()
	v, err := s.prepare(b, p)
	if err != nil {
		return Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return Info{}, cancelled(err)
	}
	saved, err := v.write()
	if err != nil {
		return Info{}, v.explain(err)
	}
	return v.settle(saved, p.Origin.because("save")), nil
}

func (s *Set) prepare(b *Buffer, p SaveParams) (*saving, error) {
	path := ""
	if p.Path != "" {
		var err error
		if path, err = s.files.Resolve(p.Path); err != nil {
			return nil, diskError(p.Path, err)
		}
		if other, ok := s.ByPath(path); ok && other != b.id {
			return nil, conflict(ReasonPathOpen, "%s is open as %s", path, other)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v := &saving{set: s, b: b, path: path, force: p.Force, unit: p.Unit}
	if b.closed {
		return nil, fail(NoBuffer, "buffer %s is closed", b.id)
	}
	v.as = path != "" && path != b.path
	if path == "" {
		v.path = b.path
	}
	if v.path == "" {
		return nil, fail(NoPath, "%s has no path", b.name)
	}
	if !v.as {
		if b.state == InConflict && !p.Force {
			return nil, conflict(ReasonMerge, "%s is in conflict with the disk", b.name)
		}
		v.base, v.wasGone = b.base, b.state == Gone
	}
	v.text, v.format, v.revision = b.store.Snapshot(), b.format, b.revision
	return v, nil
}

// write puts the text on the disk and gives the new base.
func (v *saving) write() (*base, error) {
	stat, err := v.set.files.Stat(v.path)
	if errors.Is(err, fs.ErrNotExist) {
		return v.create()
	}
	if err != nil {
		return nil, err
	}
	if !stat.Mode.IsRegular() {
		return nil, file.ErrNotRegular
	}
	if !v.force {
		if stat.NotWritable {
			return nil, &fs.PathError{Op: "save", Path: v.path, Err: syscall.EACCES}
		}
		if err := v.mayReplace(stat); err != nil {
			return nil, err
		}
	}
	r, err := v.set.files.Replace(v.path, stat)
	if errors.Is(err, file.ErrInPlace) {
		return v.inPlace()
	}
	if err != nil {
		return nil, err
	}
	defer r.Discard()
	sum, err := v.encode(r)
	if err != nil {
		return nil, err
	}
	if err := r.Swap(); err != nil {
		return nil, err
	}
	if err := v.checkDisplaced(r); err != nil {
		return nil, errors.Join(r.Restore(), err)
	}
	stat, err = r.Commit()
	return &base{stat, sum}, err
}

// mayReplace reports, before anything is written, whether the file is ours.
func (v *saving) mayReplace(stat file.Stat) error {
	if v.as {
		return v.refuse(Exists, "")
	}
	if v.base == nil {
		return v.refuse(Conflict, ReasonDiskChanged)
	}
	if v.base.stat.Same(stat) {
		return nil
	}
	f, err := v.set.files.Open(v.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return v.checkContent(f)
}

// checkContent refuses a file that doesn't hold what the base does. The base of
// a large file may have no hash; then its identity has to do.
func (v *saving) checkContent(f file.Reader) error {
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	if v.base.hash == "" {
		if v.base.stat.SameContent(stat) {
			return nil
		}
		return v.refuse(Conflict, ReasonDiskChanged)
	}
	if stat.Size == v.base.stat.Size {
		sum, err := hashFile(f, stat.Size)
		if err != nil || sum == v.base.hash {
			return err
		}
	}
	return v.refuse(Conflict, ReasonDiskChanged)
}

func hashFile(r io.ReaderAt, size int64) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(r, 0, size)); err != nil {
		return "", err
	}
	return sumOf(h), nil
}

func sumOf(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

func (v *saving) refuse(code Code, reason string) error {
	e := fail(code, "%s isn't what was read or written last", v.path)
	if code == Exists {
		e.Message = v.path + " exists"
	}
	e.Reason = reason
	e.Disk = v.set.diskNow(v.path)
	return e
}

// diskNow tells what is at a path; nil: nothing that can be told of.
func (s *Set) diskNow(path string) *Disk {
	f, err := s.files.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return nil
	}
	now := &base{stat: stat}
	if stat.Size <= HashMax {
		now.hash, _ = hashFile(f, stat.Size)
	}
	return now.disk()
}

// checkDisplaced looks at the file that the swap took away: somebody may have
// written it since it was checked.
func (v *saving) checkDisplaced(r file.Replacement) error {
	if v.force || v.base == nil {
		return nil
	}
	f, err := r.Displaced()
	if err != nil {
		return err
	}
	defer f.Close()
	return v.checkContent(f)
}

// encode writes the text and gives the hash of the bytes.
func (v *saving) encode(w io.Writer) (string, error) {
	h := sha256.New()
	if err := charset.Write(io.MultiWriter(w, h), v.text, v.format); err != nil {
		return "", err
	}
	return sumOf(h), nil
}

func (v *saving) create() (*base, error) {
	mode := newFileMode
	if v.wasGone && v.base != nil {
		mode = v.base.stat.Mode.Perm()
	}
	r, err := v.set.files.Create(v.path, mode)
	if err != nil {
		return nil, err
	}
	defer r.Discard()
	sum, err := v.encode(r)
	if err != nil {
		return nil, err
	}
	err = r.Swap()
	if errors.Is(err, fs.ErrExist) {
		if v.as {
			return nil, v.refuse(Exists, "")
		}
		return nil, v.refuse(Conflict, ReasonDiskChanged)
	}
	if err != nil {
		return nil, err
	}
	stat, err := r.Commit()
	return &base{stat, sum}, err
}

// inPlace overwrites the file. What a crash or a full disk leaves of it is
// torn, so the new content is on disk in the recovery log first.
func (v *saving) inPlace() (*base, error) {
	if err := charset.Write(io.Discard, v.text, v.format); err != nil {
		return nil, err
	}
	v.b.mu.Lock()
	if v.b.log == nil {
		v.b.beginLogLocked(v.text)
	}
	log, current := v.b.log, v.b.store.Snapshot()
	v.b.mu.Unlock()
	if err := log.Keep(current); err != nil {
		return nil, err
	}
	var sum string
	stat, err := v.set.files.Overwrite(v.path, func(w io.Writer) (err error) {
		sum, err = v.encode(w)
		return err
	})
	return &base{stat, sum}, err
}

// settle makes what was written the base.
func (v *saving) settle(saved *base, o Origin) Info {
	if v.as {
		v.set.mu.Lock()
		defer v.set.mu.Unlock()
	}
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.infoLocked()
	}
	b.updateLocked(func() {
		b.base, b.state, b.isNew, b.theirs, b.readOnly = saved, OK, false, nil, saved.stat.NotWritable
		b.savedRevision, b.savedFormat = v.revision, v.format
		b.store.SetSaved(v.text)
		if v.as {
			b.setPathLocked(v.path)
		}
		b.dropLogLocked()
		if b.store.Modified() {
			b.beginLogLocked(b.store.Snapshot())
		}
	})
	v.set.observer.Saved(Saved{b.id, b.path, v.revision, saved.hash, saved.stat.Size, o})
	return b.infoLocked()
}

// explain turns what writing failed with into an *Error.
func (v *saving) explain(err error) error {
	var char *charset.CharError
	if !errors.As(err, &char) {
		return diskError(v.path, err)
	}
	e := fail(NotText, "%v", char)
	at := v.text.Position(char.Offset, v.unit)
	e.Position, e.Char, e.Err = &at, char.Char, err
	return e
}
