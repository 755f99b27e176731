package ndjson

import "unicode/utf8"

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
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		n := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n != 1 {
				i += n
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscape(dst, c)
		i += n
		from = i
	}
	return append(append(dst, s[from:]...), '"')
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
	if c >= utf8.RuneSelf {
		return utf8.AppendRune(dst, utf8.RuneError)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
