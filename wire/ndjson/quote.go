package ndjson

import (
	"slices"
	"unicode/utf8"
	"unsafe"
)

// Unquote appends the text of a JSON string literal to dst. A literal that a
// strict reading refuses gives a [*SyntaxError].
func Unquote(dst, raw []byte) ([]byte, error) {
	s := Scanner{line: raw, left: Limits{StringBytes: maxScanBytes}}
	if len(raw) == 0 || raw[0] != '"' {
		return dst, &SyntaxError{Code: InvalidJSON}
	}
	end, escaped := s.str(0)
	if s.code == "" && end < len(raw) {
		s.fail(TrailingData, end)
	}
	if s.code != "" {
		return dst, &SyntaxError{Code: s.code, Offset: s.at}
	}
	if !escaped {
		return append(dst, raw[1:end-1]...), nil
	}
	return unquoteValid(dst, raw[1:end-1]), nil
}

// unquoteValid appends the text of a valid string, given without its quotes.
func unquoteValid(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		j := i
		for j < len(b) && b[j] != '\\' {
			j++
		}
		dst = append(dst, b[i:j]...)
		if i = j; i == len(b) {
			break
		}
		switch c := b[i+1]; c {
		case 'u':
			r, _ := hex4(b, i+2)
			i += 6
			if r >= 0xd800 && r < 0xdc00 {
				low, _ := hex4(b, i+2)
				r = (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
			continue
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendQuote appends s as a JSON string literal with no more escapes than
// JSON needs. Invalid UTF-8 becomes U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	b := unsafe.Slice(unsafe.StringData(s), len(s)) // only read
	dst = append(slices.Grow(dst, len(s)+2), '"')
	for i := 0; i < len(b); {
		end, high := plain(b, i)
		if run := b[i:end]; high&highs == 0 || utf8.Valid(run) {
			dst = append(dst, run...)
		} else {
			dst = appendRepaired(dst, run)
		}
		if end == len(b) {
			break
		}
		dst = appendEscape(dst, b[end])
		i = end + 1
	}
	return append(dst, '"')
}

// appendRepaired appends text that needs no escapes, with U+FFFD for each byte
// that isn't UTF-8.
func appendRepaired(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		dst = utf8.AppendRune(dst, r)
		text = text[n:]
	}
	return dst
}

// appendEscape appends what stands for a byte that a string can't hold.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
