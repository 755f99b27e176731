package pi

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func ptr(s string) *string { return &s }

func TestParse(t *testing.T) {
	for _, bad := range []string{`,"gate":"yes"`, `,"mode":"x"`, `,"mcpServers":[]`} {
		if _, err := (Driver{}).Parse(spec(t, "pi", bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	plan, err := Driver{}.Parse(spec(t, "pi", ""))
	if err != nil {
		t.Fatal(err)
	}
	refusals := []struct {
		o      agent.Options
		resume string
		code   string
	}{
		{agent.Options{Mode: ptr("plan")}, "", agent.CodeModeUnsupported},
		{agent.Options{Permission: ptr("all")}, "", agent.CodePermissionUnsupported},
		{agent.Options{Effort: ptr("huge")}, "", agent.CodeEffortUnsupported},
		{agent.Options{}, "-e", agent.CodeResumeUnsupported},
	}
	for _, r := range refusals {
		var e *agent.Error
		if err := plan.Check(r.o, r.resume); !errors.As(err, &e) || e.Code != r.code {
			t.Errorf("%+v: %v, want %s", r, err, r.code)
		}
	}
}

// TestGate: the extension is in a file of its own while the session lives.
func TestGate(t *testing.T) {
	tb := open(t, &fake{}, "")
	i := slices.Index(tb.fake.args, "-e")
	if i < 0 || !slices.Equal(tb.fake.args[:3], []string{"own", "--mode", "rpc"}) {
		t.Fatalf("args %q", tb.fake.args)
	}
	file := tb.fake.args[i+1]
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %v", path, fi, err, mode)
		}
	}
	if tb.fake.gate != string(gateSource) || !strings.Contains(tb.fake.gate, gateStatus) {
		t.Errorf("the gate is %q", tb.fake.gate)
	}
	if !tb.conn.Info().Capabilities.PermissionPrompts {
		t.Error("a gated session can't ask")
	}
	if err := tb.conn.Close(tb.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestGateIsMissing(t *testing.T) {
	_, err := try(t, &fake{ungated: true}, "", lane.Launch{})
	wantCode(t, err, agent.CodeConfigurationRejected, agent.StageConfiguration)

	tb := open(t, &fake{}, `,"gate":false`)
	if slices.Contains(tb.fake.args, "-e") || tb.conn.Info().Capabilities.PermissionPrompts {
		t.Errorf("args %q, %+v without a gate", tb.fake.args, tb.conn.Info().Capabilities)
	}
}

func TestInfo(t *testing.T) {
	tb := open(t, &fake{}, "")
	info := tb.conn.Info()
	if info.NativeID != "/home/u/.pi/s.jsonl" || !info.Capabilities.SessionResume || !info.Capabilities.Images {
		t.Errorf("info %+v", info)
	}
	for _, part := range []string{`"currentModelId":"mock/small"`, `"modelId":"mock/large"`, `"currentValue":"medium"`, `"value":"high"`} {
		if !strings.Contains(string(info.State), part) {
			t.Errorf("state %s lacks %s", info.State, part)
		}
	}
	if ev := tb.event(agent.KindCommands); !strings.Contains(string(ev.Value), `"review"`) {
		t.Errorf("commands %s", ev.Value)
	}
}

func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tb, err := try(t, &fake{}, "", lane.Launch{Resume: file})
	if err != nil {
		t.Fatal(err)
	}
	if got := tb.conn.Info().NativeID; got != file {
		t.Errorf("native id %q, want %q", got, file)
	}
	tb, err = try(t, &fake{}, "", lane.Launch{Resume: sessionID})
	if err != nil || !slices.Contains(tb.fake.args, sessionID) {
		t.Errorf("an id: %v", err)
	}
	for _, wrong := range []string{file + "x", "another-id"} {
		_, err := try(t, &fake{}, "", lane.Launch{Resume: wrong})
		wantCode(t, err, agent.CodeSessionOpenFailed, agent.StageResume)
	}
}

func TestOptions(t *testing.T) {
	tb, err := try(t, &fake{}, "", lane.Launch{Options: agent.Options{Model: ptr("large"), Effort: ptr("high")}})
	if err != nil {
		t.Fatal(err)
	}
	if tb.fake.model != "large" || tb.fake.level != "high" {
		t.Errorf("model %q, level %q", tb.fake.model, tb.fake.level)
	}
	_, err = try(t, &fake{}, "", lane.Launch{Options: agent.Options{Model: ptr("mock/none")}})
	wantCode(t, err, agent.CodeModelUnsupported, agent.StageConfiguration)
	_, err = try(t, &fake{}, "", lane.Launch{Options: agent.Options{Effort: ptr("max")}})
	wantCode(t, err, agent.CodeEffortUnsupported, agent.StageConfiguration)

	wantCode(t, tb.conn.CheckTurn(agent.Options{Model: ptr("x/y")}), agent.CodeModelUnsupported, agent.StageTurnConfig)
	if _, err := tb.turn(lane.Turn{Text: lanetest.Echo, Options: agent.Options{Model: ptr("mock/small"), Effort: ptr("off")}}); err != nil {
		t.Fatal(err)
	}
	if tb.fake.model != "small" || tb.fake.level != "off" {
		t.Errorf("after a turn: model %q, level %q", tb.fake.model, tb.fake.level)
	}
	config := map[string][]byte{configEffort: []byte(`"medium"`), configModel: []byte(`"large"`)}
	if err := tb.conn.Configure(tb.ctx, agent.Options{}, config); err != nil || tb.fake.level != "medium" || tb.fake.model != "large" {
		t.Errorf("Configure: %v, level %q", err, tb.fake.level)
	}
	err = tb.conn.Configure(tb.ctx, agent.Options{}, map[string][]byte{"colour": []byte(`"red"`)})
	wantCode(t, err, agent.CodeConfigurationUnavailable, agent.StageConfiguration)
}
