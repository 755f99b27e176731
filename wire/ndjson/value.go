package ndjson

import "bytes"

// Members returns the members of a valid JSON object with spans into value.
// Its depth isn't limited. Anything else gives a [*SyntaxError].
func Members(value []byte) ([]Member, error) {
	var members []Member
	err := eachMember(value, func(m Member) bool {
		members = append(members, m)
		return true
	})
	return members, err
}

// Get follows path through objects by exact keys and returns the bytes of the
// value there. The value must be valid JSON.
func Get(value []byte, path ...string) (raw []byte, kind Kind, ok bool) {
	value = trim(value)
	kind = kindOf(value)
	for _, key := range path {
		var found Member
		err := eachMember(value, func(m Member) bool {
			if string(m.Key) == key {
				found = m
			}
			return found.Kind == 0
		})
		if err != nil || found.Kind == 0 {
			return nil, 0, false
		}
		value, kind = found.Value.Of(value), found.Kind
	}
	return value, kind, kind != 0
}

// Cut returns a valid JSON object without one top-level member, the other
// bytes as they were. Without that member it returns object itself.
func Cut(object []byte, key string) []byte {
	var before, cut Member
	after := -1 // start of the member behind
	err := eachMember(object, func(m Member) bool {
		switch {
		case cut.Kind != 0:
			after = m.KeySpan.Start
			return false
		case string(m.Key) == key:
			cut = m
		default:
			before = m
		}
		return true
	})
	if err != nil || cut.Kind == 0 {
		return object
	}
	start, end := cut.KeySpan.Start, cut.Value.End
	if after >= 0 {
		end = after
	} else if before.Kind != 0 {
		start = before.Value.End
	}
	out := make([]byte, 0, len(object)-(end-start))
	return append(append(out, object[:start]...), object[end:]...)
}

// trim cuts the white space around a JSON value.
func trim(value []byte) []byte { return bytes.Trim(value, " \t\r\n") }

// kindOf is the kind of the value that b begins with, judged by a byte.
func kindOf(b []byte) Kind {
	if len(b) == 0 {
		return 0
	}
	switch c := b[0]; {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == '-' || c >= '0' && c <= '9':
		return Number
	case c == 't':
		return True
	case c == 'f':
		return False
	case c == 'n':
		return Null
	}
	return 0
}

// eachMember calls f for each member of an object until it returns false. It
// checks no more than it needs to find the spans.
func eachMember(b []byte, f func(Member) bool) error {
	i := blank(b, 0)
	if i >= len(b) || b[i] != '{' {
		return &SyntaxError{Code: InvalidJSON, Offset: i}
	}
	i = blank(b, i+1)
	if i < len(b) && b[i] == '}' {
		return nil
	}
	for {
		m, end := member(b, i)
		if m.Kind == 0 {
			return &SyntaxError{Code: InvalidJSON, Offset: min(end, len(b))}
		}
		if i = blank(b, end); i >= len(b) || b[i] != ',' && b[i] != '}' {
			return &SyntaxError{Code: InvalidJSON, Offset: i}
		}
		if !f(m) || b[i] == '}' {
			return nil
		}
		i = blank(b, i+1)
	}
}

// member reads the member at i. Its Kind is 0 if none is there.
func member(b []byte, i int) (m Member, end int) {
	if i >= len(b) || b[i] != '"' {
		return m, i
	}
	end = pastString(b, i)
	if end < i+2 || b[end-1] != '"' {
		return m, end
	}
	m.KeySpan = Span{i, end}
	m.Key = b[i+1 : end-1 : end-1]
	if bytes.IndexByte(m.Key, '\\') >= 0 {
		m.Key, _ = Unquote(nil, b[i:end])
	}
	if end = blank(b, end); end >= len(b) || b[end] != ':' {
		return m, end
	}
	start := blank(b, end+1)
	if end = pastValue(b, start); end > start {
		m.Value, m.Kind = Span{start, end}, kindOf(b[start:])
	}
	return m, end
}

func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// pastString is the end of the string that begins at i.
func pastString(b []byte, i int) int {
	for i++; i < len(b); {
		i, _ = plain(b, i)
		switch {
		case i >= len(b):
			return len(b)
		case b[i] == '"':
			return i + 1
		case b[i] == '\\':
			i += 2
		default:
			i++
		}
	}
	return len(b)
}

// pastValue is the end of the value that begins at i.
func pastValue(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = pastString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			for i < len(b) && !ends(b[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return len(b)
}

// ends reports whether c stands behind a number or a word.
func ends(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}
