// Package utf8join turns bytes that arrive in pieces into text: characters
// are joined over the pieces, and each maximal broken UTF-8 sequence becomes
// one U+FFFD (sidecar.md §6).
package utf8join

import "unicode/utf8"

// A Decoder holds the start of a character between two pieces. The zero value
// is ready to use.
type Decoder struct {
	rest [utf8.UTFMax]byte
	n    int
}

// Append appends the text of piece to dst, all of it but the start of a
// character at its end.
func (d *Decoder) Append(dst, piece []byte) []byte {
	for d.n > 0 && len(piece) > 0 {
		d.rest[d.n] = piece[0]
		switch size, f := sequence(d.rest[:d.n+1]); f {
		case broken: // piece[0] doesn't continue what was there
			dst = utf8.AppendRune(dst, utf8.RuneError)
			d.n = 0
		case whole:
			dst = append(dst, d.rest[:size]...)
			d.n, piece = 0, piece[1:]
		case partial:
			d.n, piece = d.n+1, piece[1:]
		}
	}
	for len(piece) > 0 {
		run := validPrefix(piece)
		dst = append(dst, piece[:run]...)
		if piece = piece[run:]; len(piece) == 0 {
			break
		}
		size, f := sequence(piece)
		if f == partial {
			d.n = copy(d.rest[:], piece)
			break
		}
		dst = utf8.AppendRune(dst, utf8.RuneError)
		piece = piece[size:]
	}
	return dst
}

// Flush appends U+FFFD to dst if the text ended inside a character.
func (d *Decoder) Flush(dst []byte) []byte {
	if d.n > 0 {
		d.n = 0
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	return dst
}

func validPrefix(p []byte) int {
	n := 0
	for n < len(p) {
		r, size := utf8.DecodeRune(p[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// form is what the start of some bytes is.
type form int

const (
	broken  form = iota // no character, whatever follows
	partial             // the start of a character, cut off
	whole               // a character
)

// sequence returns the form of p's start and its length, at least 1: of the
// character, or of the longest part of it that could have become one.
func sequence(p []byte) (size int, f form) {
	n, low, high := lead(p[0])
	if n == 0 {
		return 1, broken
	}
	for size = 1; size < n; size++ {
		if size == len(p) {
			return size, partial
		}
		if c := p[size]; c < low || c > high {
			return size, broken
		}
		low, high = 0x80, 0xbf
	}
	return size, whole
}

// lead returns how long a character that begins with c is, and the range of
// its second byte (Unicode, table 3-7); n is 0 for what begins none.
func lead(c byte) (n int, low, high byte) {
	low, high = 0x80, 0xbf
	switch {
	case c < utf8.RuneSelf:
		return 1, low, high
	case 0xc2 <= c && c <= 0xdf:
		return 2, low, high
	case c == 0xe0:
		return 3, 0xa0, high
	case c == 0xed:
		return 3, low, 0x9f
	case 0xe1 <= c && c <= 0xef:
		return 3, low, high
	case c == 0xf0:
		return 4, 0x90, high
	case 0xf1 <= c && c <= 0xf3:
		return 4, low, high
	case c == 0xf4:
		return 4, low, 0x8f
	}
	return 0, low, high
}
