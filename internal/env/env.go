// Package env decides which variables a child process gets (sidecar.md §4).
// It is pure: the parent's environment and a policy go in, the child's
// environment and one reason for each variable come out. A reason never holds
// a value.
package env

import (
	"slices"
	"strings"

	"dragoman/internal/redact"
	"dragoman/wire/agent"
)

// Trust says whether the host may see all of our environment.
type Trust int

// Degrees of trust; TrustHostEnv is the flag --trust-host-env, which lifts
// the refusal of inheritAll and nothing else.
const (
	Untrusted Trust = iota
	TrustHostEnv
)

// safeNames are the variables that a child gets without being named, in the
// order of sidecar.md §4. They say where things are, never who somebody is.
var safeNames = [...]string{
	"PATH", "PATHEXT", "SYSTEMROOT", "WINDIR", "ComSpec", "TMPDIR", "TMP", "TEMP",
	"LANG", "LC_ALL", "LC_CTYPE", "HOME", "USERPROFILE", "USER", "LOGNAME", "SHELL",
	"XDG_RUNTIME_DIR", "TERM_PROGRAM",
}

// Reasons of [Reason.Why].
const (
	WhySafe       = "one of the safe names"
	WhyFixed      = "fixed for every sanitized child"
	WhyInheritAll = "the policy inherits everything"
	WhySet        = "set by the policy"
	WhySetHost    = "set by the policy from the host's environment"
	WhyOpen       = "given with the open"
)

// A Reason says why a variable is there. It never holds a value.
type Reason struct{ Name, Why string }

// Resolved is a child's environment.
type Resolved struct {
	// Vars are NAME=VALUE, each name once.
	Vars []string
	// Reasons go with Vars, index by index.
	Reasons []Reason
	// Secrets are the values of variables whose names look secret, to be
	// redacted from everything that the child prints into our messages.
	Secrets []string
}

// SafeName reports whether name is one of the 18 that every child gets.
func SafeName(name string) bool { return slices.Contains(safeNames[:], name) }

// SafeNames returns a copy of the 18 names in the order of sidecar.md §4.
func SafeNames() []string { return slices.Clone(safeNames[:]) }

// Check refuses a policy before anything starts: a name in inherit or hostEnv
// that isn't safe, any secret, and inheritAll unless trust allows it. Its
// error is an [*agent.SpecError].
func Check(p agent.EnvPolicy, trust Trust) error {
	if p.InheritAll && trust != TrustHostEnv {
		return agent.BadSpec("environment: inheritAll needs --trust-host-env")
	}
	for _, name := range p.Inherit {
		if !SafeName(name) {
			return agent.BadSpec("environment: inherit: " + name + " is not one of the names that may be inherited")
		}
	}
	for _, s := range p.Set {
		switch s.Source {
		case agent.EnvHost:
			if !SafeName(s.Value) {
				return agent.BadSpec("environment: set " + s.Name + ": hostEnv " + s.Value + " is not one of the names that may be inherited")
			}
		case agent.EnvSecret:
			return agent.BadSpec("environment: set " + s.Name + ": secrets are not available")
		case agent.EnvLiteral:
		}
	}
	return nil
}

// Resolve builds the child's environment from host (our own, NAME=VALUE), a
// policy that passed [Check], and the variables that came with the open,
// which are laid over the result. Its error is an [*agent.Error]
// agent_env_source_unavailable [env/resolve] when a hostEnv isn't set.
func Resolve(host []string, p agent.EnvPolicy, open []string) (Resolved, error) {
	source := parse(host)
	var b builder
	if p.InheritAll {
		for _, kv := range source.vars {
			b.passOn(kv.name, kv.value, WhyInheritAll)
		}
	} else {
		for _, name := range safeNames {
			if value := source.value(name); value != "" {
				b.passOn(name, value, WhySafe)
			}
		}
		b.put("TERM", "dumb", WhyFixed)
		b.put("NO_COLOR", "1", WhyFixed)
	}
	for _, s := range p.Set {
		if err := b.set(s, source); err != nil {
			return Resolved{}, err
		}
	}
	for _, kv := range parse(open).vars {
		b.put(kv.name, kv.value, WhyOpen)
	}
	return b.resolved(), nil
}

type variable struct{ name, value, why string }

// builder collects variables; a later value replaces an earlier one in place.
type builder struct {
	vars  []variable
	index map[string]int
}

func (b *builder) put(name, value, why string) {
	if i, ok := b.index[name]; ok {
		b.vars[i] = variable{name, value, why}
		return
	}
	if b.index == nil {
		b.index = map[string]int{}
	}
	b.index[name] = len(b.vars)
	b.vars = append(b.vars, variable{name, value, why})
}

// passOn is put for a variable of ours: temp folders that only exist inside
// our own process aren't passed on.
func (b *builder) passOn(name, value, why string) {
	if !ownDescriptor(name, value) {
		b.put(name, value, why)
	}
}

func (b *builder) set(s agent.EnvSetting, source environment) error {
	switch s.Source {
	case agent.EnvLiteral:
		b.put(s.Name, s.Value, WhySet)
		return nil
	case agent.EnvHost:
		value, ok := source.lookup(s.Value)
		if ok && !ownDescriptor(s.Value, value) {
			b.put(s.Name, value, WhySetHost)
			return nil
		}
	case agent.EnvSecret:
	}
	return agent.Fail(agent.CodeEnvSourceUnavailable, agent.StageEnvResolve, "the source of "+s.Name+" is not available: "+s.Value)
}

func (b *builder) resolved() Resolved {
	r := Resolved{Vars: make([]string, 0, len(b.vars)), Reasons: make([]Reason, 0, len(b.vars))}
	for _, v := range b.vars {
		r.Vars = append(r.Vars, v.name+"="+v.value)
		r.Reasons = append(r.Reasons, Reason{v.name, v.why})
	}
	r.Secrets = redact.Secrets(r.Vars)
	return r
}

// ownDescriptor reports whether name is a temp folder that is spelled as one
// of our own file descriptors, which mean something else in a child.
func ownDescriptor(name, value string) bool {
	switch name {
	case "TMPDIR", "TMP", "TEMP":
		return strings.HasPrefix(value, "/dev/fd/") || strings.HasPrefix(value, "/proc/self/fd/")
	}
	return false
}

// environment is a parsed NAME=VALUE list; of a repeated name the last counts.
type environment struct {
	vars  []variable
	index map[string]int
}

func parse(list []string) environment {
	b := builder{}
	for _, kv := range list {
		// A name is never empty, and begins with "=" for a drive of Windows ("=C:").
		if len(kv) < 2 {
			continue
		}
		if i := strings.IndexByte(kv[1:], '='); i >= 0 {
			b.put(kv[:i+1], kv[i+2:], "")
		}
	}
	return environment{b.vars, b.index}
}

func (e environment) lookup(name string) (string, bool) {
	i, ok := e.index[name]
	if !ok {
		return "", false
	}
	return e.vars[i].value, true
}

func (e environment) value(name string) string {
	v, _ := e.lookup(name)
	return v
}
