package charset

import (
	"bytes"
	"unicode/utf8"
)

// Wire turns a file's bytes into the text that a buffer of the file would show,
// with '\n' as line end, for searches. It finds the encoding out as Load does,
// and may return raw or change it in place. The error is ErrBinary.
func Wire(raw []byte) ([]byte, error) {
	mark := bomOf(raw)
	if mark == UTF16LE || mark == UTF16BE {
		if out, ok := wire16(raw[2:], mark); ok {
			return unixLines(out), nil
		}
	}
	if bytes.IndexByte(raw[:min(len(raw), BinaryProbe)], 0) >= 0 {
		return nil, ErrBinary
	}
	if utf8.Valid(raw) {
		if mark == UTF8 {
			raw = raw[len(marks[UTF8]):]
		}
		return unixLines(raw), nil
	}
	out, err := decodeLatin1(make([]byte, 0, len(raw)+len(raw)/8), raw, 0)
	return unixLines(out), err
}

func wire16(raw []byte, name string) ([]byte, bool) {
	d := utf16Decoder{name: name}
	out, err := d.decode(nil, raw, 0)
	return out, err == nil && !d.pending()
}

// unixLines turns CR LF to LF, in place.
func unixLines(b []byte) []byte {
	i := bytes.IndexByte(b, '\r')
	if i < 0 {
		return b
	}
	to := i
	for from := i; from < len(b); from++ {
		if b[from] == '\r' && from+1 < len(b) && b[from+1] == '\n' {
			continue
		}
		b[to] = b[from]
		to++
	}
	return b[:to]
}
