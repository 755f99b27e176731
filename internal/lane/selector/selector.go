// Package selector refuses the options that a lane can't apply, in the order
// that every lane keeps (sidecar.md §2, "Options").
package selector

import (
	"strings"

	"dragoman/wire/agent"
)

// Support says which selectors a lane can apply.
type Support struct{ Model, Effort, Mode, Permission bool }

// CheckOpen refuses a session's options.
func (s Support) CheckOpen(o agent.Options) error {
	return s.check(agent.StageConfiguration, o)
}

// CheckTurn refuses a turn's options.
func (s Support) CheckTurn(o agent.Options) error {
	return s.check(agent.StageTurnConfig, o)
}

func (s Support) check(stage string, o agent.Options) error {
	rows := []struct {
		name, code string
		value      *string
		can        bool
	}{
		{"model", agent.CodeModelUnsupported, o.Model, s.Model},
		{"effort", agent.CodeEffortUnsupported, o.Effort, s.Effort},
		{"mode", agent.CodeModeUnsupported, o.Mode, s.Mode},
		{"permission", agent.CodePermissionUnsupported, o.Permission, s.Permission},
	}
	for _, r := range rows {
		switch {
		case r.value == nil:
		case !r.can:
			return agent.Fail(r.code, stage, "this agent takes no "+r.name)
		case strings.TrimSpace(*r.value) == "":
			return agent.Fail(r.code, stage, "the "+r.name+" is blank")
		}
	}
	return nil
}

// Overlay returns under with those options of over that are given.
func Overlay(under, over agent.Options) agent.Options {
	pairs := []struct {
		to   **string
		from *string
	}{
		{&under.Model, over.Model}, {&under.Effort, over.Effort}, {&under.Mode, over.Mode}, {&under.Permission, over.Permission},
	}
	for _, p := range pairs {
		if p.from != nil {
			*p.to = p.from
		}
	}
	return under
}
