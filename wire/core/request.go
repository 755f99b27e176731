package core

import (
	"errors"
	"slices"

	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// Limits of every connection (core.md §1).
const (
	MaxDepth    = 128
	MaxLine     = 64 << 20
	MaxInFlight = 1024
)

// A Request is one well-formed line of a client.
type Request struct {
	// ID is the JSON of the id, byte for byte; null when it can't be used.
	ID []byte
	// Op is the operation's name.
	Op string
	// Params is the JSON of the params inside the line, nil when absent.
	Params []byte
}

// NullID stands in responses to lines without an id that can be used.
var NullID = []byte("null")

// ParseRequest reads a line that s has scanned. With an error (a
// bad_request), ID tells whom to answer.
func ParseRequest(s *ndjson.Scanner, line []byte) (r Request, err error) {
	r.ID = NullID
	if s.Kind() != ndjson.Object {
		return r, op.BadRequest("", "not_an_object")
	}
	id, ok := s.Find("id")
	if !ok {
		return r, op.BadRequest("id", op.ReasonMissing)
	}
	if id.Kind == ndjson.Object || id.Kind == ndjson.Array {
		return r, op.BadRequest("id", op.ReasonWrongType)
	}
	r.ID = slices.Clone(id.Value.Of(line))
	for _, m := range s.Members() {
		switch string(m.Key) {
		case "id":
		case "op":
			name, err := ndjson.Unquote(nil, m.Value.Of(line))
			if m.Kind != ndjson.String || err != nil {
				return r, op.BadRequest("op", op.ReasonWrongType)
			}
			r.Op = string(name)
		case "params":
			r.Params = m.Value.Of(line)
		default:
			return r, op.BadRequest(string(m.Key), op.ReasonUnknownKey)
		}
	}
	if _, ok := s.Find("op"); !ok {
		return r, op.BadRequest("op", op.ReasonMissing)
	}
	return r, nil
}

// LineError is the answer to a line that is no strict JSON.
func LineError(err error) *op.Error {
	var long *ndjson.LineTooLongError
	if errors.As(err, &long) {
		return op.BadRequest("", "line_too_long").With("limit", long.Limit).With("size", long.Size)
	}
	var syntax *ndjson.SyntaxError
	if !errors.As(err, &syntax) {
		return op.BadRequest("", op.ReasonInvalidJSON)
	}
	reason := op.ReasonInvalidJSON
	switch syntax.Code {
	case ndjson.InvalidUTF8:
		reason = "invalid_utf8"
	case ndjson.DuplicateKey:
		reason = op.ReasonDuplicate
	case ndjson.LoneSurrogate:
		reason = "lone_surrogate"
	case ndjson.TooDeep:
		reason = "too_deep"
	}
	return op.BadRequest("", reason).With("offset", syntax.Offset)
}
