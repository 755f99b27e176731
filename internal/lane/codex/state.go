package codex

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"dragoman/internal/lane/selector"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// state is what the session has chosen and what it can choose.
type state struct {
	// options are those asked for; nil members are the agent's own.
	options agent.Options
	// model, effort and policy are what the agent says; moved that a turn
	// had others of its own, which the agent keeps.
	model, effort, policy string
	moved                 bool
	models                []modelEntry
}

// The members of sessionState, in ACP's shape (lanes.md §11).
type (
	modelEntry struct {
		ID          string `json:"modelId"`
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
	}
	modelState struct {
		Current   string       `json:"currentModelId"`
		Available []modelEntry `json:"availableModels"`
	}
	modeEntry struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	modeState struct {
		Current   string      `json:"currentModeId"`
		Available []modeEntry `json:"availableModes"`
	}
	sessionState struct {
		Modes  *modeState  `json:"modes,omitzero"`
		Models *modelState `json:"models,omitzero"`
	}
)

// take reads the answer to a thread's start.
func (s *state) take(result acp.Object) {
	s.model, s.effort, s.policy = result.Str("model"), result.Str("reasoningEffort"), result.Str("approvalPolicy")
}

// json is the sessionState.
func (s *state) json() []byte {
	var out sessionState
	policy := s.policy
	if s.options.Mode != nil {
		policy = *s.options.Mode
	}
	if policy != "" {
		out.Modes = &modeState{Current: policy}
		for _, p := range policies {
			out.Modes.Available = append(out.Modes.Available, modeEntry{p, p})
		}
	}
	model := s.model
	if s.options.Model != nil {
		model = *s.options.Model
	}
	if len(s.models) > 0 && model != "" {
		out.Models = &modelState{model, s.models}
		if !slices.ContainsFunc(s.models, func(m modelEntry) bool { return m.ID == model }) {
			out.Models.Available = append([]modelEntry{{ID: model, Name: model}}, s.models...)
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return []byte("{}")
	}
	return b
}

// readModels reads an answer to model/list.
func readModels(result acp.Object) []modelEntry {
	list, _ := result.List("data")
	var models []modelEntry
	for _, item := range list {
		o := acp.AsObject(item)
		m := modelEntry{ID: o.Str("model"), Name: o.Str("displayName"), Description: o.Str("description")}
		if m.ID == "" {
			m.ID = o.Str("id")
		}
		if m.Name == "" {
			m.Name = m.ID
		}
		if m.ID != "" && !o.True("hidden") {
			models = append(models, m)
		}
	}
	return models
}

// turnOptions are what a turn sends: its own options over the session's, and
// the agent's first ones again where an earlier turn had others.
func (s *state) turnOptions(own agent.Options) agent.Options {
	o := selector.Overlay(s.options, own)
	if o.Model == nil && s.moved && s.model != "" {
		o.Model = &s.model
	}
	if o.Effort == nil && s.moved && s.effort != "" {
		o.Effort = &s.effort
	}
	s.moved = s.moved || own.Model != nil || own.Effort != nil
	return o
}

// CheckTurn refuses a turn's selectors.
func (c *conn) CheckTurn(o agent.Options) error {
	if err := c.plan.support().CheckTurn(o); err != nil {
		return err
	}
	return offered(o, agent.StageTurnConfig)
}

// Configure changes the options of the turns that follow; config knows model,
// effort, mode and permission.
func (c *conn) Configure(_ context.Context, o agent.Options, config map[string][]byte) error {
	if err := fold(&o, config); err != nil {
		return err
	}
	if err := c.plan.support().CheckOpen(o); err != nil {
		return err
	}
	if err := offered(o, agent.StageConfiguration); err != nil {
		return err
	}
	c.mu.Lock()
	c.state.options = selector.Overlay(c.state.options, o)
	c.mu.Unlock()
	c.l.Sink.Changed()
	return nil
}

// fold puts config values into the options.
func fold(o *agent.Options, config map[string][]byte) error {
	to := map[string]**string{"model": &o.Model, "effort": &o.Effort, "mode": &o.Mode, "permission": &o.Permission}
	for id, value := range config {
		word, ok := acp.Text(value)
		if !ok || to[id] == nil {
			return agent.Fail(agent.CodeConfigurationUnavailable, agent.StageConfiguration,
				fmt.Sprintf("there is no config option %s that takes %s", id, value))
		}
		*to[id] = &word
	}
	return nil
}

// policyType is a sandbox's type in the agent's long form; "" for "".
func policyType(sandbox string) string {
	return map[string]string{
		"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess",
	}[sandbox]
}
