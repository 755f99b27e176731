package agent

import "github.com/go-json-experiment/json/jsontext"

// ParseSpec decodes the members that every lane shares (sidecar.md §4). The
// lane's own members stay in Raw: read them with [LaneFields]. It doesn't
// know which lanes there are. Its error is a [*SpecError].
func ParseSpec(raw []byte) (*Spec, error) {
	s := &Spec{Raw: jsontext.Value(raw).Clone()}
	f := ReadFields("", raw)
	s.ID = f.required("id")
	s.Lane = f.required("lane")
	s.ClientName = f.Str("clientName")
	if n, ok := f.Int("maxOutputBytes"); ok {
		s.MaxOutputBytes = &n
	}
	command := f.Obj("command")
	if command == nil {
		f.Fault("command", "is missing")
		return nil, f.Err()
	}
	s.Command = parseCommand(command)
	if err := f.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// LaneFields returns the members of s.Raw with those that [ParseSpec] reads
// marked as known, so that Close finds what the lane doesn't know either.
func LaneFields(s *Spec) *Fields {
	f := ReadFields("", s.Raw)
	f.Known("id", "lane", "clientName", "maxOutputBytes", "command")
	return f
}

// required returns a string member that must be there.
func (f *Fields) required(name string) string {
	v, ok := f.StrOK(name)
	if !ok {
		f.Fault(name, "is missing")
	}
	return v
}

func parseCommand(f *Fields) Command {
	c := Command{
		Program: f.required("program"),
		Args:    f.Strings("args"),
		Cwd:     f.Str("cwd"),
		Env:     parseEnvPolicy(f),
	}
	f.CheckUnknown()
	return c
}

// parseEnvPolicy reads `env`: an object with one of the two policies, or a
// policy's bare word.
func parseEnvPolicy(command *Fields) EnvPolicy {
	raw := command.take("env")
	if raw == nil {
		return EnvPolicy{}
	}
	if word, ok := String(raw); ok {
		switch word {
		case "sanitized":
			return EnvPolicy{}
		case "inheritAll", "inherit_all":
			return EnvPolicy{InheritAll: true}
		}
		command.Fault("env", "must be sanitized or inheritAll")
		return EnvPolicy{}
	}
	f := readFields(command.pathOf("env"), raw, command.fault)
	defer f.CheckUnknown()
	if len(f.members) != 1 {
		f.Fault("", "must have one member, sanitized or inheritAll")
		return EnvPolicy{}
	}
	if f.Has("inheritAll") {
		all := f.Obj("inheritAll")
		defer all.CheckUnknown()
		return EnvPolicy{InheritAll: true, Set: parseSettings(all)}
	}
	safe := f.Obj("sanitized")
	defer safe.CheckUnknown()
	return EnvPolicy{Inherit: safe.Strings("inherit"), Set: parseSettings(safe)}
}

func parseSettings(policy *Fields) []EnvSetting {
	var set []EnvSetting
	for _, p := range policy.Pairs("set") {
		source, value, ok := ParseEnvValue(p.Value)
		if !ok {
			policy.Fault("set."+p.Name, "must be a string, {hostEnv} or {secret}")
		}
		set = append(set, EnvSetting{Name: p.Name, Source: source, Value: value})
	}
	return set
}

// ParseEnvValue reads a VALUE of sidecar.md §4: a string, {"hostEnv":
// {"host_env":NAME}} or {"hostEnv":NAME}, {"secret":{"secret":REF}} or
// {"secret":REF}. acp's auth_key has the same form.
func ParseEnvValue(value []byte) (source EnvSource, text string, ok bool) {
	if text, ok := String(value); ok {
		return EnvLiteral, text, true
	}
	f := ReadFields("", value)
	switch {
	case f.Has("hostEnv"):
		source = EnvHost
		text, ok = nestedName(f, "hostEnv")
	case f.Has("secret"):
		source = EnvSecret
		text, ok = nestedName(f, "secret")
	}
	return source, text, ok && f.Close() == nil
}

// nestedName reads {NAME: "x"} and {NAME: {NAME: "x"}}.
func nestedName(f *Fields, name string) (string, bool) {
	v := f.take(name)
	if text, ok := String(v); ok {
		return text, true
	}
	within := readFields(name, v, f.fault)
	text, ok := within.StrOK(name)
	within.CheckUnknown()
	return text, ok
}
