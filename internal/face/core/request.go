package core

import (
	"dragoman/wire/op"
)

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
