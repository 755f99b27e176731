package cli

import (
	"slices"

	"dragoman/wire/agent"
)

// Check refuses what the agent can't do, in the order of sidecar.md §2.
func (p *spec) Check(o agent.Options, resume string) error {
	if err := p.checkOptions(o); err != nil {
		return err
	}
	if resume != "" && !p.resumes() {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "this agent can't resume a session")
	}
	if p.mcpServers > 0 {
		return agent.Fail(agent.CodeMCPServerInvalid, agent.StageOpen, "a cli agent takes no MCP servers")
	}
	return nil
}

// checkOptions refuses a session's options.
func (p *spec) checkOptions(o agent.Options) error {
	if err := p.support().CheckOpen(o); err != nil {
		return err
	}
	return p.allowed(agent.StageConfiguration, o)
}

// checkTurn refuses a turn's selectors.
func (p *spec) checkTurn(o agent.Options) error {
	o = agent.Options{Model: o.Model, Effort: o.Effort}
	if err := p.support().CheckTurn(o); err != nil {
		return err
	}
	return p.allowed(agent.StageTurnConfig, o)
}

// allowed holds the allow-lists; an empty one allows all.
func (p *spec) allowed(stage string, o agent.Options) error {
	lists := []struct {
		name, code string
		value      *string
		list       []string
	}{
		{"effort", agent.CodeEffortUnsupported, o.Effort, p.effortSuffixes},
		{"mode", agent.CodeModeUnsupported, o.Mode, p.modes},
		{"permission", agent.CodePermissionUnsupported, o.Permission, p.permissions},
	}
	for _, l := range lists {
		if l.value != nil && len(l.list) > 0 && !slices.Contains(l.list, *l.value) {
			return agent.Fail(l.code, stage, "this agent doesn't list that "+l.name)
		}
	}
	return nil
}
