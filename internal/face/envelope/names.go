package envelope

import (
	"strings"

	"dragoman/wire/op"
)

// kebab is a core name as a capability: buffer.replaceAll is
// buffer.replace-all.
func kebab(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('-')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// The capabilities beyond the core's operations.
const (
	capEvents = "session.events"
	capPrompt = "agent.prompt"
	capPermit = "agent.prompt.permit"
)

// The core operations that the face itself calls.
const (
	opDescribe = "session.describe"
	opCancel   = "run.cancel"
	opList     = "agent.list"
	opOpen     = "agent.open"
	opSend     = "agent.send"
	opClose    = "agent.close"
	opPermit   = "agent.permit"
)

// always are offered without a grant, beside what only reads.
var always = map[string]bool{opList: true, opOpen: true, opSend: true, "agent.cancel": true, opClose: true}

// own belong to the face's connection with the core: a host that called them
// would take the face's events away.
var own = map[string]bool{"session.hello": true, "session.subscribe": true}

// offered picks the operations that the grants allow: what only reads, the
// five of agent.*, and what is granted by name, in either spelling.
func offered(ops []op.Desc, grants []string) []op.Desc {
	granted := make(map[string]bool, len(grants))
	for _, g := range grants {
		granted[kebab(g)] = true
	}
	var list []op.Desc
	for _, d := range ops {
		if !own[d.Op] && (d.Effect == op.Read || always[d.Op] || granted[kebab(d.Op)]) {
			list = append(list, d)
		}
	}
	return list
}

// matches reports whether an event's name fits one of the patterns: a name,
// prefix.* or * (core.md §3).
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(name, prefix) || p == name {
			return true
		}
	}
	return false
}
