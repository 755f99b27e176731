package rpc

import (
	"dragoman/internal/lane/mcp"
	"dragoman/internal/lane/selector"
	holder "dragoman/internal/lane/template"
	"dragoman/wire/agent"
)

// setupCall is the call that makes or resumes the session; nil for none.
func (p *spec) setupCall(resume string) *template {
	switch {
	case p.processScope:
		return nil
	case resume != "":
		return p.sessionResume
	}
	return p.sessionOpen
}

// holds reports whether a placeholder stands in one of calls.
func holds(calls []*template, placeholders ...string) bool {
	for _, c := range calls {
		if c != nil && c.params != nil && holder.JSONHolds(c.params, placeholders...) {
			return true
		}
	}
	return false
}

var modelNames = []string{holder.Model, holder.ModelProvider, holder.ModelID}

func (p *spec) turnCalls() []*template {
	return append([]*template{p.prompt}, p.preTurn...)
}

func (p *spec) turnSupport() selector.Support {
	turn := p.turnCalls()
	return selector.Support{Model: holds(turn, modelNames...), Effort: holds(turn, holder.Effort)}
}

func (p *spec) openSupport(resume string) selector.Support {
	setup := []*template{p.initialize, p.setupCall(resume)}
	turn := p.turnSupport()
	return selector.Support{
		Model:      turn.Model || holds(setup, modelNames...),
		Effort:     turn.Effort || holds(setup, holder.Effort),
		Mode:       holds(setup, holder.Mode),
		Permission: holds(setup, holder.Permission),
	}
}

func (p *spec) resumes() bool { return p.sessionResume != nil || p.processScope }

// Check refuses what the agent can't do, in the order of sidecar.md §2.
func (p *spec) Check(o agent.Options, resume string) error {
	if err := p.openSupport(resume).CheckOpen(o); err != nil {
		return err
	}
	if resume != "" && !p.resumes() {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "this agent can't resume a session")
	}
	_, err := p.servers()
	return err
}

// servers reads the MCP servers.
func (p *spec) servers() ([]mcp.Server, error) {
	if len(p.mcpRaw) == 0 {
		return nil, nil
	}
	if p.mcpConfig == nil {
		return nil, invalidMCP("this agent declares no way to take MCP servers")
	}
	servers, err := mcp.Parse(p.mcpRaw)
	if err == nil {
		err = p.mcpConfig.Check(servers)
	}
	if err != nil {
		return nil, invalidMCP(err.Error())
	}
	return servers, nil
}

func invalidMCP(detail string) *agent.Error {
	return agent.Fail(agent.CodeMCPServerInvalid, agent.StageOpen, detail)
}
