package acp

import (
	"errors"
	"fmt"

	"dragoman/wire/agent"
)

// ErrNotObject is the error of a reader whose message isn't an object.
var ErrNotObject = errors.New("the reply is not an object")

// A VersionError says that the agent speaks another version of the protocol.
type VersionError struct{ Got string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the agent answers with protocol version %s, this client speaks %d", e.Got, ProtocolVersion)
}

// Initialized is the reply to initialize.
type Initialized struct {
	// Capabilities is agentCapabilities as sent, nil when absent.
	Capabilities Object
	// Name and Version are the agent's, "" when it doesn't say.
	Name, Version string
	AuthMethods   []AuthMethod
}

// An AuthMethod is a way to authenticate.
type AuthMethod struct {
	ID   string
	Name string
	// Terminal: the client runs a program for it; authenticate isn't for it.
	Terminal bool
}

// ReadInitialized reads the reply to initialize. It fails with ErrNotObject
// or a [*VersionError].
func ReadInitialized(result []byte) (Initialized, error) {
	o := AsObject(result)
	if o == nil {
		return Initialized{}, ErrNotObject
	}
	if v, ok := o.Int("protocolVersion"); !ok || v != ProtocolVersion {
		got := string(o.Get("protocolVersion"))
		if got == "" {
			got = "(none)"
		}
		return Initialized{}, &VersionError{Got: got}
	}
	info := o.Object("agentInfo")
	r := Initialized{
		Capabilities: o.Object("agentCapabilities"),
		Name:         info.Str("name"),
		Version:      info.Str("version"),
	}
	methods, _ := o.List("authMethods")
	for _, m := range methods {
		m := AsObject(m)
		if id, ok := m.Text("id"); ok {
			r.AuthMethods = append(r.AuthMethods, AuthMethod{
				ID: id, Name: m.Str("name"), Terminal: m.Str("type") == "terminal",
			})
		}
	}
	return r, nil
}

// Offers reports whether a capability, by its path, is there: true, or an
// object.
func (r Initialized) Offers(path ...string) bool {
	o := r.Capabilities
	for _, name := range path[:len(path)-1] {
		o = o.Object(name)
	}
	last := path[len(path)-1]
	return o.True(last) || o.Object(last) != nil
}

// Prompted is the reply to session/prompt.
type Prompted struct {
	// StopReason is the agent's word.
	StopReason string
	// Usage is nil when the agent doesn't say.
	Usage *agent.Usage
}

// ReadPrompted reads the reply to session/prompt; ok is false where there is
// no stop reason.
func ReadPrompted(result []byte) (p Prompted, ok bool) {
	o := AsObject(result)
	p.StopReason, ok = o.Text("stopReason")
	p.Usage = readUsage(o.Object("usage"))
	return p, ok
}

func readUsage(o Object) *agent.Usage {
	if o == nil {
		return nil
	}
	count := func(name string) *int64 {
		if n, ok := o.Int(name); ok {
			return &n
		}
		return nil
	}
	return &agent.Usage{
		Input: count("inputTokens"), CachedInput: count("cachedReadTokens"),
		CachedWrite: count("cachedWriteTokens"), Output: count("outputTokens"),
		Thought: count("thoughtTokens"), Total: count("totalTokens"),
	}
}

// A Permission is a request for permission.
type Permission struct {
	// ToolCall is the member as sent.
	ToolCall Object
	Options  []agent.Option
}

// ReadPermission reads the params of session/request_permission; ok is false
// without an object toolCall or a list of options. An option without an id
// is left out.
func ReadPermission(params []byte) (p Permission, ok bool) {
	o := AsObject(params)
	p.ToolCall = o.Object("toolCall")
	list, ok := o.List("options")
	if p.ToolCall == nil || !ok {
		return p, false
	}
	for _, item := range list {
		opt := AsObject(item)
		if id, ok := opt.Text("optionId"); ok {
			p.Options = append(p.Options, agent.Option{ID: id, Name: opt.Str("name"), Kind: opt.Str("kind")})
		}
	}
	return p, true
}
