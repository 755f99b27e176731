package host

import (
	"slices"
	"strings"
)

// DefaultEnvironment are the names that an agent gets where no others are
// named (envelope.md "Host policy").
var DefaultEnvironment = []string{"LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "TERM"}

// Redacted stands in diagnostics for the value of a secret.
const Redacted = "[REDACTED]"

var secretWords = []string{"authorization", "credential", "key", "password", "secret", "token"}

// Environment picks from environ (NAME=VALUE) the default names and those of
// names, in environ's order; of a name that is set twice the last counts.
func Environment(environ, names []string) []string {
	last := make(map[string]string)
	var order []string
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || !slices.Contains(DefaultEnvironment, name) && !slices.Contains(names, name) {
			continue
		}
		if _, have := last[name]; !have {
			order = append(order, name)
		}
		last[name] = kv
	}
	picked := make([]string, len(order))
	for i, name := range order {
		picked[i] = last[name]
	}
	return picked
}

// Secret reports whether a variable's value never appears in diagnostics:
// its name contains authorization, credential, key, password, secret or
// token, in any case.
func Secret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// Describe is an environment for diagnostics: secrets are [Redacted].
func Describe(environ []string) []string {
	shown := make([]string, len(environ))
	for i, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); Secret(name) {
			kv = name + "=" + Redacted
		}
		shown[i] = kv
	}
	return shown
}

// redact takes the values of environ's secrets out of a text.
func redact(text string, environ []string) string {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if Secret(name) && value != "" {
			text = strings.ReplaceAll(text, value, Redacted)
		}
	}
	return text
}
