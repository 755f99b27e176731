// Package jsonpath follows the dotted paths of declared agents, such as
// "item.text", through objects only (sidecar.md §6, §7).
package jsonpath

import (
	"strings"

	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// A Path is a list of members' names; nil is no path, which finds nothing.
type Path []string

// Parse splits a path at its dots; "" is no path.
func Parse(text string) Path {
	if text == "" {
		return nil
	}
	return strings.Split(text, ".")
}

// Find returns the value at p in value, which is valid JSON. ok is false
// where there is none, or null.
func (p Path) Find(value []byte) (found []byte, ok bool) {
	if len(p) == 0 {
		return nil, false
	}
	raw, kind, ok := ndjson.Get(value, p...)
	return raw, ok && kind != ndjson.Null
}

// Text returns the string at p in value.
func (p Path) Text(value []byte) (text string, ok bool) {
	raw, ok := p.Find(value)
	if !ok {
		return "", false
	}
	return agent.String(raw)
}
