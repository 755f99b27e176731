package core

import (
	"errors"
	"slices"

	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// Limits of the protocol (core.md §1).
const (
	MaxDepth    = 128
	MaxLine     = 64 << 20
	MaxInFlight = 1024
)

// A request is one well-formed line.
type request struct {
	// id is the JSON of the id, byte for byte.
	id []byte
	// op is the operation's name.
	op string
	// params is the JSON of the params, nil when absent.
	params []byte
}

// nullID stands in responses to lines without an id that can be used.
var nullID = []byte("null")

// parseRequest reads a line that was scanned. With an error, id tells whom
// to answer.
func parseRequest(s *ndjson.Scanner, line []byte) (r request, err error) {
	r.id = nullID
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
	r.id = slices.Clone(id.Value.Of(line))
	for _, m := range s.Members() {
		switch string(m.Key) {
		case "id":
		case "op":
			if m.Kind != ndjson.String {
				return r, op.BadRequest("op", op.ReasonWrongType)
			}
			name, err := ndjson.Unquote(nil, m.Value.Of(line))
			if err != nil {
				return r, op.BadRequest("op", op.ReasonWrongType)
			}
			r.op = string(name)
		case "params":
			r.params = m.Value.Of(line)
		default:
			return r, op.BadRequest(string(m.Key), op.ReasonUnknownKey)
		}
	}
	if _, ok := s.Find("op"); !ok {
		return r, op.BadRequest("op", op.ReasonMissing)
	}
	return r, nil
}

// lineError is the answer to a line that is no JSON object at all.
func lineError(err error) *op.Error {
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

// okLine is a response with a result.
func okLine(id, result []byte) []byte {
	line := make([]byte, 0, len(id)+len(result)+40)
	line = append(append(line, `{"id":`...), id...)
	line = append(append(line, `,"ok":true,"result":`...), result...)
	return append(line, '}')
}

// errorLine is a response with an error.
func errorLine(id []byte, e *op.Error) []byte {
	raw, err := encode(e)
	if err != nil {
		raw = []byte(`{"code":"internal","message":"internal error"}`)
	}
	line := append([]byte(`{"id":`), id...)
	line = append(append(line, `,"ok":false,"error":`...), raw...)
	return append(line, '}')
}
