package env

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dragoman/internal/redact"
	"dragoman/wire/agent"
)

func literal(name, value string) agent.EnvSetting {
	return agent.EnvSetting{Name: name, Source: agent.EnvLiteral, Value: value}
}

func fromHost(name, source string) agent.EnvSetting {
	return agent.EnvSetting{Name: name, Source: agent.EnvHost, Value: source}
}

func TestCheck(t *testing.T) {
	set := func(s ...agent.EnvSetting) agent.EnvPolicy { return agent.EnvPolicy{Set: s} }
	all := agent.EnvPolicy{InheritAll: true}
	allWith := func(s ...agent.EnvSetting) agent.EnvPolicy { return agent.EnvPolicy{InheritAll: true, Set: s} }
	secret := agent.EnvSetting{Name: "B", Source: agent.EnvSecret, Value: "ref"}
	tests := map[string]struct {
		policy              agent.EnvPolicy
		untrusted, trusting bool // accepted
	}{
		"the default":                  {agent.EnvPolicy{}, true, true},
		"a safe name inherited":        {agent.EnvPolicy{Inherit: []string{"PATH", "TERM_PROGRAM"}}, true, true},
		"an unsafe name inherited":     {agent.EnvPolicy{Inherit: []string{"PATH", "AWS_SECRET_ACCESS_KEY"}}, false, false},
		"a name in the wrong case":     {agent.EnvPolicy{Inherit: []string{"path"}}, false, false},
		"a literal":                    {set(literal("GH_TOKEN", "x")), true, true},
		"a safe host variable":         {set(fromHost("B", "PATH")), true, true},
		"an unsafe host variable":      {set(fromHost("B", "GH_TOKEN")), false, false},
		"a secret":                     {set(literal("A", "1"), secret), false, false},
		"everything":                   {all, false, true},
		"everything, and a literal":    {allWith(literal("A", "1")), false, true},
		"everything, and a secret":     {allWith(secret), false, false},
		"everything, and unsafe names": {allWith(fromHost("B", "GH_TOKEN")), false, false},
	}
	for name, tt := range tests {
		for trust, want := range map[Trust]bool{Untrusted: tt.untrusted, TrustHostEnv: tt.trusting} {
			err := Check(tt.policy, trust)
			var spec *agent.SpecError
			if want && err != nil || !want && !errors.As(err, &spec) {
				t.Errorf("%s, trust %d: %v", name, trust, err)
			}
		}
	}
}

func TestResolve(t *testing.T) {
	host := []string{
		"HOME=/h", "PATH=/bin", "LANG=", "GH_TOKEN=ghosttoken", "TERM=xterm", "PATH=/usr/bin",
		"TMPDIR=/dev/fd/63", "TMP=/proc/self/fd/3", "TEMP=/tmp/x", "=C:=C:\\x", "broken", "NO_COLOR=0", "=", "",
	}
	fixed := []string{"TERM=dumb", "NO_COLOR=1"}
	base := append([]string{"PATH=/usr/bin", "TEMP=/tmp/x", "HOME=/h"}, fixed...)
	with := func(more ...string) []string { return append(slices.Clone(base), more...) }
	tests := map[string]struct {
		policy  agent.EnvPolicy
		open    []string
		want    []string
		secrets []string
	}{
		"the default": {want: base},
		"inherit adds nothing": {
			policy: agent.EnvPolicy{Inherit: []string{"LANG", "TMPDIR", "PATH"}}, want: base,
		},
		"set": {
			policy:  agent.EnvPolicy{Set: []agent.EnvSetting{literal("API_KEY", "sesame"), literal("TERM", "vt100"), fromHost("H", "HOME"), literal("E", "")}},
			want:    []string{"PATH=/usr/bin", "TEMP=/tmp/x", "HOME=/h", "TERM=vt100", "NO_COLOR=1", "API_KEY=sesame", "H=/h", "E="},
			secrets: []string{"sesame"},
		},
		"a host variable that is set and empty": {
			policy: agent.EnvPolicy{Set: []agent.EnvSetting{fromHost("L", "LANG")}}, want: with("L="),
		},
		"the open's are laid over it": {
			policy:  agent.EnvPolicy{Set: []agent.EnvSetting{literal("A", "1")}},
			open:    []string{"A=2", "PATH=/mine", "MY_TOKEN=a=b=c", "TMPDIR=/dev/fd/5"},
			want:    []string{"PATH=/mine", "TEMP=/tmp/x", "HOME=/h", "TERM=dumb", "NO_COLOR=1", "A=2", "MY_TOKEN=a=b=c", "TMPDIR=/dev/fd/5"},
			secrets: []string{"a=b=c"},
		},
		"a temp folder of ours may still be set": {
			policy: agent.EnvPolicy{Set: []agent.EnvSetting{literal("TMPDIR", "/dev/fd/9")}}, want: with("TMPDIR=/dev/fd/9"),
		},
		"everything": {
			policy:  agent.EnvPolicy{InheritAll: true, Set: []agent.EnvSetting{literal("A", "1")}},
			want:    []string{"HOME=/h", "PATH=/usr/bin", "LANG=", "GH_TOKEN=ghosttoken", "TERM=xterm", "TEMP=/tmp/x", "=C:=C:\\x", "NO_COLOR=0", "A=1"},
			secrets: []string{"ghosttoken"},
		},
	}
	for name, tt := range tests {
		got, err := Resolve(host, tt.policy, tt.open)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.Vars, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got.Vars, tt.want)
		}
		if !slices.Equal(got.Secrets, tt.secrets) {
			t.Errorf("%s: secrets %q, want %q", name, got.Secrets, tt.secrets)
		}
	}
}

func TestResolveWithoutTheSource(t *testing.T) {
	for name, host := range map[string][]string{
		"unset":                {"HOME=/h"},
		"only means ourselves": {"TMPDIR=/dev/fd/63"},
	} {
		_, err := Resolve(host, agent.EnvPolicy{Set: []agent.EnvSetting{fromHost("B", "TMPDIR")}}, nil)
		var failure *agent.Error
		if !errors.As(err, &failure) || failure.Code != "agent_env_source_unavailable" || failure.Stage != "env/resolve" ||
			failure.Retryable || failure.UncertainEffect {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A sanitized child gets the safe names, the two fixed ones and what the
// policy or the open names, each once, with a reason that tells no value.
func TestResolveLetsNothingElseThrough(t *testing.T) {
	names := append(SafeNames(), "TERM", "NO_COLOR", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "X", "_")
	name := rapid.SampledFrom(names)
	value := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`v[a-z]{8}`), rapid.Just("/dev/fd/4"))
	pair := rapid.Custom(func(t *rapid.T) string { return name.Draw(t, "name") + "=" + value.Draw(t, "value") })
	setting := rapid.Custom(func(t *rapid.T) agent.EnvSetting {
		if rapid.Bool().Draw(t, "host") {
			return fromHost(name.Draw(t, "name"), rapid.SampledFrom(SafeNames()).Draw(t, "source"))
		}
		return literal(name.Draw(t, "name"), value.Draw(t, "value"))
	})
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.SliceOf(pair).Draw(t, "host")
		policy := agent.EnvPolicy{Set: rapid.SliceOfN(setting, 0, 3).Draw(t, "set")}
		open := rapid.SliceOfN(pair, 0, 3).Draw(t, "open")
		if err := Check(policy, Untrusted); err != nil {
			t.Fatalf("refused: %v", err)
		}
		got, err := Resolve(host, policy, open)
		if err != nil {
			return
		}
		allowed := map[string]bool{"TERM": true, "NO_COLOR": true}
		for _, n := range SafeNames() {
			allowed[n] = true
		}
		for _, s := range policy.Set {
			allowed[s.Name] = true
		}
		for _, kv := range open {
			n, _, _ := strings.Cut(kv, "=")
			allowed[n] = true
		}
		seen := map[string]bool{}
		for i, kv := range got.Vars {
			n, v, _ := strings.Cut(kv, "=")
			if !allowed[n] || seen[n] {
				t.Fatalf("%s isn't asked for, or twice: %q", n, got.Vars)
			}
			seen[n] = true
			r := got.Reasons[i]
			if r.Name != n || r.Why == "" || len(v) > 4 && strings.Contains(fmt.Sprint(r), v) {
				t.Fatalf("reason of %s: %+v", kv, r)
			}
			if redact.SecretName(n) && len(v) >= redact.MinValueLen && !slices.Contains(got.Secrets, v) {
				t.Fatalf("%s isn't among the secrets %q", kv, got.Secrets)
			}
		}
		if !seen["TERM"] || !seen["NO_COLOR"] || len(got.Reasons) != len(got.Vars) {
			t.Fatalf("%q", got.Vars)
		}
	})
}
