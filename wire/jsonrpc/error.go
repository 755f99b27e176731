package jsonrpc

import (
	"fmt"
	"strconv"

	"dragoman/wire/ndjson"
)

// Codes of JSON-RPC errors.
const (
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// An Error is an error reply.
type Error struct {
	Code    int
	Message string
	Data    []byte // valid JSON; nil is written as null
	Raw     []byte // of a reply to a Call: the error as the peer sent it
}

// Error is the message with its code.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// append appends the error as JSON: code, message and data, always all three.
func (e *Error) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"code":`...), int64(e.Code), 10)
	dst = ndjson.AppendQuote(append(dst, `,"message":`...), e.Message)
	dst = append(append(dst, `,"data":`...), orNull(e.Data)...)
	return append(dst, '}')
}

// parseError reads an error reply. What isn't in the error stays zero.
func parseError(raw []byte) *Error {
	e := &Error{Raw: raw}
	if code, kind, ok := ndjson.Get(raw, "code"); ok && kind == ndjson.Number {
		if n, err := strconv.ParseFloat(string(code), 64); err == nil && n == float64(int(n)) {
			e.Code = int(n)
		}
	}
	if text, kind, ok := ndjson.Get(raw, "message"); ok && kind == ndjson.String {
		message, _ := ndjson.Unquote(nil, text)
		e.Message = string(message)
	}
	if data, _, ok := ndjson.Get(raw, "data"); ok {
		e.Data = data
	}
	return e
}

var null = []byte("null")

func orNull(value []byte) []byte {
	if len(value) == 0 {
		return null
	}
	return value
}
