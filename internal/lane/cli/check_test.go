package cli

import (
	"errors"
	"os"
	"testing"

	"dragoman/wire/agent"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestParseRefuses(t *testing.T) {
	for name, m := range map[string]members{
		"an unknown member": {"bogus": 1},
		"a wrong type":      {"args": "x"},
		"a wrong word":      {"promptChannel": "carrier-pigeon"},
		"a wrong stream":    {"stream": "tty"},
	} {
		var spec *agent.SpecError
		if _, err := (Driver{}).Parse(specOf(t, "agent", nil, m)); !errors.As(err, &spec) {
			t.Errorf("%s: error %v, want a SpecError", name, err)
		}
	}
	parse(t, members{"args": nil, "stdinTemplate": nil, "resultSelector": nil, "mcpServers": []any{}})
}

func TestCheck(t *testing.T) {
	all := members{"args": []string{"{model}", "{effort}", "{mode}", "{permission}"}, "effortModelSuffixes": []string{"low"},
		"executionModes": []string{"plan"}, "permissionModes": []string{"ask"}}
	server := []any{map[string]any{"name": "x", "command": "y"}}
	conf, turn := agent.StageConfiguration, agent.StageTurnConfig
	tests := []struct {
		name        string
		spec        members
		o           agent.Options
		resume      string
		code, stage string // of Check
		turnCode    string // of checkTurn
	}{
		{name: "nothing asked"},
		{name: "model without a place", o: agent.Options{Model: ptr("m")}, code: agent.CodeModelUnsupported, stage: conf, turnCode: agent.CodeModelUnsupported},
		{name: "a place in resumeArgs doesn't count", spec: members{"resumeArgs": []string{"{model}"}}, resume: "r",
			o: agent.Options{Model: ptr("m")}, code: agent.CodeModelUnsupported, stage: conf, turnCode: agent.CodeModelUnsupported},
		{name: "modelId is a place", spec: members{"args": []string{"{modelId}"}}, o: agent.Options{Model: ptr("m")}},
		{name: "a template that is used", spec: members{"stdinTemplate": "{model}"}, o: agent.Options{Model: ptr("m")}},
		{name: "a template that isn't", spec: members{"stdinTemplate": "{model}", "args": []string{"{prompt}"}},
			o: agent.Options{Model: ptr("m")}, code: agent.CodeModelUnsupported, stage: conf, turnCode: agent.CodeModelUnsupported},
		{name: "a template on stdin always", spec: members{"stdinTemplate": "{model}", "args": []string{"{prompt}"}, "promptChannel": "stdin"},
			o: agent.Options{Model: ptr("m")}},
		{name: "mode listed without a place", spec: members{"executionModes": []string{"plan"}}, o: agent.Options{Mode: ptr("plan")},
			code: agent.CodeModeUnsupported, stage: conf},
		{name: "all listed", spec: all, o: agent.Options{Model: ptr("m"), Effort: ptr("low"), Mode: ptr("plan"), Permission: ptr("ask")}},
		{name: "effort by the model", spec: members{"args": []string{"{model}"}, "effortModelSuffixes": []string{"low"}}, o: agent.Options{Effort: ptr("low")}},
		{name: "effort not listed", spec: all, o: agent.Options{Effort: ptr("max"), Mode: ptr("nope")}, code: agent.CodeEffortUnsupported, stage: conf, turnCode: agent.CodeEffortUnsupported},
		{name: "mode not listed", spec: all, o: agent.Options{Mode: ptr("nope"), Permission: ptr("nope")}, code: agent.CodeModeUnsupported, stage: conf},
		{name: "permission not listed", spec: all, o: agent.Options{Permission: ptr("nope")}, resume: "r", code: agent.CodePermissionUnsupported, stage: conf},
		{name: "blank comes before the lists", spec: all, o: agent.Options{Effort: ptr("max"), Permission: ptr(" ")}, code: agent.CodePermissionUnsupported, stage: conf, turnCode: agent.CodeEffortUnsupported},
		{name: "no way to resume", resume: "r", code: agent.CodeResumeUnsupported, stage: agent.StageOpen},
		{name: "resume before MCP", spec: members{"mcpServers": server}, resume: "r", code: agent.CodeResumeUnsupported, stage: agent.StageOpen},
		{name: "an id in args resumes", spec: members{"args": []string{"{sessionId}"}}, resume: "r"},
		{name: "spawn args resume", spec: members{"resumeSpawnArgs": []string{"r"}}, resume: "r"},
		{name: "MCP servers", spec: members{"mcpServers": server}, code: agent.CodeMCPServerInvalid, stage: agent.StageOpen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(t, tt.spec)
			if err := p.CheckEnv(); err != nil {
				t.Errorf("CheckEnv: %v", err)
			}
			wantError(t, p.Check(tt.o, tt.resume), tt.code, tt.stage)
			wantError(t, p.checkTurn(tt.o), tt.turnCode, turn)
		})
	}
}

// wantError checks for an error with the flags no/no, or for none.
func wantError(t *testing.T, err error, code, stage string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		return
	}
	var e *agent.Error
	if !errors.As(err, &e) || e.Code != code || e.Stage != stage || e.Retryable || e.UncertainEffect {
		t.Errorf("error %+v, want %s [%s], no/no", err, code, stage)
	}
}

// TestKnownAgents: the cli specs of the agents that hosts drive are read.
func TestKnownAgents(t *testing.T) {
	raw, err := os.ReadFile("../../../wire/agent/testdata/specs.json")
	if err != nil {
		t.Fatal(err)
	}
	var agents map[string][]jsontext.Value
	if err := json.Unmarshal(raw, &agents); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, specs := range agents {
		for _, raw := range specs {
			s, err := agent.ParseSpec(raw)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s.Lane != "cli" {
				continue
			}
			n++
			plan, err := Driver{}.Parse(s)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if err := plan.Check(agent.Options{}, ""); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d cli specs", n)
	}
}
