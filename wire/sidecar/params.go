package sidecar

import (
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// Open are the params of session/open. Optional members of the wrong type
// count as absent (sidecar.md §2).
type Open struct {
	// Spec is the AgentSpec as JSON, nil when absent.
	Spec []byte
	Cwd  string
	// Env are the string members, NAME=VALUE.
	Env     []string
	Resume  string
	Options agent.Options
	// Full: events in the form of lanes.md §1.
	Full bool
}

// ParseOpen reads params. The result is the caller's, whatever becomes of
// params.
func ParseOpen(params []byte) Open {
	f := members(params)
	o := Open{Cwd: f.text("cwd"), Resume: f.text("resume"), Full: f.text("events") == EventsFull}
	if m, ok := f["spec"]; ok && m.kind != ndjson.Null {
		o.Spec = append([]byte(nil), m.value...)
	}
	if m := f["env"]; m.kind == ndjson.Object {
		o.Env = environment(m.value)
	}
	if m := f["options"]; m.kind == ndjson.Object {
		options := members(m.value)
		o.Options = agent.Options{
			Model: options.pointer("model"), Mode: options.pointer("mode"),
			Effort: options.pointer("effort"), Permission: options.pointer("permission"),
		}
	}
	return o
}

func environment(object []byte) []string {
	list, err := ndjson.Members(object)
	if err != nil {
		return nil
	}
	var env []string
	for _, m := range list {
		if value, err := ndjson.Unquote(nil, m.Value.Of(object)); m.Kind == ndjson.String && err == nil {
			env = append(env, string(m.Key)+"="+string(value))
		}
	}
	return env
}

// Prompt are the params of session/prompt.
type Prompt struct {
	// SessionID is absent unless HasSession.
	SessionID  string
	HasSession bool
	Text       string
	Options    agent.Options // model and effort
}

// ParsePrompt reads params.
func ParsePrompt(params []byte) Prompt {
	f := members(params)
	p := Prompt{Text: f.text("text"), Options: agent.Options{Model: f.pointer("model"), Effort: f.pointer("effort")}}
	if id := f.pointer("sessionId"); id != nil {
		p.SessionID, p.HasSession = *id, true
	}
	return p
}

// SessionID reads the one param of session/cancel and session/close; ok is
// false unless it is a string.
func SessionID(params []byte) (id string, ok bool) {
	value, kind, ok := ndjson.Get(params, "sessionId")
	if !ok || kind != ndjson.String {
		return "", false
	}
	text, err := ndjson.Unquote(nil, value)
	return string(text), err == nil
}

type param struct {
	value []byte
	kind  ndjson.Kind
}

type params map[string]param

// members splits an object; of anything else there are none.
func members(object []byte) params {
	list, err := ndjson.Members(object)
	if err != nil {
		return nil
	}
	f := make(params, len(list))
	for _, m := range list {
		f[string(m.Key)] = param{m.Value.Of(object), m.Kind}
	}
	return f
}

func (f params) text(name string) string {
	if s := f.pointer(name); s != nil {
		return *s
	}
	return ""
}

// pointer returns a string member, nil when it is absent or no string.
func (f params) pointer(name string) *string {
	m := f[name]
	if m.kind != ndjson.String {
		return nil
	}
	text, err := ndjson.Unquote(nil, m.value)
	if err != nil {
		return nil
	}
	s := string(text)
	return &s
}
