package selector

import (
	"errors"
	"testing"

	"dragoman/wire/agent"
)

func TestCheck(t *testing.T) {
	x, blank := "x", " \t"
	all := agent.Options{Model: &x, Effort: &x, Mode: &x, Permission: &x}
	tests := []struct {
		name string
		can  Support
		o    agent.Options
		code string
	}{
		{"none given", Support{}, agent.Options{}, ""},
		{"all can", Support{true, true, true, true}, all, ""},
		{"model is first", Support{}, all, agent.CodeModelUnsupported},
		{"then effort", Support{Model: true}, all, agent.CodeEffortUnsupported},
		{"then mode", Support{Model: true, Effort: true}, all, agent.CodeModeUnsupported},
		{"then permission", Support{Model: true, Effort: true, Mode: true}, all, agent.CodePermissionUnsupported},
		{"blank", Support{Model: true}, agent.Options{Model: &blank}, agent.CodeModelUnsupported},
		{"blank comes in its turn", Support{Model: true}, agent.Options{Model: &x, Effort: &x, Mode: &blank}, agent.CodeEffortUnsupported},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkError(t, tt.can.CheckOpen(tt.o), tt.code, agent.StageConfiguration)
			checkError(t, tt.can.CheckTurn(tt.o), tt.code, agent.StageTurnConfig)
		})
	}
}

func checkError(t *testing.T, err error, code, stage string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var e *agent.Error
	if !errors.As(err, &e) || e.Code != code || e.Stage != stage || e.Retryable || e.UncertainEffect {
		t.Errorf("error %+v, want %s [%s], no/no", err, code, stage)
	}
}

func TestOverlay(t *testing.T) {
	a, b := "a", "b"
	under := agent.Options{Model: &a, Mode: &a, Permission: &a}
	got := Overlay(under, agent.Options{Mode: &b, Effort: &b, Permission: &b})
	if got.Model != &a || got.Mode != &b || got.Effort != &b || got.Permission != &b || under.Mode != &a {
		t.Errorf("got %+v of %+v", got, under)
	}
}
