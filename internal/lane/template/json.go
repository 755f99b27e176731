package template

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrTemplate is the error of a template that isn't JSON. A template out of a
// spec that was read is JSON.
var ErrTemplate = errors.New("template is no valid JSON")

// JSONHolds reports whether one of placeholders stands in a string of value,
// which is valid JSON. Names of members don't count.
func JSONHolds(value []byte, placeholders ...string) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		kind, n := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && n%2 == 0
		tok, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if tok.Kind() == '"' && !isName && Holds(tok.String(), placeholders...) {
			return true
		}
	}
}

// JSON expands the string leaves of value, which is valid JSON, and returns
// it compact, members in their order. A member that is just an absent
// placeholder is left out; in an array or inside longer text it becomes
// empty. An unresolved {secret:NAME} is left out where it is the whole leaf,
// and stays inside longer text (sidecar.md §7).
func (v Values) JSON(value []byte) ([]byte, error) {
	return expander{values: v, absent: absentEmpty, secrets: true}.all(value)
}

// StdinJSON is JSON for the line of a cli agent, which has no secrets, and
// where an absent id inside longer text stays literal, as in an argument
// (sidecar.md §6).
func (v Values) StdinJSON(value []byte) ([]byte, error) {
	return expander{values: v, absent: absentInArg}.all(value)
}

type expander struct {
	values  Values
	absent  absence
	secrets bool // {secret:NAME} is a placeholder
}

// fate is what becomes of a leaf.
type fate int

const (
	kept   fate = iota
	absent      // nothing was written: left out of an object, empty in an array
	secret      // nothing was written: left out everywhere
)

func (e expander) all(value []byte) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(value))
	out, f, err := e.value(nil, dec)
	if err != nil {
		return nil, ErrTemplate
	}
	if f != kept {
		return []byte("null"), nil
	}
	return out, nil
}

func (e expander) value(dst []byte, dec *jsontext.Decoder) ([]byte, fate, error) {
	switch dec.PeekKind() {
	case '{':
		out, err := e.object(dst, dec)
		return out, kept, err
	case '[':
		out, err := e.array(dst, dec)
		return out, kept, err
	case '"':
		tok, err := dec.ReadToken()
		if err != nil {
			return dst, kept, err
		}
		return e.leaf(dst, tok.String())
	}
	raw, err := dec.ReadValue()
	return append(dst, raw...), kept, err
}

func (e expander) leaf(dst []byte, text string) ([]byte, fate, error) {
	switch {
	case e.values.absentSole(text):
		return dst, absent, nil
	case e.secrets && soleSecret(text):
		return dst, secret, nil
	}
	return appendQuote(dst, e.values.expand(text, e.absent)), kept, nil
}

func (e expander) object(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	start := len(dst)
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return dst, err
		}
		mark := len(dst)
		if mark > start {
			dst = append(dst, ',')
		}
		dst = append(appendQuote(dst, name.String()), ':')
		out, f, err := e.value(dst, dec)
		if err != nil {
			return dst, err
		}
		if dst = out; f != kept {
			dst = dst[:mark]
		}
	}
	_, err := dec.ReadToken()
	return append(dst, '}'), err
}

func (e expander) array(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	start := len(dst)
	for dec.PeekKind() != ']' {
		mark := len(dst)
		if mark > start {
			dst = append(dst, ',')
		}
		out, f, err := e.value(dst, dec)
		if err != nil {
			return dst, err
		}
		switch dst = out; f {
		case absent:
			dst = append(dst, `""`...)
		case secret:
			dst = dst[:mark]
		}
	}
	_, err := dec.ReadToken()
	return append(dst, ']'), err
}

// soleSecret reports whether text is one {secret:NAME} and nothing else.
func soleSecret(text string) bool {
	name, ok := strings.CutPrefix(text, "{secret:")
	return ok && len(name) > 1 && strings.IndexByte(name, '}') == len(name)-1
}

// appendQuote writes text as a JSON string; what isn't UTF-8 becomes U+FFFD,
// which is all that AppendQuote's error says.
func appendQuote(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}
