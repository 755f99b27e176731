package serve

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestOpenErrors(t *testing.T) {
	exits := func(lines ...string) lanetest.Program {
		return func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
			fmt.Fprintln(p.Out, strings.Join(lines, "\n"))
			fmt.Fprintln(p.Err, "last words")
			return lane.ExitStatus{Code: 7}
		}
	}
	here := "server listening on http://127.0.0.1:9"
	tests := []struct {
		name    string
		program lanetest.Program
		detail  string
		took    time.Duration
	}{
		{"it exits", exits("hello"), "code 7: last words", 0},
		{"no password", exits(here), "code 7", 0},
		{"no address", program("server password x"), "30s", 30 * time.Second},
		{"too many lines", program(strings.Repeat("\n", maxLines), here, "server password x"), "128", 0},
		{"not loopback", program("server listening on http://0.0.0.0:9", "server password x"), "this machine", 0},
		{"not http", program("server listening on https://127.0.0.1:9", "server password x"), "http", 0},
		{"a name in the address", program("server listening on http://127.0.0.1@example.org:9", "server password x"), "http", 0},
		{"the older surface elsewhere", program("opencode server listening on http://10.0.0.1:9"), "this machine", 0},
		{"the older surface", program("opencode server listening on http://127.0.0.1:9"), "older", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := tryOpen(t, Driver{}, nil, tt.program, nil)
				e := wantError(t, err, agent.CodeProtocolFailed, agent.StageOpen, agent.FlagsFinal)
				if !strings.Contains(e.Detail, tt.detail) {
					t.Errorf("detail %q, want %q in it", e.Detail, tt.detail)
				}
				if took := time.Since(start); took < tt.took || took > tt.took+3*time.Second {
					t.Errorf("took %v, want about %v", took, tt.took)
				}
			})
		})
	}
}

func TestAnnouncement(t *testing.T) {
	f := newServer(t)
	long := strings.Repeat("x", 3*maxLineBytes)
	last := append(slices.Repeat([]string{""}, maxLines-3), long, "server listening on "+f.URL, "server password "+secret)
	s, err := tryOpen(t, Driver{}, nil, program(last...), nil)
	if err != nil || s.conn.Info().NativeID != "ses/1" {
		t.Errorf("line 128 is in time: %v", err)
	}
}

// TestStdoutIsDrained: a server that goes on talking never waits for us.
func TestStdoutIsDrained(t *testing.T) {
	f := newServer(t)
	written := make(chan struct{})
	s, err := tryOpen(t, Driver{}, nil, func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		fmt.Fprintln(p.Out, "server password "+secret+"\nserver listening on "+f.URL)
		fmt.Fprintln(p.Out, strings.Repeat("log\n", 100_000))
		close(written)
		<-ctx.Done()
		return lane.ExitStatus{}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-written:
	case <-time.After(30 * time.Second):
		t.Error("the server waits for its output to be read")
	}
	s.close()
}

func TestCreateErrors(t *testing.T) {
	for _, tt := range []struct {
		at     string
		status int
		body   string
		code   string
		stage  string
		flags  agent.Flags
	}{
		{"session", 500, "x", agent.CodeProtocolFailed, stageTransport, agent.FlagsFinal},
		{"session", 500, "quota", agent.CodeQuotaExhausted, stageTransport, agent.FlagsRetry},
		{"model", 404, "no such model", agent.CodeQuotaExhausted, stageSetModel, agent.FlagsRetry},
	} {
		f := newServer(t)
		f.answers[tt.at], f.bodies[tt.at] = tt.status, tt.body
		_, err := tryOpen(t, Driver{}, nil, f.program(), func(l *lane.Launch) { l.Options.Model = ptr("m") })
		wantError(t, err, tt.code, tt.stage, tt.flags)
	}
	f := newServer(t)
	_, err := tryOpen(t, Driver{}, nil, program("server listening on "+f.URL, "server password wrong"), nil)
	wantError(t, err, agent.CodeProtocolFailed, stageTransport, agent.FlagsFinal)
	_, err = tryOpen(t, Driver{}, obj{"command": obj{"program": lanetest.MissingProgram}}, f.program(), nil)
	wantError(t, err, agent.CodeProcessStartFailed, agent.StageProcessStart, agent.FlagsFinal)
}

func TestLegacy(t *testing.T) {
	var got LegacyServer
	d := Driver{Legacy: func(_ context.Context, s LegacyServer) (lane.Conn, error) {
		got = s
		return nil, agent.Fail(agent.CodeRemoteError, "x", "refused")
	}}
	_, err := tryOpen(t, d, nil, program("hello", "opencode server listening on http://127.0.0.1:4096"), nil)
	wantError(t, err, agent.CodeRemoteError, "x", agent.FlagsFinal)
	if got.URL != "http://127.0.0.1:4096" || got.Process == nil || got.Spec.ID != "x" || got.Launch.Dir != "/w" {
		t.Errorf("the lane got %+v", got)
	}
}

// proof is a configuration that only lets the agent read.
func proof() obj {
	permission, tools := obj{}, obj{}
	for _, name := range deniedPermissions {
		permission[name] = "deny"
	}
	for _, name := range toolsOff {
		tools[name] = false
	}
	return obj{"permission": permission, "tools": tools}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReadOnlyProof(t *testing.T) {
	full := encode(t, proof())
	if !readOnlyProof([]byte(full)) {
		t.Fatal("the proof doesn't prove")
	}
	change := func(f func(o obj)) string {
		o := proof()
		f(o)
		return encode(t, o)
	}
	servers := func(s obj) string { return change(func(o obj) { o["mcp"] = obj{"servers": s} }) }
	for config, want := range map[string]bool{
		"": false, "{}": false, "[]": false, "null": false, "{": false,
		servers(obj{"a": obj{"enabled": false}}):             true,
		servers(obj{"a": obj{"enabled": false}, "b": obj{}}): false,
		servers(obj{"a": obj{"enabled": "false"}}):           false,
		servers(obj{}): true,
		change(func(o obj) { o["mcp"] = obj{"a": obj{"command": []string{"x"}}} }): false,
		change(func(o obj) { o["mcp"] = obj{"a": obj{"enabled": false}} }):         true,
		change(func(o obj) { o["permission"].(obj)["bash"] = obj{"*": "deny"} }):   false,
		change(func(o obj) { o["permission"].(obj)["bash"] = "ask" }):              false,
		change(func(o obj) { o["permission"] = "deny" }):                           false,
		change(func(o obj) { o["mcp"] = "x" }):                                     false,
	} {
		if got := readOnlyProof([]byte(config)); got != want {
			t.Errorf("proof of %s = %v", config, got)
		}
	}
	for _, name := range deniedPermissions {
		if readOnlyProof([]byte(change(func(o obj) { delete(o["permission"].(obj), name) }))) {
			t.Errorf("a proof without permission %s", name)
		}
	}
	for _, name := range toolsOff {
		if readOnlyProof([]byte(change(func(o obj) { o["tools"].(obj)[name] = true }))) {
			t.Errorf("a proof with the tool %s", name)
		}
	}
}

func TestCheck(t *testing.T) {
	conf := agent.StageConfiguration
	ro := agent.Options{Permission: ptr(readOnly)}
	literal := obj{"command": obj{"program": "agent", "env": obj{"sanitized": obj{"set": obj{configName: encode(t, proof())}}}}}
	bad := obj{"mcpServers": []any{obj{"name": "m"}}}
	tests := []struct {
		name        string
		spec        obj
		o           agent.Options
		resume      string
		code, stage string
	}{
		{name: "model and permission", o: agent.Options{Model: ptr("m"), Permission: ptr(readOnly)}},
		{name: "effort", o: agent.Options{Effort: ptr("e"), Mode: ptr("m")}, code: agent.CodeEffortUnsupported, stage: conf},
		{name: "mode", o: agent.Options{Mode: ptr("m")}, code: agent.CodeModeUnsupported, stage: conf},
		{name: "another permission", o: agent.Options{Permission: ptr("full")}, code: agent.CodePermissionUnsupported, stage: conf},
		{name: "resume", resume: "r", spec: bad, code: agent.CodeResumeUnsupported, stage: agent.StageOpen},
		{name: "permission before resume", o: ro, resume: "r", code: agent.CodePermissionUnsupported, stage: conf},
		{name: "a proof, then resume", spec: literal, o: ro, resume: "r", code: agent.CodeResumeUnsupported, stage: agent.StageOpen},
		{name: "MCP", spec: bad, code: agent.CodeMCPServerInvalid, stage: agent.StageOpen},
		{name: "unknown members are ignored", spec: obj{"bogus": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := Driver{}.Parse(specOf(t, tt.spec))
			if err != nil {
				t.Fatal(err)
			}
			if err := plan.CheckEnv(); err != nil {
				t.Error(err)
			}
			err = plan.Check(tt.o, tt.resume)
			if tt.code != "" {
				wantError(t, err, tt.code, tt.stage, agent.FlagsFinal)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	c := &conn{}
	if err := c.CheckTurn(agent.Options{Model: ptr("m")}); err != nil {
		t.Error(err)
	}
	wantError(t, c.CheckTurn(agent.Options{Effort: ptr("e")}), agent.CodeEffortUnsupported, agent.StageTurnConfig, agent.FlagsFinal)
}

func TestConfiguration(t *testing.T) {
	f := newServer(t)
	ro := func(config string) func(*lane.Launch) {
		return func(l *lane.Launch) {
			l.Options.Permission = ptr(readOnly)
			l.Env = append(l.Env, configName+"="+config)
		}
	}
	if _, err := tryOpen(t, Driver{}, nil, f.program(), ro(encode(t, proof()))); err != nil {
		t.Errorf("with a proof: %v", err)
	}
	servers := obj{"mcpServers": []any{
		obj{"name": "a", "command": "c", "args": []string{"x"}, "env": []any{obj{"name": "K", "value": "hidden"}}},
		obj{"name": "b", "type": "http", "url": "http://h", "headers": []any{obj{"name": "H", "value": "v"}}},
	}}
	for name, tt := range map[string]struct {
		spec   obj
		config string
	}{"no proof": {nil, "{}"}, "a proof with a server": {servers, encode(t, proof())}} {
		s, err := tryOpen(t, Driver{}, tt.spec, f.program(), ro(tt.config))
		wantError(t, err, agent.CodePermissionUnsupported, agent.StageConfiguration, agent.FlagsFinal)
		if len(s.starter.Started()) != 0 {
			t.Errorf("%s: something was started", name)
		}
	}
	s, err := tryOpen(t, Driver{}, servers, f.program(), func(l *lane.Launch) {
		l.Env = []string{"A=1", configName + `={"theme":"x","mcp":{"timeout":5,"servers":{"z":{"enabled":false}}}}`}
	})
	if err != nil {
		t.Fatal(err)
	}
	c := s.starter.Started()[0].Command
	want := configName + `={"mcp":{"servers":{"a":{"type":"local","command":["c","x"],"environment":{"K":"hidden"},"enabled":true},` +
		`"b":{"type":"remote","url":"http://h","headers":{"H":"v"},"enabled":true},"z":{"enabled":false}},"timeout":5},"theme":"x"}`
	if !slices.Equal(c.Env, []string{"A=1", want}) || !slices.Contains(c.SecretValues, "hidden") || len(c.Args) != 0 {
		t.Errorf("command %+v\nwant %s", c, want)
	}
	for _, config := range []string{"x", "[]", `{"mcp":5}`, `{"mcp":{"servers":[]}}`, `{"mcp":{"servers":{"a":{}}}}`} {
		_, err := tryOpen(t, Driver{}, servers, f.program(), func(l *lane.Launch) { l.Env = []string{configName + "=" + config} })
		e := wantError(t, err, agent.CodeMCPServerInvalid, agent.StageOpen, agent.FlagsFinal)
		if strings.Contains(e.Detail, "hidden") {
			t.Errorf("detail %q tells a value", e.Detail)
		}
	}
}

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
			if s.Lane != "serve" {
				continue
			}
			n++
			if _, err := (Driver{}).Parse(s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n == 0 {
		t.Error("no serve spec")
	}
}
