package fs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	iofs "io/fs"
	"path/filepath"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/text"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Modes of what is created, before the process's mask.
const (
	newFileMode   iofs.FileMode = 0o666
	newFolderMode iofs.FileMode = 0o777
)

func (s *Space) write(ctx context.Context, c op.Call, p core.FsWriteParams) (core.FsWriteResult, error) {
	if p.Base64 != nil && (p.Encoding != "" || p.EOL != "" || p.BOM != nil) {
		return core.FsWriteResult{}, op.BadRequest("base64", "exclusive")
	}
	real, err := s.Roots.Resolve(p.Raw())
	if err != nil {
		return core.FsWriteResult{}, wireError(err, p.Raw())
	}
	w := &writing{s: s, c: c, p: p, path: real}
	if err := w.precondition(); err != nil {
		return core.FsWriteResult{}, err
	}
	end, err := s.changing(ctx, c, "write", real, s.firstMissing(real))
	if err != nil {
		return core.FsWriteResult{}, wireError(err, p.Raw())
	}
	defer end()
	if id, ok := s.Buffers.ByPath(real); ok {
		r, err := w.throughBuffer(ctx, id)
		return r, wireError(err, p.Raw())
	}
	r, err := w.toDisk()
	return r, wireError(err, p.Raw())
}

// firstMissing is the topmost folder above a path that isn't there, or the path.
func (s *Space) firstMissing(path string) string {
	for up := filepath.Dir(path); ; path, up = up, filepath.Dir(up) {
		if _, err := s.files.Stat(up); !errors.Is(err, iofs.ErrNotExist) || up == path {
			return path
		}
	}
}

// A writing is one call of fs.write.
type writing struct {
	s    *Space
	c    op.Call
	p    core.FsWriteParams
	path string
	// there is the file that is replaced; nil: there is none.
	there *file.Stat
	// expected is its hash.
	expected string
}

// precondition checks what is there against ifHash.
func (w *writing) precondition() error {
	st, err := w.s.files.Stat(w.path)
	missing := errors.Is(err, iofs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return wireError(err, w.path)
	case missing:
		if w.p.IfHash.Value != nil {
			return op.NotFound("path", w.p.Raw())
		}
		return nil
	case !st.Mode.IsRegular():
		if st.Mode.IsDir() {
			return w.s.exists(w.path)
		}
		return wireError(file.ErrNotRegular, w.path)
	case w.p.IfHash.Value == nil:
		return w.s.exists(w.path)
	}
	w.there, w.expected = &st, *w.p.IfHash.Value
	f, err := w.s.files.Open(w.path)
	if err != nil {
		return wireError(err, w.path)
	}
	defer f.Close()
	if sum, err := hashOf(f, st.Size); err != nil || sum != w.expected {
		return w.s.exists(w.path)
	}
	return nil
}

// content gives the bytes to write.
func (w *writing) content() ([]byte, error) {
	if w.p.Text == nil {
		return w.p.Base64, nil
	}
	format, eol, err := w.format()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	t := textWith(*w.p.Text, eol)
	if err := charset.Write(&out, t, format); err != nil {
		return nil, notText(err, t, text.Unit(w.c.Unit))
	}
	return out.Bytes(), nil
}

// textWith is a text of the wire with line ends of one kind.
func textWith(s string, eol core.EOL) text.Text {
	var b text.Builder
	end := "\n"
	if eol == core.CRLF {
		end = "\r\n"
	}
	stored := text.FromWire(s, '\n')
	_, _ = b.Write(bytes.ReplaceAll(stored, []byte("\n"), []byte(end)))
	return b.Text()
}

// notText names the character that an encoding can't hold.
func notText(err error, t text.Text, u text.Unit) error {
	var char *charset.CharError
	if !errors.As(err, &char) {
		return err
	}
	at := t.Position(char.Offset, u)
	return op.Fail(op.CodeNotText, "%v", char).
		With("position", core.Position{Line: int64(at.Line), Character: int64(at.Character)}).
		With("char", string(char.Char))
}

// format is that of the params, else of the file that is there, else UTF-8
// with LF.
func (w *writing) format() (f charset.Format, eol core.EOL, err error) {
	f, eol = charset.Format{Encoding: charset.UTF8}, core.LF
	if w.there != nil {
		if old, err := w.s.files.Open(w.path); err == nil {
			if t, had, err := charset.Load(old, w.there.Size, charset.Options{}); err == nil {
				f = had
				eol, _ = lineEnds(t)
			}
			old.Close()
		}
	}
	if w.p.Encoding != "" {
		if f.Encoding, err = charset.Canonical(w.p.Encoding); err != nil {
			return f, eol, err
		}
		f.BOM = f.BOM && charset.HasBOM(f.Encoding)
	}
	if w.p.BOM != nil {
		if *w.p.BOM && !charset.HasBOM(f.Encoding) {
			return f, eol, op.BadRequest("bom", "encoding")
		}
		f.BOM = *w.p.BOM
	}
	if w.p.EOL != "" {
		eol = w.p.EOL
	}
	return f, eol, nil
}

func (w *writing) toDisk() (core.FsWriteResult, error) {
	content, err := w.content()
	if err != nil {
		return core.FsWriteResult{}, err
	}
	if w.p.CreateFolders {
		if err := w.s.Roots.MkdirAll(filepath.Dir(w.path), newFolderMode); err != nil {
			return core.FsWriteResult{}, err
		}
	}
	if err := w.s.put(w.path, w.there, w.expected, func(out io.Writer) error {
		_, err := out.Write(content)
		return err
	}); err != nil {
		return core.FsWriteResult{}, err
	}
	return core.FsWriteResult{
		PathOut: core.NewPath(w.path), Bytes: int64(len(content)), Hash: hashBytes(content), Saved: true,
	}, nil
}

func hashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Rewrite writes a file anew for another namespace, atomically and only over
// the bytes with that hash: else exists.
func (s *Space) Rewrite(ctx context.Context, path, hash string, o core.Origin, write func(io.Writer) error) error {
	st, err := s.files.Stat(path)
	if err != nil {
		return wireError(err, path)
	}
	if st.NotWritable {
		return wireError(iofs.ErrPermission, path)
	}
	tell, err := s.Watcher.Expect(ctx, path)
	if err != nil {
		return wireError(err, path)
	}
	defer tell(o)
	return wireError(s.put(path, &st, hash, write), path)
}

// put writes a whole file atomically: over there, which has to hold the bytes
// with the hash still, or a new one.
func (s *Space) put(path string, there *file.Stat, hash string, write func(io.Writer) error) error {
	var r file.Replacement
	var err error
	if there == nil {
		r, err = s.files.Create(path, newFileMode)
	} else {
		r, err = s.files.Replace(path, *there)
	}
	if errors.Is(err, file.ErrInPlace) {
		if there.NotWritable {
			return iofs.ErrPermission
		}
		_, err = s.files.Overwrite(path, write)
		return err
	}
	if err != nil {
		return err
	}
	defer r.Discard()
	if err := write(r); err != nil {
		return err
	}
	if err := r.Swap(); err != nil {
		if errors.Is(err, iofs.ErrExist) {
			return s.exists(path)
		}
		return err
	}
	if there != nil && !displacedHas(r, hash) {
		return errors.Join(r.Restore(), s.exists(path))
	}
	_, err = r.Commit()
	return err
}

// displacedHas reports whether the file that was displaced is the one that was
// to be.
func displacedHas(r file.Replacement, hash string) bool {
	old, err := r.Displaced()
	if err != nil || old == nil {
		return false
	}
	defer old.Close()
	st, err := old.Stat()
	if err != nil {
		return false
	}
	sum, err := hashOf(old, st.Size)
	return err == nil && sum == hash
}

// throughBuffer puts the content into the open buffer as one undo step, and
// saves it unless it held unsaved text.
func (w *writing) throughBuffer(ctx context.Context, id buffer.ID) (core.FsWriteResult, error) {
	info, err := w.s.Buffers.Get(id)
	if err != nil {
		return core.FsWriteResult{}, err
	}
	t, err := w.bufferText(info)
	if err != nil {
		return core.FsWriteResult{}, err
	}
	o := engineOrigin(w.c, "write")
	after, err := w.s.Buffers.Write(buffer.WriteParams{Buffer: id, Text: t, Origin: o})
	if err != nil {
		return core.FsWriteResult{}, err
	}
	if w.p.Encoding != "" || w.p.BOM != nil || w.p.EOL != "" {
		after, err = w.s.Buffers.SetFormat(buffer.FormatParams{
			Buffer: id, Encoding: w.p.Encoding, BOM: w.p.BOM, EOL: buffer.EOL(w.p.EOL), Origin: o,
		})
		if err != nil {
			return core.FsWriteResult{}, err
		}
	}
	r := core.FsWriteResult{PathOut: core.NewPath(w.path), Buffer: string(id)}
	if !info.Modified {
		if w.p.CreateFolders {
			if err := w.s.Roots.MkdirAll(filepath.Dir(w.path), newFolderMode); err != nil {
				return r, err
			}
		}
		if after, err = w.s.Buffers.Save(ctx, buffer.SaveParams{Buffer: id, Origin: o, Unit: text.Unit(w.c.Unit)}); err != nil {
			return r, err
		}
		r.Saved = true
	}
	if after.Disk != nil {
		r.Bytes, r.Hash = after.Disk.Size, after.Disk.Hash
	}
	return r, nil
}

// bufferText is the content as text for a buffer.
func (w *writing) bufferText(info buffer.Info) (text.Text, error) {
	if w.p.Text != nil {
		return textWith(*w.p.Text, core.EOL(info.EOL)), nil
	}
	t, _, err := charset.Load(bytes.NewReader(w.p.Base64), int64(len(w.p.Base64)), charset.Options{Encoding: info.Encoding})
	return t, err
}
