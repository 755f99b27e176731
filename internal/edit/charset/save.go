package charset

import (
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"dragoman/internal/edit/text"
)

// Write writes t in format f, each line with its own end. The error is a
// *CharError if the encoding can't hold a character, else the writer's.
func Write(w io.Writer, t text.Text, f Format) error {
	if f.BOM {
		if _, err := w.Write(marks[f.Encoding]); err != nil {
			return err
		}
	}
	switch f.Encoding {
	case UTF8:
		_, err := t.WriteTo(w)
		return err
	case Latin1:
		return writeRunes(w, t, func(dst []byte, r rune) ([]byte, bool) {
			return append(dst, byte(r)), r <= 0xFF
		}, Latin1)
	case UTF16LE, UTF16BE:
		order := byteOrder(f.Encoding)
		return writeRunes(w, t, func(dst []byte, r rune) ([]byte, bool) {
			return appendUTF16(dst, r, order), true
		}, f.Encoding)
	default:
		return writeTable(w, t, f.Encoding)
	}
}

// writeRunes encodes character by character.
func writeRunes(w io.Writer, t text.Text, put func([]byte, rune) ([]byte, bool), name string) error {
	buf := make([]byte, 0, blockSize+8)
	at := 0
	for b := range t.Chunks(0, t.Len()) {
		for len(b) > 0 {
			r, n := utf8.DecodeRune(b)
			ok := true
			if b[0] == text.CRLF {
				buf, _ = put(buf, '\r')
				r = '\n'
			}
			if buf, ok = put(buf, r); !ok {
				return &CharError{name, at, r}
			}
			at += n
			b = b[n:]
			if len(buf) >= blockSize {
				if _, err := w.Write(buf); err != nil {
					return err
				}
				buf = buf[:0]
			}
		}
	}
	_, err := w.Write(buf)
	return err
}

func writeTable(w io.Writer, t text.Text, name string) error {
	e, err := table(name)
	if err != nil {
		return err
	}
	if err := checkTable(t, e, name); err != nil {
		return err
	}
	out := transform.NewWriter(w, e.NewEncoder())
	if _, err := t.WriteTo(out); err != nil {
		return err
	}
	return out.Close()
}

// checkTable looks for the first character that e can't hold. Each is asked
// about once.
func checkTable(t text.Text, e encoding.Encoding, name string) error {
	known := map[rune]bool{}
	at := 0
	for b := range t.Chunks(0, t.Len()) {
		for len(b) > 0 {
			if b[0] < utf8.RuneSelf || b[0] == text.CRLF {
				at++
				b = b[1:]
				continue
			}
			r, n := utf8.DecodeRune(b)
			ok, seen := known[r]
			if !seen {
				_, err := e.NewEncoder().String(string(r))
				ok = err == nil
				known[r] = ok
			}
			if !ok {
				return &CharError{name, at, r}
			}
			at += n
			b = b[n:]
		}
	}
	return nil
}
