package double

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/ndjson"
)

// matches reports whether a line holds the pattern. A line that is no JSON
// matches nothing.
func matches(pattern jsontext.Value, line []byte) bool {
	var s ndjson.Scanner
	return s.Scan(line) == nil && holds(pattern, bytes.TrimSpace(line))
}

func holds(pattern, value []byte) bool {
	pattern, value = bytes.TrimSpace(pattern), bytes.TrimSpace(value)
	switch pattern[0] {
	case '{':
		members, err := ndjson.Members(pattern)
		if err != nil || value[0] != '{' {
			return false
		}
		for _, m := range members {
			got, _, ok := ndjson.Get(value, string(m.Key))
			if !ok || !holds(m.Value.Of(pattern), got) {
				return false
			}
		}
		return true
	case '[':
		want, got := elements(pattern), elements(value)
		if value[0] != '[' || len(want) != len(got) {
			return false
		}
		for i := range want {
			if !holds(want[i], got[i]) {
				return false
			}
		}
		return true
	case '"':
		want, _ := ndjson.Unquote(nil, pattern)
		if string(want) == "*" {
			return true
		}
		got, err := ndjson.Unquote(nil, value)
		return value[0] == '"' && err == nil && bytes.Equal(want, got)
	}
	return bytes.Equal(pattern, value)
}

// elements are the values of an array, nil for anything else.
func elements(array []byte) (list [][]byte) {
	d := jsontext.NewDecoder(bytes.NewReader(array))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return nil
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil
		}
		list = append(list, bytes.Clone(v))
	}
	return list
}

// fill is a send with its names replaced, as one line.
func (p *player) fill(st *step) ([]byte, error) {
	var out []byte
	rest := []byte(st.Send)
	for {
		at := bytes.Index(rest, []byte("${"))
		if at < 0 {
			out = append(out, rest...)
			break
		}
		end := bytes.IndexByte(rest[at:], '}')
		if end < 0 {
			return nil, &Mismatch{st.line, "a name is not closed"}
		}
		name := string(rest[at+2 : at+end])
		value, err := p.named(st, name)
		if err != nil {
			return nil, err
		}
		whole := at > 0 && rest[at-1] == '"' && at+end+1 < len(rest) && rest[at+end+1] == '"'
		switch {
		case whole:
			out = append(append(out, rest[:at-1]...), value...)
			rest = rest[at+end+2:]
			continue
		case value[0] == '"':
			value = value[1 : len(value)-1]
		}
		out = append(append(out, rest[:at]...), value...)
		rest = rest[at+end+1:]
	}
	line := jsontext.Value(out)
	if err := line.Compact(); err != nil {
		return nil, &Mismatch{st.line, "the line to send is no JSON: " + err.Error()}
	}
	return line, nil
}

// named is the value at NAME.a.b.
func (p *player) named(st *step, name string) ([]byte, error) {
	path := strings.Split(name, ".")
	line, ok := p.names[path[0]]
	if !ok {
		return nil, &Mismatch{st.line, "no line is called " + path[0]}
	}
	value, _, ok := ndjson.Get(line, path[1:]...)
	if !ok {
		return nil, &Mismatch{st.line, "the line has no " + name}
	}
	return value, nil
}

// complete puts what every envelope has in front of an object that lacks it.
func (p *player) complete(line []byte) []byte {
	if line[0] != '{' {
		return line
	}
	p.sent++
	var front []byte
	for _, m := range []struct{ name, value string }{
		{"protocolVersion", "1.0"},
		{"messageId", fmt.Sprintf("d%d", p.sent)},
		{"sentAt", time.Now().UTC().Format(time.RFC3339)},
	} {
		if _, _, have := ndjson.Get(line, m.name); !have {
			front = fmt.Appendf(front, "%q:%q,", m.name, m.value)
		}
	}
	if len(line) == len("{}") && len(front) > 0 {
		front = front[:len(front)-1]
	}
	return append(append([]byte("{"), front...), line[1:]...)
}
