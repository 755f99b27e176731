package exec

import (
	"maps"
	"slices"
	"strings"

	"dragoman/internal/env"
	"dragoman/wire/agent"
	"dragoman/wire/core"
)

// terminalType is what a program in a terminal is told of it, unless the call
// says otherwise.
const terminalType = "TERM=xterm-256color"

// environ is the environment of a process: what it inherits, then what the
// call sets and takes away.
func (s *Space) environ(p core.ExecRunParams) []string {
	var given []string
	if p.PTY != nil {
		given = append(given, terminalType)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if value := p.Env[name]; value != nil {
			given = append(given, name+"="+*value)
		}
	}
	from := s.opts.Environ
	if p.Inherit != core.InheritCore {
		from = named(from, s.opts.Inherit())
	}
	// Nothing is looked up, so there is no error to come.
	resolved, _ := env.Resolve(from, agent.EnvPolicy{InheritAll: true}, given)
	return slices.DeleteFunc(resolved.Vars, func(kv string) bool {
		value, mentioned := p.Env[nameOf(kv)]
		return mentioned && value == nil
	})
}

// named keeps the safe names and more.
func named(environ, more []string) []string {
	var kept []string
	for _, kv := range environ {
		if name := nameOf(kv); env.SafeName(name) || slices.Contains(more, name) {
			kept = append(kept, kv)
		}
	}
	return kept
}

func nameOf(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}
