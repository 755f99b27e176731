package acp

import (
	"bytes"
	"strconv"

	"dragoman/wire/ndjson"
)

// An Object reads the members of a JSON object by its bytes, without
// building values. Its JSON must be valid. A nil Object, or one that holds
// something else than an object, has no members.
type Object []byte

// AsObject is value if it is an object, else nil.
func AsObject(value []byte) Object {
	if len(value) > 0 && value[0] == '{' {
		return Object(value)
	}
	return nil
}

// Each calls f with every member in order until f returns false. key is the
// literal between its quotes, still escaped.
func (o Object) Each(f func(key, value []byte) bool) {
	at := 1
	for {
		key, value, next := o.member(at)
		if next == 0 || !f(key, value) {
			return
		}
		at = next
	}
}

// member returns the member that begins at or after at, and where to look
// for the one behind it; next is 0 at the end.
func (o Object) member(at int) (key, value []byte, next int) {
	at = skipTo(o, at)
	if at >= len(o) || o[at] != '"' {
		return nil, nil, 0
	}
	end := skipValue(o, at)
	key = o[at+1 : end-1]
	at = skipTo(o, end)
	end = skipValue(o, at)
	return key, o[at:end:end], end
}

// Get returns the value of a member; nil when it is absent or null.
func (o Object) Get(name string) []byte {
	at := 1
	for {
		key, value, next := o.member(at)
		if next == 0 {
			return nil
		}
		if sameKey(key, name) {
			if value[0] == 'n' {
				return nil
			}
			return value
		}
		at = next
	}
}

func sameKey(key []byte, name string) bool {
	if string(key) == name {
		return true
	}
	return bytes.IndexByte(key, '\\') >= 0 && unquote(key) == name
}

// unquote decodes the inside of a string literal.
func unquote(inside []byte) string {
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	literal := make([]byte, 0, len(inside)+2)
	literal = append(append(append(literal, '"'), inside...), '"')
	text, err := ndjson.Unquote(nil, literal)
	if err != nil {
		return ""
	}
	return string(text)
}

// Text returns a string member; ok is false for any other value.
func (o Object) Text(name string) (text string, ok bool) { return Text(o.Get(name)) }

// Str is Text with "" for any other value.
func (o Object) Str(name string) string {
	text, _ := o.Text(name)
	return text
}

// Text decodes a JSON string; ok is false for any other value.
func Text(value []byte) (text string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return unquote(value[1 : len(value)-1]), true
}

// Int returns an integer member that fits.
func (o Object) Int(name string) (int64, bool) {
	n, err := strconv.ParseInt(string(o.Get(name)), 10, 64)
	return n, err == nil
}

// Float returns a number member.
func (o Object) Float(name string) (float64, bool) {
	f, err := strconv.ParseFloat(string(o.Get(name)), 64)
	return f, err == nil
}

// True reports whether a member is true.
func (o Object) True(name string) bool { return string(o.Get(name)) == "true" }

// Object returns a member that is an object, nil for any other value.
func (o Object) Object(name string) Object { return AsObject(o.Get(name)) }

// List returns the elements of a member that is an array; ok is false for
// any other value.
func (o Object) List(name string) (list [][]byte, ok bool) { return List(o.Get(name)) }

// List returns the elements of an array; ok is false for any other value.
func List(value []byte) (list [][]byte, ok bool) {
	if len(value) == 0 || value[0] != '[' {
		return nil, false
	}
	for at := skipTo(value, 1); at < len(value) && value[at] != ']'; at = skipTo(value, at) {
		end := skipValue(value, at)
		list = append(list, value[at:end:end])
		at = end
	}
	return list, true
}

// Set returns the object with a member's value replaced, or added at its
// end. The other bytes stay as they were.
func (o Object) Set(name string, value []byte) Object {
	if AsObject(o) == nil {
		o = Object("{}")
	}
	at := 1
	for {
		key, old, next := o.member(at)
		if next == 0 {
			break
		}
		if sameKey(key, name) {
			out := append(Object(nil), o[:next-len(old)]...)
			return append(append(out, value...), o[next:]...)
		}
		at = next
	}
	end := bytes.LastIndexByte(o, '}')
	out := append(Object(nil), o[:end]...)
	if at > 1 {
		out = append(out, ',')
	}
	out = append(ndjson.AppendQuote(out, name), ':')
	return append(append(out, value...), '}')
}

// skipTo returns the first byte at or after at that begins a value or ends a
// container.
func skipTo(b []byte, at int) int {
	for at < len(b) {
		switch b[at] {
		case ' ', '\t', '\n', '\r', ',', ':':
			at++
		default:
			return at
		}
	}
	return at
}

// skipValue returns the end of the value that begins at at.
func skipValue(b []byte, at int) int {
	if at >= len(b) {
		return at
	}
	switch b[at] {
	case '"':
		return skipString(b, at)
	case '{', '[':
		return skipContainer(b, at)
	}
	for at < len(b) {
		switch b[at] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return at
		}
		at++
	}
	return at
}

// skipString returns the end of the string literal that begins at at.
func skipString(b []byte, at int) int {
	at++
	for at < len(b) {
		i := bytes.IndexByte(b[at:], '"')
		if i < 0 {
			return len(b)
		}
		end := at + i
		if !escapedAt(b, at, end) {
			return end + 1
		}
		at = end + 1
	}
	return at
}

// escapedAt reports whether an odd number of backslashes stands before end.
func escapedAt(b []byte, from, end int) bool {
	n := 0
	for end-1-n >= from && b[end-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// skipContainer returns the end of the array or object that begins at at.
func skipContainer(b []byte, at int) int {
	depth := 0
	for at < len(b) {
		switch b[at] {
		case '"':
			at = skipString(b, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return at + 1
			}
		}
		at++
	}
	return at
}
