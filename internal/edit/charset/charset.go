// Package charset turns a file's bytes into a text and back without loss
// (core.md §5): UTF-8, UTF-16, Latin-1 and the encodings that WHATWG's labels
// name, with or without a byte order mark.
//
// Loading keeps what saving needs to write the same bytes again; an encoding
// in which a file's bytes wouldn't come back is refused, not guessed.
//
// # Concurrency
//
// Functions only; each may be called from any goroutine.
package charset

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// BinaryProbe is how many bytes at the start of a file are looked at for NUL.
const BinaryProbe = 8192

// The encodings that this package reads and writes itself.
const (
	UTF8    = "utf-8"
	UTF16LE = "utf-16le"
	UTF16BE = "utf-16be"
	Latin1  = "latin1"
)

// ErrBinary says that a file holds a NUL near its start (binary_file).
var ErrBinary = errors.New("file is binary")

// ErrUnknown says that there is no encoding of that name.
var ErrUnknown = errors.New("encoding is unknown")

// An UndecodableError says that a file isn't in the encoding that was asked
// for, or not in the form in which that encoding would write it.
type UndecodableError struct {
	Encoding string
	// Offset is the first byte that is at fault, -1 if that isn't known.
	Offset int64
}

// Error names the encoding and the place.
func (e *UndecodableError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("bytes are not %s", e.Encoding)
	}
	return fmt.Sprintf("bytes are not %s at %d", e.Encoding, e.Offset)
}

// A CharError says that an encoding can't hold a character (not_text).
type CharError struct {
	Encoding string
	// Offset is where the character stands, in the store's form.
	Offset int
	Char   rune
}

// Error names the character.
func (e *CharError) Error() string {
	return fmt.Sprintf("%s can't hold %q (U+%04X)", e.Encoding, e.Char, e.Char)
}

// A Format is how a text is written to a file, line ends aside.
type Format struct {
	// Encoding is a name that Canonical gives.
	Encoding string
	// BOM says that a byte order mark comes first.
	BOM bool
}

var marks = map[string][]byte{
	UTF8:    {0xEF, 0xBB, 0xBF},
	UTF16LE: {0xFF, 0xFE},
	UTF16BE: {0xFE, 0xFF},
}

// HasBOM reports whether an encoding knows a byte order mark.
func HasBOM(encoding string) bool { return marks[encoding] != nil }

// bomOf gives the encoding whose byte order mark head starts with, or "".
func bomOf(head []byte) string {
	for _, name := range []string{UTF8, UTF16LE, UTF16BE} {
		if bytes.HasPrefix(head, marks[name]) {
			return name
		}
	}
	return ""
}

// Canonical gives the name under which an encoding is recorded, from any label
// of it. The error is ErrUnknown.
func Canonical(label string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(label))
	switch name {
	case UTF8, UTF16LE, UTF16BE, Latin1:
		return name, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return "", fmt.Errorf("%q: %w", label, ErrUnknown)
	}
	name, err = htmlindex.Name(e)
	if err != nil || name == "replacement" {
		return "", fmt.Errorf("%q: %w", label, ErrUnknown)
	}
	return name, nil
}

// table gives the encoding of a canonical name that isn't one of our own.
func table(name string) (encoding.Encoding, error) {
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, ErrUnknown)
	}
	return e, nil
}
