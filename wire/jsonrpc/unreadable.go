package jsonrpc

import (
	"bytes"
	"fmt"

	"dragoman/wire/ndjson"
)

// endBytes is how much of a broken line's start and end is searched for the
// id of a reply (sidecar.md §1).
const endBytes = 4 << 10

func head(line []byte) []byte { return line[:min(len(line), endBytes)] }
func tail(line []byte) []byte { return line[max(0, len(line)-endBytes):] }

// unreadable skips a line. If it looks like an agent's reply to a call of
// ours, that call fails instead of waiting for ever.
func (p *Peer) unreadable(pr Problem, head, tail []byte) {
	p.count.unreadable.Add(1)
	if p.opts.Lenient {
		if id := replyID(head, tail); id != nil {
			p.reply(id, nil, fmt.Errorf("%w: %w", ErrUnreadableReply, pr.Err))
		}
	}
	p.tell(pr)
}

// replyID finds the id of a reply in the two ends of a broken line: that of the
// outermost object, which also has a result or an error, and no method.
func replyID(head, tail []byte) []byte {
	if head = bytes.TrimLeft(head, " \t"); len(head) == 0 || head[0] != '{' {
		return nil
	}
	id, seen := topMembers(head)
	if seen.method {
		return nil
	}
	if id == nil {
		id = tailID(tail)
	}
	if id == nil || !seen.reply && !endsReply(tail) {
		return nil
	}
	return id
}

// sight tells which keys stand in the outermost object.
type sight struct{ method, reply bool }

// topMembers walks over the start of an object as far as its tokens can be
// told, and returns its id if that is a number or string.
func topMembers(b []byte) (id []byte, seen sight) {
	depth, key := 0, []byte(nil)
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth--; depth == 0 {
				return id, seen
			}
			i++
		case ':', ' ', '\t', '\r':
			i++
		case '"':
			end := stringEnd(b, i)
			if depth == 1 && key == nil {
				key = b[i:end]
				seen.note(key)
			} else if depth == 1 && string(key) == `"id"` {
				id = b[i:end]
			}
			i = end
		case ',':
			if depth == 1 {
				key = nil
			}
			i++
		default:
			end := i + 1
			for end < len(b) && bytes.IndexByte(tokenEnds, b[end]) < 0 {
				end++
			}
			if depth == 1 && string(key) == `"id"` && c >= '0' && c <= '9' && end < len(b) {
				id = b[i:end]
			}
			i = end
		}
	}
	return id, seen
}

var tokenEnds = []byte(",:{}[]\" \t\r")

func (s *sight) note(key []byte) {
	switch string(key) {
	case `"method"`:
		s.method = true
	case `"result"`, `"error"`:
		s.reply = true
	}
}

// stringEnd is the end of the string at i, or that of b.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// tailID finds the last "id" from which on the rest reads as the end of the
// outermost object.
func tailID(b []byte) []byte {
	key := []byte(`"id"`)
	for at := bytes.LastIndex(b, key); at >= 0; at = bytes.LastIndex(b[:at], key) {
		rest := b[at:]
		if !closesOutermost(rest) {
			continue
		}
		whole := append([]byte{'{'}, rest...)
		if id, kind, ok := ndjson.Get(whole, "id"); ok && (kind == ndjson.Number || kind == ndjson.String) {
			return id
		}
	}
	return nil
}

// closesOutermost reports whether b, read from inside one object, is valid
// members and that object's end.
func closesOutermost(b []byte) bool {
	whole := append([]byte{'{'}, b...)
	return new(ndjson.Scanner).Scan(whole) == nil
}

// endsReply reports whether a result or an error may stand before the tail: in
// the tail itself, members behind the id are read exactly.
func endsReply(tail []byte) bool {
	return bytes.Contains(tail, []byte(`"result"`)) || bytes.Contains(tail, []byte(`"error"`))
}
