package fs

import (
	"context"
	"io"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/text"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// maxReply is how much one reply of fs.read holds, in bytes.
const maxReply = 8 << 20

func (s *Space) read(_ context.Context, c op.Call, p core.FsReadParams) (core.FsReadResult, error) {
	real, err := s.Roots.Resolve(p.Raw())
	if err != nil {
		return core.FsReadResult{}, wireError(err, p.Raw())
	}
	f, err := s.files.Open(real)
	if err != nil {
		return core.FsReadResult{}, wireError(err, p.Raw())
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return core.FsReadResult{}, wireError(err, p.Raw())
	}
	r := core.FsReadResult{PathOut: core.NewPath(real), Size: st.Size}
	if p.Bytes != nil {
		return readBytes(f, *p.Bytes, r)
	}
	r, err = readText(f, p, text.Unit(c.Unit), r)
	return r, wireError(err, p.Raw())
}

func readBytes(f file.Reader, part core.ByteRange, r core.FsReadResult) (core.FsReadResult, error) {
	from := min(part.From, r.Size)
	length := min(part.Length, r.Size-from)
	b := make([]byte, min(length, maxReply))
	n, err := f.ReadAt(b, from)
	if err != nil && err != io.EOF {
		return r, wireError(err, r.Path)
	}
	b = b[:n]
	r.Base64, r.From = &b, &from
	if int64(n) < length {
		r.Next = &core.FsReadNext{Byte: from + int64(n)}
	}
	return r, nil
}

func readText(f file.Reader, p core.FsReadParams, u text.Unit, r core.FsReadResult) (core.FsReadResult, error) {
	if r.Size > buffer.MaxOpenBytes {
		return r, op.TooLarge("the file", buffer.MaxOpenBytes, r.Size)
	}
	t, format, err := charset.Load(f, r.Size, charset.Options{Encoding: p.Encoding})
	if err != nil {
		return r, err
	}
	if r.Size <= buffer.HashMax {
		h, err := hashOf(f, r.Size)
		if err != nil {
			return r, err
		}
		r.Hash = &h
	}
	eol, mixed := lineEnds(t)
	r.Encoding, r.BOM, r.EOL, r.Mixed = format.Encoding, &format.BOM, eol, &mixed
	from, to := 0, t.Len()
	if p.Range != nil {
		if from, err = offset(t, p.Range.Start, u, "range.start"); err != nil {
			return r, err
		}
		if to, err = offset(t, p.Range.End, u, "range.end"); err != nil {
			return r, err
		}
		if to < from {
			return r, op.BadRequest("range", "order")
		}
	}
	end := pageEnd(t, from, to)
	if end < to {
		at := t.Position(end, u)
		r.Next = &core.FsReadNext{Position: &core.Position{Line: int64(at.Line), Character: int64(at.Character)}}
	}
	page := string(t.AppendWire(nil, from, end))
	r.Text = &page
	return r, nil
}

// pageEnd is behind the last line end that fits a reply, else at a character.
func pageEnd(t text.Text, from, to int) int {
	if to-from <= maxReply {
		return to
	}
	end := from + maxReply
	if start := t.LineStart(t.LineOf(end)); start > from {
		return start
	}
	for !t.Boundary(end) {
		end--
	}
	return end
}

func offset(t text.Text, p core.Position, u text.Unit, key string) (int, error) {
	off, err := t.Offset(text.Position{Line: int(p.Line), Character: int(p.Character)}, u)
	if err != nil {
		return 0, op.BadIndex(key, p)
	}
	return off, nil
}

// lineEnds gives the line end of most lines, and whether there are others.
func lineEnds(t text.Text) (core.EOL, bool) {
	m := t.Metrics()
	if m.CRLF > m.Lines-m.CRLF {
		return core.CRLF, m.CRLF < m.Lines
	}
	return core.LF, m.CRLF > 0
}
