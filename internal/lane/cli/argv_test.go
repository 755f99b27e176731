package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"dragoman/wire/agent"
)

func TestTurnCall(t *testing.T) {
	long := strings.Repeat("x", maxArgPrompt+1)
	tests := []struct {
		name  string
		spec  members
		in    input
		args  []string
		stdin string // "-" for none
		code  string
	}{
		{name: "stdin by default", in: input{prompt: "hi"}, args: []string{"{prompt}"}, stdin: "hi\n"},
		{name: "an LF is there", in: input{prompt: "hi\n"}, args: []string{"{prompt}"}, stdin: "hi\n"},
		{name: "an empty prompt", in: input{}, args: []string{"{prompt}"}, stdin: "\n"},
		{name: "in the arguments", spec: members{"args": []string{"-p", "{prompt}"}}, in: input{prompt: "hi"},
			args: []string{"{prompt}", "-p", "hi"}, stdin: "-"},
		{name: "both", spec: members{"args": []string{"{prompt}"}, "promptChannel": "stdin"}, in: input{prompt: "hi"},
			args: []string{"{prompt}", "hi"}, stdin: "hi\n"},
		{name: "arg-only without a place", spec: members{"promptChannel": "arg-only"}, in: input{prompt: "hi"},
			code: agent.CodePromptChannelUnsatisfied},
		{name: "resumeArgs are appended", spec: members{"args": []string{"a"}, "resumeArgs": []string{"-r", "{sessionId}"}},
			in: input{prompt: "hi", binding: "S"}, args: []string{"{prompt}", "a", "-r", "S"}, stdin: "hi\n"},
		{name: "no binding", spec: members{"args": []string{"a"}, "resumeArgs": []string{"-r", "{sessionId}"}},
			in: input{prompt: "hi"}, args: []string{"{prompt}", "a"}, stdin: "hi\n"},
		{name: "the prompt stands in resumeArgs", spec: members{"args": []string{"a"}, "resumeArgs": []string{"{prompt}"}},
			in: input{prompt: "hi", binding: "S"}, args: []string{"{prompt}", "a", "hi"}, stdin: "-"},
		{name: "resumeSpawnArgs replace", spec: members{"args": []string{"a"}, "resumeArgs": []string{"{cwd}"},
			"resumeSpawnArgs": []string{"resume", "{sessionId}"}},
			in: input{prompt: "hi", dir: "/w", binding: "S"}, args: []string{"resume", "S", "/w"}, stdin: "hi\n"},
		{name: "the template", spec: members{"stdinTemplate": map[string]any{"t": "{prompt}", "m": "{model}"}},
			in: input{prompt: "q\""}, args: []string{"{prompt}"}, stdin: "{\"t\":\"q\\\"\"}\n"},
		{name: "a long prompt goes to stdin", spec: members{"args": []string{"-p", "{prompt}", "z"}}, in: input{prompt: long},
			args: []string{"{prompt}", "z"}, stdin: long + "\n"},
		{name: "a long prompt has no way", spec: members{"args": []string{"{prompt}"}, "promptChannel": "arg-only"},
			in: input{prompt: long}, code: agent.CodePromptChannelUnsatisfied},
		{name: "mode and permission", spec: members{"args": []string{"{mode}", "{permission}"}},
			in:   input{prompt: "hi", options: agent.Options{Mode: ptr("m"), Permission: ptr("p")}},
			args: []string{"{prompt}", "m", "p"}, stdin: "hi\n"},
		{name: "instructions are absent", spec: members{"args": []string{"-i", "{instructions}", "{provider}"}},
			in: input{prompt: "hi"}, args: []string{"{prompt}"}, stdin: "hi\n"},
		{name: "effort without a place", spec: members{"args": []string{"{model}"}, "effortModelSuffixes": []string{"low"}},
			in: input{prompt: "hi", options: agent.Options{Effort: ptr("low")}}, code: agent.CodeEffortUnsupported},
		{name: "effort in its place", spec: members{"args": []string{"{model}", "{effort}"}, "effortModelSuffixes": []string{"low"}},
			in:   input{prompt: "hi", options: agent.Options{Effort: ptr("low")}},
			args: []string{"{prompt}", "low"}, stdin: "hi\n"},
		{name: "effort in the model", spec: members{"args": []string{"{model}", "{effort}"}, "effortModelSuffixes": []string{"low"}},
			in:   input{prompt: "hi", options: agent.Options{Effort: ptr("low"), Model: ptr("g")}},
			args: []string{"{prompt}", "g-low"}, stdin: "hi\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(t, tt.spec).turnCall(tt.in)
			if tt.code != "" {
				var e *agent.Error
				if !errors.As(err, &e) || e.Code != tt.code || e.Stage != stageArgs || e.Retryable || e.UncertainEffect {
					t.Fatalf("error %v, want %s [%s], no/no", err, tt.code, stageArgs)
				}
				if tt.in.prompt == long && !strings.Contains(e.Detail, "102400") {
					t.Errorf("detail %q doesn't name the limit", e.Detail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			stdin := string(got.stdin)
			if got.stdin == nil {
				stdin = "-"
			}
			if !slices.Equal(got.args, tt.args) || stdin != tt.stdin {
				t.Errorf("args %q, stdin %.100q; want %q, %.100q", got.args, stdin, tt.args, tt.stdin)
			}
		})
	}
}

func TestWithEffort(t *testing.T) {
	suffixes := []string{"low", "high", "extra-high"}
	tests := []struct{ model, effort, want string }{
		{"g-5-extra-high-fast", "low", "g-5-low-fast"},
		{"g-5-high", "low", "g-5-low"},
		{"g-5", "high", "g-5-high"},
		{"g-5-fast", "high", "g-5-high-fast"},
		{"-low", "high", "-low-high"},
		{"low", "high", "low-high"},
		{"glow", "high", "glow-high"},
	}
	for _, tt := range tests {
		if got := withEffort(tt.model, tt.effort, suffixes); got != tt.want {
			t.Errorf("withEffort(%q, %q) = %q, want %q", tt.model, tt.effort, got, tt.want)
		}
	}
}
