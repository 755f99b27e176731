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
// backslash or a control character. Higher bytes may be wrong.
func special(x uint64) uint64 {
	return (((x ^ quotes) - ones) | ((x ^ slashes) - ones) | (x - spaces)) &^ x & highs
}

// plain returns the index from i on of the first byte that a string can't just
// run over: a quote, a backslash or a control character. high has bits of 0x80
// set if bytes beyond ASCII were passed, or stand close behind.
func plain(b []byte, i int) (end int, high uint64) {
	for i+2*wordSize <= len(b) {
		w := b[i : i+2*wordSize]
		x, y := binary.LittleEndian.Uint64(w), binary.LittleEndian.Uint64(w[wordSize:])
		lo, hi := special(x), special(y)
		high |= x | y
		if lo|hi != 0 {
			if lo != 0 {
				return i + bits.TrailingZeros64(lo)/8, high
			}
			return i + wordSize + bits.TrailingZeros64(hi)/8, high
		}
		i += 2 * wordSize
	}
	for i < len(b) {
		c := b[i]
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		high |= uint64(c)
		i++
	}
	return i, high
}

// simple tells which characters make an escape of two bytes.
var simple = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// str scans the string whose quote stands at i. It returns its end and whether
// it has escapes.
func (s *Scanner) str(start int) (end int, escaped bool) {
	b, i, saved := s.line, start+1, 0 // saved: bytes that decoding takes away
	high := uint64(0)
	for {
		n, h := plain(b, i)
		i, high = n, high|h
		if i+1 >= len(b) || b[i] != '\\' {
			if i < len(b) && b[i] == '"' && high&highs == 0 && i-start-1-saved <= s.left.StringBytes {
				return i + 1, escaped
			}
			break
		}
		escaped = true
		if simple[b[i+1]] {
			i, saved = i+2, saved+1
			continue
		}
		n, size := s.escape(i)
		if n == 0 {
			break
		}
		i, saved = i+n, saved+n-size
	}
	return s.endOfString(start, i, saved, high&highs != 0), escaped
}

// endOfString judges a string whose scan stopped at i, and returns its end.
// What is wrong before i comes first.
func (s *Scanner) endOfString(start, i, saved int, high bool) int {
	b := s.line
	text := b[start+1 : i]
	if high && !utf8.Valid(text) {
		s.code = ""
		return s.fail(InvalidUTF8, start+1+validPrefix(text))
	}
	if len(text)-saved > s.left.StringBytes {
		s.code = ""
		return s.fail(StringTooLong, start)
	}
	if s.code != "" {
		return len(b)
	}
	if i >= len(b) || b[i] != '"' {
		return s.fail(InvalidJSON, i)
	}
	return i + 1
}

// validPrefix is the length of the valid UTF-8 that b begins with.
func validPrefix(b []byte) int {
	i := 0
	for i < len(b) {
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
	if simple[b[i+1]] {
		return 2, 1
	}
	if b[i+1] != 'u' {
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
