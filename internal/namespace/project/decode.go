package project

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/match"
	buffers "dragoman/internal/namespace/buffer"
	"dragoman/wire/op"
)

var (
	utf8BOM  = []byte("\xEF\xBB\xBF")
	crlf     = []byte("\r\n")
	lineFeed = []byte("\n")
)

// decode turns a file's bytes into what a search sees: UTF-8 with '\n' as line
// end. It does what opening does, without building a text where it needn't.
func decode(raw []byte) ([]byte, error) {
	if bytes.HasPrefix(raw, []byte("\xFF\xFE")) || bytes.HasPrefix(raw, []byte("\xFE\xFF")) {
		return decodeSlowly(raw)
	}
	if bytes.IndexByte(raw[:min(len(raw), charset.BinaryProbe)], 0) >= 0 {
		return nil, charset.ErrBinary
	}
	raw = bytes.TrimPrefix(raw, utf8BOM)
	if !utf8.Valid(raw) {
		return decodeSlowly(raw)
	}
	if bytes.Contains(raw, crlf) {
		raw = bytes.ReplaceAll(raw, crlf, lineFeed)
	}
	return raw, nil
}

func decodeSlowly(raw []byte) ([]byte, error) {
	t, _, err := charset.Load(bytes.NewReader(raw), int64(len(raw)), charset.Options{})
	if err != nil {
		return nil, err
	}
	return t.AppendWire(nil, 0, t.Len()), nil
}

// wireError turns what went wrong with a file or a query into an error of the
// protocol.
func wireError(err error, path string) error {
	var own *op.Error
	var engine *buffer.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &engine):
		return buffers.WireError(err)
	case errors.Is(err, match.ErrTooLong):
		return op.TooLarge(path, match.DefaultFileLimit, match.DefaultFileLimit+1)
	}
	if errors.As(buffer.DiskError(path, err), &engine) && engine.Code != buffer.IO {
		return buffers.WireError(engine)
	}
	return op.IO(err, path)
}
