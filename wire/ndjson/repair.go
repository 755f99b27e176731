package ndjson

import (
	"slices"
	"unicode/utf8"
)

// Repair appends the lenient reading of a line to dst: invalid UTF-8 and lone
// surrogates become U+FFFD, and of duplicate keys the last counts. changed
// tells whether that made a difference; if not, fixed is line itself. A line
// that still isn't JSON gives a [*SyntaxError], with its offset in the line as
// it was repaired so far. Nesting is limited to [DefaultDepth].
func Repair(dst, line []byte) (fixed []byte, changed bool, err error) {
	return new(Scanner).Repair(dst, line)
}

// Repair is [Repair] within the Scanner's limits. It leaves nothing in the
// Scanner but memory.
func (s *Scanner) Repair(dst, line []byte) (fixed []byte, changed bool, err error) {
	s.lenient = true
	defer func() { s.lenient = false }()
	err = s.Scan(line)
	if err != nil && (s.code == InvalidUTF8 || s.code == LoneSurrogate) {
		from := len(dst)
		dst = appendValid(dst, line)
		fixed, changed = dst[from:], true
		if err = s.Scan(fixed); err != nil {
			return nil, true, err
		}
		if len(s.cuts) == 0 {
			return fixed, true, nil
		}
		return s.without(nil, fixed), true, nil
	}
	switch {
	case err != nil:
		return nil, false, err
	case len(s.cuts) == 0:
		return line, false, nil
	}
	return s.without(dst, line), true, nil
}

// without appends b without the superseded members, which may lie inside each
// other. It returns what it appended.
func (s *Scanner) without(dst, b []byte) []byte {
	slices.SortFunc(s.cuts, func(a, b Span) int { return a.Start - b.Start })
	from, at := len(dst), 0
	for _, c := range s.cuts {
		if c.Start > at {
			dst = append(dst, b[at:c.Start]...)
		}
		at = max(at, c.End)
	}
	return append(dst, b[at:]...)[from:]
}

// appendValid appends b with U+FFFD for invalid UTF-8 and for the escapes of
// lone surrogates in strings.
func appendValid(dst, b []byte) []byte {
	quoted := false
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(b[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			n, lone := escapeLen(b, i)
			if lone {
				dst = utf8.AppendRune(dst, utf8.RuneError)
			} else {
				dst = append(dst, b[i:i+n]...)
			}
			i += n
			continue
		}
		dst = append(dst, b[i])
		i++
	}
	return dst
}

// escapeLen is the length of the escape at i, a surrogate pair as one, and
// whether it is a lone surrogate. A broken escape counts as its ASCII start.
func escapeLen(b []byte, i int) (n int, lone bool) {
	s := Scanner{line: b}
	n, _ = s.escape(i)
	switch {
	case n > 0:
		return n, false
	case s.code == LoneSurrogate:
		return 6, true
	case i+1 < len(b) && b[i+1] < utf8.RuneSelf:
		return 2, false
	}
	return 1, false
}
