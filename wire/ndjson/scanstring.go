package ndjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes at a time: each constant repeats one byte.
const (
	ones     = 0x0101010101010101
	highs    = 0x8080808080808080
	spaces   = 0x2020202020202020
	quotes   = 0x2222222222222222
	slashes  = 0x5c5c5c5c5c5c5c5c
	wordSize = 8
)

// special has the high bit of the lowest byte of x set that is a quote, a
// backslash, a control character or not ASCII. Higher bytes may be wrong.
func special(x uint64) uint64 {
	return (((x ^ quotes) - ones) | ((x ^ slashes) - ones) | (x - spaces) | x) & highs
}

// plain returns the index from i on of the first byte that a string can't just
// run over: a quote, a backslash, a control character, or not ASCII.
func plain(b []byte, i int) int {
	for i+2*wordSize <= len(b) {
		w := b[i : i+2*wordSize]
		lo, hi := special(binary.LittleEndian.Uint64(w)), special(binary.LittleEndian.Uint64(w[wordSize:]))
		if lo|hi != 0 {
			if lo != 0 {
				return i + bits.TrailingZeros64(lo)/8
			}
			return i + wordSize + bits.TrailingZeros64(hi)/8
		}
		i += 2 * wordSize
	}
	for i < len(b) {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			break
		}
		i++
	}
	return i
}

// str scans the string whose quote stands at i. It returns its end and whether
// it has escapes.
func (s *Scanner) str(start int) (end int, escaped bool) {
	b, i, saved := s.line, start+1, 0 // saved: bytes that decoding takes away
	for {
		i = plain(b, i)
		switch {
		case i-start-1-saved > s.left.StringBytes:
			return s.fail(StringTooLong, start), escaped
		case i >= len(b):
			return s.fail(InvalidJSON, i), escaped
		case b[i] == '"':
			return i + 1, escaped
		case b[i] == '\\':
			n, size := s.escape(i)
			if n == 0 {
				return len(b), escaped
			}
			i, saved, escaped = i+n, saved+n-size, true
		case b[i] < ' ':
			return s.fail(InvalidJSON, i), escaped
		default:
			end := runes(b, i)
			if end == i {
				return s.fail(InvalidUTF8, i), escaped
			}
			i = end
		}
	}
}

// runes returns the end of the valid UTF-8 beyond ASCII that begins at i.
func runes(b []byte, i int) int {
	for i < len(b) && b[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// escape checks the escape at i. It returns its length, a surrogate pair as
// one, and that of what it stands for in UTF-8; or 0 after a failure.
func (s *Scanner) escape(i int) (n, size int) {
	b := s.line
	if i+1 >= len(b) {
		s.fail(InvalidJSON, i+1)
		return 0, 0
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, 1
	case 'u':
	default:
		s.fail(InvalidJSON, i+1)
		return 0, 0
	}
	r, bad := hex4(b, i+2)
	if bad >= 0 {
		s.fail(InvalidJSON, bad)
		return 0, 0
	}
	if r < 0xd800 || r > 0xdfff {
		return 6, utf8.RuneLen(r)
	}
	if r < 0xdc00 && i+7 < len(b) && b[i+6] == '\\' && b[i+7] == 'u' {
		low, bad := hex4(b, i+8)
		if bad < 0 && low >= 0xdc00 && low <= 0xdfff {
			return 12, 4
		}
	}
	s.fail(LoneSurrogate, i)
	return 0, 0
}

// hex4 reads four hexadecimal digits at i. bad is the index of what isn't one,
// else -1.
func hex4(b []byte, i int) (r rune, bad int) {
	for j := i; j < i+4; j++ {
		if j >= len(b) {
			return 0, j
		}
		c := b[j]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, j
		}
		r = r<<4 | rune(c)
	}
	return r, -1
}
