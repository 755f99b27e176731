package agent

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestParseSpecsOfHosts reads the specs of 16 real agents in the form in
// which hosts send them (sidecar.md §4): all must parse.
func TestParseSpecsOfHosts(t *testing.T) {
	data, err := os.ReadFile("testdata/specs.json")
	if err != nil {
		t.Fatal(err)
	}
	var agents map[string][]jsontext.Value
	if err := json.Unmarshal(data, &agents); err != nil {
		t.Fatal(err)
	}
	if len(agents) != 16 {
		t.Fatalf("got %d agents, want 16", len(agents))
	}
	for id, specs := range agents {
		for _, raw := range specs {
			s, err := ParseSpec(raw)
			if err != nil {
				t.Errorf("%s: %v", id, err)
				continue
			}
			if s.ID != id || s.Lane == "" || s.Command.Program == "" || s.MaxOutputBytes != nil || s.Command.Env.InheritAll {
				t.Errorf("%s: got %+v", id, s)
			}
			if _, err := jsontext.Value(s.Raw).MarshalJSON(); err != nil {
				t.Errorf("%s: raw isn't JSON", id)
			}
		}
	}
}

func TestParseSpec(t *testing.T) {
	tests := []struct {
		name, spec, fault string
		check             func(*Spec) bool
	}{
		{"unknown member at the top is the lane's affair", `{"id":"a","lane":"acp","bogus":1,"command":{"program":"p"}}`, "", nil},
		{"snake case twin", `{"id":"a","lane":"acp","client_name":"x","max_output_bytes":7,"command":{"program":"p"}}`, "", func(s *Spec) bool { return s.ClientName == "x" && *s.MaxOutputBytes == 7 }},
		{"both twins", `{"id":"a","lane":"acp","client_name":"x","clientName":"y","command":{"program":"p"}}`, "clientName is given twice", nil},
		{"null is absent", `{"id":"a","lane":"acp","clientName":null,"command":{"program":"p","args":null,"cwd":null,"env":null}}`, "", func(s *Spec) bool { return s.Command.Args == nil }},
		{"no id", `{"lane":"acp","command":{"program":"p"}}`, "id is missing", nil},
		{"lane of the wrong type", `{"id":"a","lane":1,"command":{"program":"p"}}`, "lane must be a string", nil},
		{"no command", `{"id":"a","lane":"acp"}`, "command is missing", nil},
		{"no program", `{"id":"a","lane":"acp","command":{}}`, "command.program is missing", nil},
		{"unknown member in command", `{"id":"a","lane":"acp","command":{"program":"p","bogus":1}}`, "command.bogus is not a known member", nil},
		{"args of the wrong type", `{"id":"a","lane":"acp","command":{"program":"p","args":[1]}}`, "command.args[0] must be a string", nil},
		{"negative budget", `{"id":"a","lane":"acp","maxOutputBytes":-1,"command":{"program":"p"}}`, "maxOutputBytes must be an integer from 0", nil},
		{"not an object", `[1]`, "spec must be an object", nil},
		{"not JSON", `{"id":`, "spec is no valid JSON", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseSpec([]byte(tt.spec))
			checkFault(t, err, tt.fault)
			if err == nil && tt.check != nil && !tt.check(s) {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func checkFault(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Fatalf("got error %v", err)
		}
		return
	}
	var bad *SpecError
	if !errors.As(err, &bad) || !strings.Contains(bad.Detail, want) {
		t.Fatalf("got error %v, want %q", err, want)
	}
}

func TestParseEnvPolicy(t *testing.T) {
	lit := func(n, v string) EnvSetting { return EnvSetting{Name: n, Value: v} }
	tests := []struct {
		name, env, fault string
		want             EnvPolicy
	}{
		{"default", `null`, "", EnvPolicy{}},
		{"bare word", `"inheritAll"`, "", EnvPolicy{InheritAll: true}},
		{"bare word sanitized", `"sanitized"`, "", EnvPolicy{}},
		{"empty", `{"sanitized":{}}`, "", EnvPolicy{}},
		{"null policy", `{"sanitized":null}`, "", EnvPolicy{}},
		{"inherit and set in order", `{"sanitized":{"inherit":["PATH"],"set":{"B":"1","A":"2","N":null}}}`, "",
			EnvPolicy{Inherit: []string{"PATH"}, Set: []EnvSetting{lit("B", "1"), lit("A", "2")}}},
		{"host long and short", `{"sanitized":{"set":{"A":{"hostEnv":{"host_env":"X"}},"B":{"hostEnv":"Y"},"C":{"host_env":{"hostEnv":"Z"}}}}}`, "",
			EnvPolicy{Set: []EnvSetting{{"A", EnvHost, "X"}, {"B", EnvHost, "Y"}, {"C", EnvHost, "Z"}}}},
		{"secret long and short", `{"inheritAll":{"set":{"A":{"secret":{"secret":"r"}},"B":{"secret":"q"}}}}`, "",
			EnvPolicy{InheritAll: true, Set: []EnvSetting{{"A", EnvSecret, "r"}, {"B", EnvSecret, "q"}}}},
		{"unknown word", `"all"`, "command.env must be", EnvPolicy{}},
		{"unknown policy", `{"open":{}}`, "command.env.open is not a known member", EnvPolicy{}},
		{"two policies", `{"sanitized":{},"inheritAll":{}}`, "command.env must have one member", EnvPolicy{}},
		{"unknown member", `{"sanitized":{"inherits":[]}}`, "command.env.sanitized.inherits is not", EnvPolicy{}},
		{"inherit on inheritAll", `{"inheritAll":{"inherit":["PATH"]}}`, "command.env.inheritAll.inherit is not", EnvPolicy{}},
		{"number as value", `{"sanitized":{"set":{"A":1}}}`, "command.env.sanitized.set.A must be", EnvPolicy{}},
		{"two sources", `{"sanitized":{"set":{"A":{"hostEnv":"X","secret":"Y"}}}}`, "set.A must be", EnvPolicy{}},
		{"array", `[]`, "command.env must be an object", EnvPolicy{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseSpec([]byte(`{"id":"a","lane":"acp","command":{"program":"p","env":` + tt.env + `}}`))
			checkFault(t, err, tt.fault)
			if err == nil && !reflect.DeepEqual(s.Command.Env, tt.want) {
				t.Errorf("got %+v, want %+v", s.Command.Env, tt.want)
			}
		})
	}
}

func TestFieldsCloseFindsUnknownMembers(t *testing.T) {
	s, err := ParseSpec([]byte(`{"id":"a","lane":"rpc","command":{"program":"p"},"text_path":"a.b","prompt":{"method":"m","odd":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	f := LaneFields(s)
	if got := f.Str("textPath"); got != "a.b" {
		t.Errorf("got %q", got)
	}
	call := f.Obj("prompt")
	if got := call.Str("method"); got != "m" {
		t.Errorf("got %q", got)
	}
	if err := f.Close(); err != nil {
		t.Errorf("got %v before the inner object was checked", err)
	}
	call.CheckUnknown()
	checkFault(t, f.Close(), "prompt.odd is not a known member")
}

func TestFieldsOfAbsentObject(t *testing.T) {
	var f *Fields
	if f.Str("a") != "" || f.Bool("b") || f.Strings("c") != nil || f.Obj("d") != nil || f.Has("e") || f.Close() != nil {
		t.Error("an absent object has members")
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add([]byte(`{"id":"a","lane":"acp","command":{"program":"p","env":{"sanitized":{"inherit":["A"],"set":{"B":{"hostEnv":"C"}}}}}}`))
	f.Add([]byte(`{"id":"a","lane":"cli","command":{"program":"p","args":["\ud800"]}}`))
	f.Add([]byte(`{"a":[[[[`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := ParseSpec(raw)
		var bad *SpecError
		switch {
		case err == nil && (s == nil || !jsontext.Value(raw).IsValid()):
			t.Errorf("accepted %q", raw)
		case err != nil && !errors.As(err, &bad):
			t.Errorf("error of type %T", err)
		}
	})
}
