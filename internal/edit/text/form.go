package text

import "bytes"

// ToWire turns b from the store's form to the wire's, in place.
func ToWire(b []byte) {
	for {
		i := bytes.IndexByte(b, CRLF)
		if i < 0 {
			return
		}
		b[i] = '\n'
		b = b[i+1:]
	}
}

// WireString is b, which is in the store's form, in the wire's.
func WireString(b []byte) string {
	if bytes.IndexByte(b, CRLF) < 0 {
		return string(b)
	}
	b = bytes.Clone(b)
	ToWire(b)
	return string(b)
}

// appendDisk appends b, in the store's form, with the line ends as on disk.
func appendDisk(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, CRLF)
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(append(dst, b[:i]...), '\r', '\n')
		b = b[i+1:]
	}
}

// FromDisk turns UTF-8 with line ends as on disk to the store's form, in place,
// and returns the part of b that holds it.
func FromDisk(b []byte) []byte {
	i := bytes.Index(b, crlf)
	if i < 0 {
		return b
	}
	to, from := i, i
	for {
		b[to] = CRLF
		to, from = to+1, from+2
		next := bytes.Index(b[from:], crlf)
		if next < 0 {
			break
		}
		copy(b[to:], b[from:from+next])
		to, from = to+next, from+next
	}
	to += copy(b[to:], b[from:])
	return b[:to]
}

// FromWire turns a text of the wire to the store's form: CR LF counts as LF,
// and every line end becomes end, which is '\n' or CRLF.
func FromWire(s string, end byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\r' && i+1 < len(s) && s[i+1] == '\n':
			continue
		case c == '\n':
			c = end
		}
		out = append(out, c)
	}
	return out
}

var crlf = []byte("\r\n")
