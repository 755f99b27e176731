package hub

import (
	"strings"

	"dragoman/wire/op"
)

// A Filter says which events come to a client: names, prefix.* and *
// (core.md §3). The zero value matches nothing.
type Filter struct {
	all      bool
	names    map[string]bool
	prefixes []string
}

// All is the filter of a client that didn't ask for one.
func All() *Filter { return &Filter{all: true} }

// ParseFilter reads patterns. A bad one is a bad_request of key events.
func ParseFilter(patterns []string) (*Filter, error) {
	f := &Filter{names: map[string]bool{}}
	for _, p := range patterns {
		prefix, wild := strings.CutSuffix(p, "*")
		switch {
		case p == "*":
			f.all = true
		case wild && strings.HasSuffix(prefix, ".") && !strings.Contains(prefix, "*"):
			f.prefixes = append(f.prefixes, prefix)
		case p == "" || strings.Contains(p, "*"):
			return nil, op.BadRequest("events", "pattern")
		default:
			f.names[p] = true
		}
	}
	return f, nil
}

// Match reports whether an event comes through.
func (f *Filter) Match(event string) bool {
	if f.all || f.names[event] {
		return true
	}
	for _, p := range f.prefixes {
		if strings.HasPrefix(event, p) {
			return true
		}
	}
	return false
}

// Names reports whether the filter names an event outright, as bulk events
// need it.
func (f *Filter) Names(event string) bool { return f.names[event] }
