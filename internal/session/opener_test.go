package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/env"
	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// stepDriver fails at the steps that the spec's id names.
type stepDriver struct{}

func (stepDriver) Parse(s *agent.Spec) (lane.Plan, error) {
	if strings.Contains(s.ID, "parse") {
		return nil, agent.BadSpec("parse")
	}
	return stepPlan{s.ID}, nil
}

type stepPlan struct{ id string }

func (p stepPlan) CheckEnv() error {
	if strings.Contains(p.id, "env") {
		return agent.BadSpec("lane env")
	}
	return nil
}

func (p stepPlan) Check(_ agent.Options, resume string) error {
	if strings.Contains(p.id, "check") || resume != "" {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "no resume: "+resume)
	}
	return nil
}

func (p stepPlan) Open(_ context.Context, l lane.Launch) (lane.Conn, error) {
	_, err := l.Starter.Start(context.Background(), lane.Command{})
	return nil, err
}

// secretStarter fails with the secrets that it was given.
type secretStarter struct{}

func (secretStarter) Start(_ context.Context, c lane.Command) (lane.Process, error) {
	return nil, errors.New(strings.Join(c.SecretValues, ","))
}

type onePreset struct{}

func (onePreset) Fill(spec []byte) ([]byte, bool, error) {
	switch {
	case strings.Contains(string(spec), "known"):
		return []byte(`{"id":"known","lane":"step","command":{"program":"p"}}`), true, nil
	case strings.Contains(string(spec), "broken"):
		return nil, false, errors.New("broken preset")
	}
	return nil, false, nil
}

func newOpener() *Opener {
	return &Opener{
		Drivers: map[string]lane.Driver{"step": stepDriver{}}, Presets: onePreset{},
		HostEnv: []string{"PATH=/bin", "API_TOKEN=sekrit-value-1"}, TempDir: os.TempDir(), Starter: secretStarter{},
	}
}

func spec(id, policy string) []byte {
	return []byte(`{"id":"` + id + `","lane":"step","command":{"program":"p","env":` + policy + `}}`)
}

func TestOrderOfChecks(t *testing.T) {
	const refused, missing = `{"inheritAll":{}}`, `{"sanitized":{"set":{"A":{"hostEnv":"XDG_RUNTIME_DIR"}}}}`
	tests := []struct {
		name string
		r    Request
		want string
	}{
		{"no spec", Request{}, "must be an object"},
		{"unknown lane", Request{Spec: []byte(`{"id":"x","lane":"nope","command":{"program":"p"}}`)}, "lane nope is not known"},
		{"spec before policy", Request{Spec: spec("parse env check", refused)}, "parse"},
		{"policy before the lane's part", Request{Spec: spec("env check", refused)}, "inheritAll needs"},
		{"the lane's part before options", Request{Spec: spec("env check", missing)}, "lane env"},
		{"options before the environment", Request{Spec: spec("check", missing)}, "no resume"},
		{"environment before the folder", Request{Spec: spec("x", missing), Cwd: "rel"}, agent.CodeEnvSourceUnavailable},
		{"relative folder", Request{Spec: spec("x", "null"), Cwd: "rel"}, "rel: it is not absolute"},
		{"missing folder", Request{Spec: spec("x", "null"), Cwd: "/nonexistent/dir"}, "it does not exist"},
		{"resume", Request{Spec: spec("x", "null"), Resume: "r"}, "no resume: r"},
		{"unknown preset", Request{Spec: []byte(`{"id":"nobody"}`)}, "nobody is no preset"},
		{"broken preset", Request{Spec: []byte(`{"id":"broken"}`)}, "broken preset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newOpener().Prepare(tt.r)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// StartsLate is what the spec's id says.
func (p stepPlan) StartsLate() bool { return strings.Contains(p.id, "late") }

// TestLatePlan: a plan that starts nothing at open is told what is wrong with
// the environment, and tells it when something starts.
func TestLatePlan(t *testing.T) {
	missing := spec("late", `{"sanitized":{"set":{"A":{"hostEnv":"XDG_RUNTIME_DIR"}}}}`)
	p, err := newOpener().Prepare(Request{Spec: missing})
	if err != nil {
		t.Fatal(err)
	}
	var e *agent.Error
	if !errors.As(p.launch.EnvError, &e) || e.Code != agent.CodeEnvSourceUnavailable {
		t.Errorf("the launch's error is %v", p.launch.EnvError)
	}
	if p, err := newOpener().Prepare(Request{Spec: spec("late", "null")}); err != nil || p.launch.EnvError != nil {
		t.Errorf("without a fault: %v, %+v", err, p)
	}
}

func TestFolderThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newOpener().Prepare(Request{Spec: spec("x", "null"), Cwd: file})
	wantCode(t, err, agent.CodeProcessStartFailed, agent.StageProcessStart, agent.FlagsFinal)
}

func TestPreparedLaunch(t *testing.T) {
	o := newOpener()
	dir := t.TempDir()
	p, err := o.Prepare(Request{Spec: []byte(`{"id":"known"}`), Resume: "  ", Cwd: dir, Env: []string{"X=1"}})
	if err != nil {
		t.Fatal(err)
	}
	if p.launch.Dir != dir || p.launch.Resume != "" || p.launch.ConnectTimeout != DefaultConnectTimeout || p.launch.OpenTimeout != DefaultOpenTimeout {
		t.Errorf("got %+v", p.launch)
	}
	if got := strings.Join(p.launch.Env, " "); got != "PATH=/bin TERM=dumb NO_COLOR=1 X=1" {
		t.Errorf("environment %q", got)
	}
	p, err = o.Prepare(Request{Spec: []byte(`{"id":"known"}`)})
	if err != nil || p.launch.Dir != os.TempDir() {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestSecretsOfTheEnvironmentReachTheStarter(t *testing.T) {
	o := newOpener()
	o.Trust = env.TrustHostEnv
	p, err := o.Prepare(Request{Spec: spec("x", `"inheritAll"`)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Open(t.Context(), Config{Host: &fakeHost{}})
	wantCode(t, err, agent.CodeProtocolFailed, agent.StageOpen, agent.FlagsBroken)
	if !strings.Contains(err.Error(), "sekrit-value-1") {
		t.Errorf("got %v", err)
	}
}
