package rpc

import (
	"bufio"
	"context"
	"errors"
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

func TestParseRefuses(t *testing.T) {
	for name, change := range map[string]obj{
		"an unknown member":        {"bogus": 1},
		"unknown in a call":        {"prompt": obj{"method": "m", "bogus": 1}},
		"unknown in preTurn":       {"preTurn": []any{obj{"method": "m", "bogus": 1}}},
		"a call without a method":  {"cancel": obj{"params": obj{}}},
		"mcpConfig without a root": {"mcpConfig": obj{"flag": "-c", "envVarsKey": "e"}},
		"no announcement":          {"transport": obj{"web-socket": obj{}}},
		"unknown in completion":    {"completion": obj{"method": "m", "bogus": 1}},
		"unknown in envelope":      {"envelope": obj{"bogus": 1}},
		"unknown in mcpConfig":     {"mcpConfig": obj{"bogus": 1}},
		"unknown in a transport":   {"transport": obj{"web-socket": obj{"announce": "x", "bogus": 1}}},
		"no prompt":                {"prompt": nil},
		"no such transport":        {"transport": "pigeon"},
		"no such scope":            {"sessionScope": "galaxy"},
		"a frame limit as text":    {"maxFrameBytes": "1"},
	} {
		var spec *agent.SpecError
		if _, err := (Driver{}).Parse(specOf(t, declared(change))); !errors.As(err, &spec) {
			t.Errorf("%s: error %v, want a SpecError", name, err)
		}
	}
	var spec *agent.SpecError
	if err := parse(t, declared(obj{"maxFrameBytes": 99999999})).CheckEnv(); !errors.As(err, &spec) || !strings.Contains(spec.Detail, "max_frame_bytes") {
		t.Errorf("a frame limit that is too large: %v", err)
	}
	if p := parse(t, declared(obj{"maxFrameBytes": 5})); p.frameBytes != minFrameBytes || p.CheckEnv() != nil {
		t.Errorf("a small frame limit is %d", p.frameBytes)
	}
}

func TestCheck(t *testing.T) {
	server := []any{obj{"name": "m", "command": "c"}}
	conf := agent.StageConfiguration
	config := obj{"flag": "-c", "root": "mcp", "envVarsKey": "e"}
	tests := []struct {
		name        string
		spec        obj
		o           agent.Options
		resume      string
		code, stage string
	}{
		{name: "all have a place", o: agent.Options{Model: ptr("m"), Effort: ptr("e"), Mode: ptr("x"), Permission: ptr("p")}},
		{name: "permission stands in sessionOpen only", o: agent.Options{Permission: ptr("p")}, resume: "r", code: agent.CodePermissionUnsupported, stage: conf},
		{name: "no setup call in a process's scope", spec: obj{"sessionScope": "process"}, o: agent.Options{Permission: ptr("p")}, code: agent.CodePermissionUnsupported, stage: conf},
		{name: "mode in prompt doesn't count", spec: obj{"initialize": nil, "prompt": obj{"method": "p", "params": obj{"m": "{mode}"}}}, o: agent.Options{Mode: ptr("x")}, code: agent.CodeModeUnsupported, stage: conf},
		{name: "model in initialize", spec: obj{"initialize": obj{"method": "i", "params": "{modelId}"}, "prompt": obj{"method": "p"}}, o: agent.Options{Model: ptr("m")}},
		{name: "blank", o: agent.Options{Model: ptr(" ")}, code: agent.CodeModelUnsupported, stage: conf},
		{name: "resume", resume: "r"},
		{name: "resume by scope", spec: obj{"sessionScope": "process", "sessionResume": nil}, resume: "r"},
		{name: "no resume", spec: obj{"sessionResume": nil, "mcpServers": server}, resume: "r", code: agent.CodeResumeUnsupported, stage: agent.StageOpen},
		{name: "MCP without a way", spec: obj{"mcpServers": server}, code: agent.CodeMCPServerInvalid, stage: agent.StageOpen},
		{name: "MCP", spec: obj{"mcpServers": server, "mcpConfig": config}},
		{name: "MCP malformed", spec: obj{"mcpServers": []any{obj{"name": "m"}}, "mcpConfig": config}, code: agent.CodeMCPServerInvalid, stage: agent.StageOpen},
		{name: "MCP twice", spec: obj{"mcpServers": append(server, server...), "mcpConfig": config}, code: agent.CodeMCPServerInvalid, stage: agent.StageOpen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := parse(t, declared(tt.spec)).Check(tt.o, tt.resume)
			if tt.code == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			wantError(t, err, tt.code, tt.stage, agent.FlagsFinal)
		})
	}
}

func TestCheckTurn(t *testing.T) {
	c := &conn{spec: parse(t, declared(obj{"prompt": obj{"method": "p", "params": "{model}"}, "preTurn": nil, "sessionOpen": obj{"method": "o", "params": "{effort}"}}))}
	if err := c.CheckTurn(agent.Options{Model: ptr("m")}); err != nil {
		t.Error(err)
	}
	wantError(t, c.CheckTurn(agent.Options{Effort: ptr("e")}), agent.CodeEffortUnsupported, agent.StageTurnConfig, agent.FlagsFinal)
	wantError(t, c.CheckTurn(agent.Options{Model: ptr(" ")}), agent.CodeModelUnsupported, agent.StageTurnConfig, agent.FlagsFinal)
}

// record keeps the lines of ours that an agent sees, and answers {} to all.
func record(seen *[]string) lanetest.Program {
	return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		in := bufio.NewScanner(p.In)
		w := &wire{Stdio: p, ctx: ctx, lines: in}
		for {
			m, ok := w.next()
			if !ok {
				return lane.ExitStatus{}
			}
			*seen = append(*seen, m.Raw)
			if m.ID != nil {
				w.reply(m, "{}")
			}
		}
	}
}

func TestSetup(t *testing.T) {
	tests := []struct {
		name   string
		spec   obj
		change func(*lane.Launch)
		native string
		want   []string
	}{
		{"a new session", nil, nil, "", []string{`{"params":{},"method":"initialize","id":1}`, `{"params":{},"method":"initialized"}`,
			`{"params":{"cwd":"/w"},"method":"open","id":2}`}},
		{"with options", nil, func(l *lane.Launch) { l.Options = agent.Options{Mode: ptr("x"), Permission: ptr("p")} }, "",
			[]string{`{"params":{"mode":"x"},"method":"initialize","id":1}`, `{"params":{},"method":"initialized"}`,
				`{"params":{"cwd":"/w","permission":"p"},"method":"open","id":2}`}},
		{"resumed", nil, func(l *lane.Launch) { l.Resume = "R" }, "R", []string{`{"params":{},"method":"initialize","id":1}`,
			`{"params":{},"method":"initialized"}`, `{"params":{"id":"R"},"method":"resume","id":2}`}},
		{"without initialize", obj{"initialize": nil}, nil, "", []string{`{"params":{},"method":"initialized"}`, `{"params":{"cwd":"/w"},"method":"open","id":1}`}},
		{"secrets are left out", obj{"initialize": obj{"method": "i", "params": obj{"key": "{secret:K}", "x": "a{secret:K}"}}, "initialized": nil, "sessionOpen": nil}, nil, "",
			[]string{`{"params":{"x":"a{secret:K}"},"method":"i","id":1}`}},
		{"string ids", obj{"envelope": marked, "initialized": nil, "sessionOpen": nil}, nil, "", []string{`{"params":{},"v":"2.0","type":"request","method":"initialize","id":"a4aa-1"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			program := record(&seen)
			if tt.spec["envelope"] != nil {
				program = func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
					in := bufio.NewScanner(p.In)
					in.Scan()
					seen = append(seen, in.Text())
					(&wire{Stdio: p}).say(`{"type":"response","id":"a4aa-1","result":{}}`)
					in.Scan()
					return lane.ExitStatus{}
				}
			}
			s, err := tryOpen(t, declared(tt.spec), program, tt.change)
			if err != nil {
				t.Fatal(err)
			}
			s.close()
			if !slices.Equal(seen, tt.want) {
				t.Errorf("calls\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(tt.want, "\n"))
			}
			if got := s.conn.Info(); got.NativeID != tt.native || got.PromptStage != stagePrompt {
				t.Errorf("info %+v", got)
			}
		})
	}
}

func TestNativeID(t *testing.T) {
	for reply, want := range map[string]string{
		`{"id":"c","session_id":"b","sessionId":"a"}`: "a",
		`{"id":"c","session_id":"b","sessionId":5}`:   "b",
		`{"x":{"y":{"id":"deep"}},"t":{"id":"T"}}`:    "T",
		`{"a":{"id":"1"},"b":{"sessionId":"2"}}`:      "1",
		`{"a":[{"id":"1"}]}`:                          "",
		`null`:                                        "",
		`"x"`:                                         "",
	} {
		if got := nativeID([]byte(reply)); got != want {
			t.Errorf("nativeID(%s) = %q, want %q", reply, got, want)
		}
	}
	if a, b := ownID(""), ownID(""); a == b || !strings.HasPrefix(a, "a4aa-") || strings.Count(a, "-") != 5 || len(a) != 41 {
		t.Errorf("own ids %q, %q", a, b)
	}
	if id := ownID("R"); !strings.HasPrefix(id, "R-") {
		t.Errorf("own id %q", id)
	}
}

func TestOpenErrors(t *testing.T) {
	answer := func(lines ...string) lanetest.Program {
		return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
			for _, l := range lines {
				(&wire{Stdio: p}).say("%s", l)
			}
			<-ctx.Done()
			return lane.ExitStatus{}
		}
	}
	tests := []struct {
		name        string
		program     lanetest.Program
		code, stage string
		flags       agent.Flags
		took        time.Duration
	}{
		{"refused", answer(`{"id":1,"error":{"message":"no"}}`), agent.CodeRemoteError, stageCall, agent.FlagsFinal, 0},
		{"quota", answer(`{"id":"1","error":{"message":"quota"}}`), agent.CodeQuotaExhausted, stageCall, agent.FlagsRetry, 0},
		{"junk", answer("junk"), agent.CodeTransportFailed, stageCall, agent.FlagsBroken, -1},
		{"silence", answer(), agent.CodeTransportFailed, stageCall, agent.FlagsBroken, 30 * time.Second},
		{"silence after the first answer", answer(`{"id":1}`), agent.CodeTransportFailed, stageCall, agent.FlagsBroken, 120 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := tryOpen(t, declared(nil), tt.program, nil)
				wantError(t, err, tt.code, tt.stage, tt.flags)
				// Ending the fake takes the 2 s of the ladder's first rung.
				if took := time.Since(start) - 2*time.Second; tt.took >= 0 && took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// TestEventsAfterTheOpen: what the agent says right behind its last reply isn't
// lost with the open's context, however late the host reads it.
func TestEventsAfterTheOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, hold := lanetest.NewSink(), make(chan struct{})
		sink.HoldUntil(hold)
		ended := false
		s, err := tryOpen(t, declared(obj{"initialize": nil, "initialized": nil}), func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
			(&wire{Stdio: p}).say(`{"id":1,"result":{}}`+"\n%s", delta("behind"))
			<-ctx.Done()
			return lane.ExitStatus{}
		}, func(l *lane.Launch) { l.Sink = ctxSink{sink, &ended} })
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		close(hold)
		synctest.Wait()
		if got := sink.Text(0); got != "behind" || ended {
			t.Errorf("text %q, context ended %v", got, ended)
		}
		s.close()
	})
}

// ctxSink tells whether an event's context had ended when it was taken.
type ctxSink struct {
	*lanetest.Sink
	ended *bool
}

func (s ctxSink) Emit(ctx context.Context, ev *agent.Event) {
	s.Sink.Emit(ctx, ev)
	*s.ended = *s.ended || ctx.Err() != nil
}

// TestOpenFailsWithAHeldHost: a host that doesn't read can't keep a failed
// open from ending its agent.
func TestOpenFailsWithAHeldHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := lanetest.NewSink()
		sink.HoldUntil(make(chan struct{}))
		_, err := tryOpen(t, declared(nil), func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
			(&wire{Stdio: p}).say("%s", delta("before"))
			<-ctx.Done()
			return lane.ExitStatus{}
		}, func(l *lane.Launch) { l.Sink = sink })
		wantError(t, err, agent.CodeTransportFailed, stageCall, agent.FlagsBroken)
	})
}

func TestSessionClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		h := func(w *wire, m got) bool {
			seen = append(seen, m.Method)
			return answering(accepted)(w, m)
		}
		spec := declared(obj{"sessionClose": obj{"method": "bye", "params": obj{"s": "{sessionId}"}}})
		start := time.Now()
		openSession(t, spec, h).close()
		if !slices.Equal(seen, []string{"bye"}) || time.Since(start) != closeWait {
			t.Errorf("calls %q in %v", seen, time.Since(start))
		}
		// Whether the close or the end of its context ends a running turn: the
		// agent is still at it.
		for _, stop := range []bool{false, true} {
			seen = nil
			s := openSession(t, spec, h)
			ctx, cancel := context.WithCancel(t.Context())
			go s.conn.Prompt(ctx, lane.Turn{Number: 1, Text: "hi", Cancel: make(chan struct{})})
			time.Sleep(time.Second)
			if stop {
				cancel()
				synctest.Wait()
			}
			s.close()
			cancel()
			if slices.Contains(seen, "bye") {
				t.Errorf("calls with a turn running: %q", seen)
			}
		}
	})
}

func TestMCPServers(t *testing.T) {
	var seen []string
	spec := declared(obj{
		"mcpServers": []any{obj{"name": "m", "command": "c", "args": []string{"a"}, "env": []any{obj{"name": "K", "value": "hush"}}}},
		"mcpConfig": obj{"flag": "-c", "root": "mcp_servers", "envVarsKey": "env_vars",
			"toolsApproval": obj{"key": "k", "value": "v"}, "toolsApprovalServers": []string{"m"}},
	})
	s, err := tryOpen(t, spec, record(&seen), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	c := s.starter.Started()[0].Command
	want := []string{"serve", "-c", `mcp_servers.m.command="c"`, "-c", `mcp_servers.m.args=["a"]`,
		"-c", `mcp_servers.m.env_vars=["K"]`, "-c", `mcp_servers.m.k="v"`}
	if !slices.Equal(c.Args, want) || !slices.Contains(c.Env, "K=hush") || !slices.Equal(c.SecretValues, []string{"hush"}) {
		t.Errorf("command %+v", c)
	}
	_, err = tryOpen(t, spec, record(&seen), func(l *lane.Launch) { l.Env = []string{"K=elsewise"} })
	e := wantError(t, err, agent.CodeMCPServerInvalid, agent.StageOpen, agent.FlagsFinal)
	if strings.Contains(e.Detail, "hush") || strings.Contains(e.Detail, "elsewise") {
		t.Errorf("detail %q tells a value", e.Detail)
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
			if s.Lane != "rpc" {
				continue
			}
			n++
			plan, err := Driver{}.Parse(s)
			if err == nil {
				err = errors.Join(plan.CheckEnv(), plan.Check(agent.Options{}, ""))
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d rpc specs", n)
	}
}
