package claude

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func TestOpenCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := try(t, &fake{opening: lanetest.OpenCrash}, "", agent.Options{}, "")
		if e := wantCode(t, err, agent.CodeProtocolFailed, agent.StageOpen); !strings.Contains(e.Detail, lanetest.LastWords) {
			t.Errorf("detail %q", e.Detail)
		}
	})
}

func TestUnknownSession(t *testing.T) {
	_, err := try(t, &fake{opening: lanetest.OpenCrash}, "", agent.Options{}, "gone")
	if e := wantCode(t, err, agent.CodeSessionOpenFailed, agent.StageResume); e.Retryable {
		t.Error("it will be unknown the next time, too")
	}
}

// An agent that answers no initialize can be prompted all the same, but an
// option that it doesn't confirm fails the open.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open(t, &fake{opening: lanetest.OpenSilent}, "", agent.Options{}).close()
		_, err := try(t, &fake{opening: lanetest.OpenSilent}, "", agent.Options{Model: text("sonnet")}, "")
		wantCode(t, err, agent.CodeProtocolFailed, agent.StageOpen)
	})
}

func TestSpecAndOptions(t *testing.T) {
	for _, more := range []string{`,"permissionMode":"sometimes"`, `,"unknown":1`, `,"permissionMode":7`} {
		if _, err := (Driver{}).Parse(spec(t, "claude", more)); err == nil {
			t.Errorf("%s was taken", more)
		}
	}
	tests := []struct {
		name, more, resume string
		o                  agent.Options
		code, stage        string
	}{
		{"blank model", "", "", agent.Options{Model: text(" ")}, agent.CodeModelUnsupported, agent.StageConfiguration},
		{"unknown effort", "", "", agent.Options{Effort: text("some")}, agent.CodeEffortUnsupported, agent.StageConfiguration},
		{"unknown mode", "", "", agent.Options{Mode: text("yolo")}, agent.CodeModeUnsupported, agent.StageConfiguration},
		{"two modes", "", "", agent.Options{Mode: text("plan"), Permission: text("default")}, agent.CodePermissionUnsupported, agent.StageConfiguration},
		{"a flag as id", "", "--help", agent.Options{}, agent.CodeResumeUnsupported, agent.StageOpen},
		{"MCP server", `,"mcpServers":[{"name":"x"}]`, "", agent.Options{}, agent.CodeMCPServerInvalid, agent.StageOpen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb, err := try(t, &fake{}, tt.more, tt.o, tt.resume)
			wantCode(t, err, tt.code, tt.stage)
			if len(tb.starter.Started()) > 0 {
				t.Error("a process was started")
			}
		})
	}
}

func TestArgs(t *testing.T) {
	own := []string{
		"own", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--include-partial-messages",
	}
	tests := []struct {
		more, resume string
		o            agent.Options
		want         []string
	}{
		{"", "", agent.Options{}, nil},
		{`,"permissionMode":"plan"`, "", agent.Options{Effort: text("high")}, []string{"--permission-mode", "plan", "--effort", "high"}},
		{"", "id-1", agent.Options{}, []string{"--resume", "id-1"}},
		{"", "fork:id-1", agent.Options{}, []string{"--resume", "id-1", "--fork-session"}},
	}
	for _, tt := range tests {
		tb, err := try(t, &fake{}, tt.more, tt.o, tt.resume)
		if err != nil {
			t.Fatal(err)
		}
		if got := tb.starter.Started()[0].Command.Args; !slices.Equal(got, append(own[:len(own):len(own)], tt.want...)) {
			t.Errorf("args %q", got)
		}
	}
}

func TestServersStayOutOfArgs(t *testing.T) {
	const secret = "s3cret-value"
	more := `,"mcpServers":[{"name":"a","command":"srv","args":["x"],"env":[{"name":"K","value":"` + secret + `"}]},
		{"name":"b","type":"http","url":"http://127.0.0.1/","headers":[{"name":"Auth","value":"` + secret + `"}]}]`
	tb := open(t, &fake{}, more, agent.Options{})
	command := tb.starter.Started()[0].Command
	at := slices.Index(command.Args, "--mcp-config")
	if at < 0 || strings.Contains(strings.Join(command.Args, " "), secret) {
		t.Fatalf("args %q", command.Args)
	}
	if !slices.Contains(command.SecretValues, secret) {
		t.Error("the secret may show in stderr's tail")
	}
	path := command.Args[at+1]
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, info, err, want)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"command":"srv"`, `"env":{"K":"` + secret + `"}`, `"type":"http"`, `"headers":{"Auth":"` + secret + `"}`} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%s has no %s", got, part)
		}
	}
	tb.close()
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestGreeting(t *testing.T) {
	tb := open(t, &fake{}, "", agent.Options{Model: text("sonnet"), Mode: text("plan")})
	if got := tb.event(agent.KindCommands).Value; string(got) != `[{"name":"review","description":"Review it","input":{"hint":"[file]"}}]` {
		t.Errorf("commands %s", got)
	}
	want := []string{controlInitialize, controlSetModel, controlSetMode}
	if got := tb.fake.controls(); !reflect.DeepEqual(got, want) {
		t.Errorf("control requests %v", got)
	}
	state := string(tb.conn.Info().State)
	for _, part := range []string{`"currentModeId":"plan"`, `"currentModelId":"sonnet"`, `"modelId":"default"`} {
		if !strings.Contains(state, part) {
			t.Errorf("state %s has no %s", state, part)
		}
	}
}

func TestRefusedModel(t *testing.T) {
	_, err := try(t, &fake{refuse: map[string]string{controlSetModel: "no such model"}}, "", agent.Options{Model: text("x")}, "")
	wantCode(t, err, agent.CodeConfigurationRejected, agent.StageConfiguration)
	// An agent without initialize is prompted without commands.
	tb := open(t, &fake{refuse: map[string]string{controlInitialize: "unsupported"}}, "", agent.Options{})
	if out, err := tb.prompt(lanetest.Echo); err != nil || out.StopReason != agent.StopEndTurn {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestConfigure(t *testing.T) {
	tb := open(t, &fake{}, "", agent.Options{Effort: text("low")})
	err := tb.conn.Configure(tb.ctx, agent.Options{Permission: text("acceptEdits")}, map[string][]byte{
		"model": []byte(`"opus"`), "thinking": []byte("2000"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{controlInitialize, controlSetModel, controlSetMode, controlSetThinking}
	if got := tb.fake.controls(); !reflect.DeepEqual(got, want) {
		t.Errorf("control requests %v", got)
	}
	if state := string(tb.conn.Info().State); !strings.Contains(state, "acceptEdits") {
		t.Errorf("state %s", state)
	}
	bad := []struct {
		o      agent.Options
		config map[string][]byte
		code   string
	}{
		{agent.Options{Effort: text("max")}, nil, agent.CodeEffortUnsupported},
		{agent.Options{Mode: text("none")}, nil, agent.CodeModeUnsupported},
		{agent.Options{}, map[string][]byte{"colour": []byte(`"red"`)}, agent.CodeConfigurationUnavailable},
		{agent.Options{}, map[string][]byte{"thinking": []byte(`-1`)}, agent.CodeConfigurationUnavailable},
	}
	for _, b := range bad {
		wantCode(t, tb.conn.Configure(tb.ctx, b.o, b.config), b.code, agent.StageConfiguration)
	}
	if err := tb.conn.CheckTurn(agent.Options{Effort: text("low"), Model: text("opus")}); err != nil {
		t.Error(err)
	}
	wantCode(t, tb.conn.CheckTurn(agent.Options{Effort: text("high")}), agent.CodeEffortUnsupported, agent.StageTurnConfig)
}

func TestFork(t *testing.T) {
	tb := open(t, &fake{}, "", agent.Options{})
	if _, err := tb.conn.Fork(context.Background()); err == nil {
		t.Error("a session without an id was forked")
	}
	if _, err := tb.prompt(lanetest.Echo); err != nil {
		t.Fatal(err)
	}
	if got, err := tb.conn.Fork(context.Background()); err != nil || got != forkMark+session {
		t.Errorf("%q, %v", got, err)
	}
}
