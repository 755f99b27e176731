package charset

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"

	"dragoman/internal/edit/text"
)

// blockSize is how much is decoded at a time, in bytes.
const blockSize = 64 << 10

// Options say how to load.
type Options struct {
	// Encoding is a label; "" finds out: a byte order mark, then UTF-8, then
	// Latin-1.
	Encoding string
	// Binary says what to do with a NUL near the start.
	Binary Binary
}

// Binary says what to do with a file that holds NUL.
type Binary int

// What to do with a file that holds NUL near its start.
const (
	RefuseBinary Binary = iota
	AllowBinary
)

// Load reads size bytes as text. The errors are ErrBinary, ErrUnknown, an
// *UndecodableError if an encoding was named, io.ErrUnexpectedEOF if there are
// fewer bytes, and what reading gives.
func Load(r io.ReaderAt, size int64, o Options) (text.Text, Format, error) {
	head := make([]byte, min(size, BinaryProbe))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return text.Text{}, Format{}, err
	}
	if o.Encoding != "" {
		return loadNamed(r, size, head, o)
	}
	mark := bomOf(head)
	if mark == UTF16LE || mark == UTF16BE {
		t, err := load(r, size, Format{mark, true})
		if !undecodable(err) {
			return t, Format{mark, true}, err
		}
	}
	if o.Binary == RefuseBinary && bytes.IndexByte(head, 0) >= 0 {
		return text.Text{}, Format{}, ErrBinary
	}
	for _, f := range []Format{{UTF8, mark == UTF8}, {Latin1, false}} {
		t, err := load(r, size, f)
		if !undecodable(err) {
			return t, f, err
		}
	}
	return text.Text{}, Format{}, &UndecodableError{Latin1, -1}
}

func undecodable(err error) bool {
	var bad *UndecodableError
	return errors.As(err, &bad)
}

func loadNamed(r io.ReaderAt, size int64, head []byte, o Options) (text.Text, Format, error) {
	name, err := Canonical(o.Encoding)
	if err != nil {
		return text.Text{}, Format{}, err
	}
	f := Format{name, marks[name] != nil && bytes.HasPrefix(head, marks[name])}
	wide := name == UTF16LE || name == UTF16BE
	if !wide && o.Binary == RefuseBinary && bytes.IndexByte(head, 0) >= 0 {
		return text.Text{}, Format{}, ErrBinary
	}
	t, err := load(r, size, f)
	return t, f, err
}

func load(r io.ReaderAt, size int64, f Format) (text.Text, error) {
	var off int64
	if f.BOM {
		off = int64(len(marks[f.Encoding]))
	}
	switch f.Encoding {
	case UTF8:
		t, err := text.Load(r, off, size-off)
		if errors.Is(err, text.ErrNotUTF8) {
			err = &UndecodableError{UTF8, invalidAt(r, off, size)}
		}
		return t, err
	case Latin1:
		return loadBlocks(r, off, size, decodeLatin1)
	case UTF16LE, UTF16BE:
		d := &utf16Decoder{name: f.Encoding}
		t, err := loadBlocks(r, off, size, d.decode)
		if err == nil && d.pending() {
			err = &UndecodableError{f.Encoding, size}
		}
		return t, err
	default:
		return loadTable(r, size, f.Encoding)
	}
}

// invalidAt gives the offset of the first byte that isn't UTF-8, or -1.
func invalidAt(r io.ReaderAt, off, size int64) int64 {
	in := io.NewSectionReader(r, off, size-off)
	b := make([]byte, 0, blockSize)
	for {
		n, err := io.ReadFull(in, b[len(b):cap(b)])
		b = b[:len(b)+n]
		for len(b) > 0 && (err != nil || utf8.FullRune(b)) {
			r, n := utf8.DecodeRune(b)
			if r == utf8.RuneError && n == 1 {
				return off
			}
			off += int64(n)
			b = b[n:]
		}
		if err != nil {
			return -1
		}
		b = append(make([]byte, 0, blockSize), b...)
	}
}

// loadBlocks decodes block by block: decode appends b as UTF-8 to dst; off is
// where b stands in the file.
func loadBlocks(r io.ReaderAt, off, size int64, decode func(dst, b []byte, off int64) ([]byte, error)) (text.Text, error) {
	var out text.Builder
	in, buf := make([]byte, blockSize), make([]byte, 0, 2*blockSize)
	for off < size {
		b := in[:min(int64(len(in)), size-off)]
		if n, err := r.ReadAt(b, off); n < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return text.Text{}, err
		}
		var err error
		if buf, err = decode(buf[:0], b, off); err != nil {
			return text.Text{}, err
		}
		_, _ = out.Write(buf)
		off += int64(len(b))
	}
	return out.Text(), nil
}

func decodeLatin1(dst, b []byte, _ int64) ([]byte, error) {
	for _, c := range b {
		dst = utf8.AppendRune(dst, rune(c))
	}
	return dst, nil
}

// loadTable reads an encoding of WHATWG's. Its bytes must be those that the
// same encoding writes for the text: else an edit would change others.
func loadTable(r io.ReaderAt, size int64, name string) (text.Text, error) {
	e, err := table(name)
	if err != nil {
		return text.Text{}, err
	}
	raw := make([]byte, size)
	if n, err := r.ReadAt(raw, 0); n < len(raw) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return text.Text{}, err
	}
	decoded, err := e.NewDecoder().Bytes(raw)
	if err != nil {
		return text.Text{}, &UndecodableError{name, -1}
	}
	if at := roundTrip(e, raw, decoded); at >= 0 {
		return text.Text{}, &UndecodableError{name, at}
	}
	return text.Load(bytes.NewReader(decoded), 0, int64(len(decoded)))
}

// roundTrip gives the first byte of raw that decoded doesn't bring back, or -1.
func roundTrip(e encoding.Encoding, raw, decoded []byte) int64 {
	back, err := e.NewEncoder().Bytes(decoded)
	if err == nil && bytes.Equal(back, raw) {
		return -1
	}
	n := 0
	for n < len(back) && n < len(raw) && back[n] == raw[n] {
		n++
	}
	return int64(n)
}
