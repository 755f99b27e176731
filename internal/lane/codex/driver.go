package codex

import (
	"context"
	"slices"
	"strings"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
)

// The values of Codex's selectors: the mode is the approval policy, the
// permission the sandbox (docs/decisions/085).
var (
	policies  = []string{"untrusted", "on-request", "never"}
	sandboxes = []string{"read-only", "workspace-write", "danger-full-access"}
	efforts   = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}
)

const defaultClientName = "dragoman"

// The modes of a spec.
const (
	modeServer = "app-server"
	modeExec   = "exec"
)

// policyNever is the one policy that exec has.
const policyNever = "never"

// A Driver opens Codex. Its sessions share app-servers.
type Driver struct {
	version string
	pool    *pool
}

// New returns a Driver that greets with our version.
func New(version string) Driver { return Driver{version, newPool()} }

// plan is a parsed spec.
type plan struct {
	driver Driver
	spec   *agent.Spec
	exec   bool
	// policy and sandbox are "" for the agent's own.
	policy, sandbox string
	// config is what overrides the agent's configuration.
	config    []agent.Pair
	servers   []mcp.Server
	serverErr error
}

// Parse reads mode, approvalPolicy, sandbox, config and mcpServers; unknown
// members are errors (lanes.md §11).
func (d Driver) Parse(spec *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(spec)
	p := &plan{driver: d, spec: spec, exec: f.Word("mode", modeServer, modeExec) == modeExec}
	p.policy = oneOf(f, "approvalPolicy", policies)
	p.sandbox = oneOf(f, "sandbox", sandboxes)
	if p.exec && p.policy != "" && p.policy != policyNever {
		f.Fault("approvalPolicy", "must be never in mode exec, which can't ask")
	}
	p.config = f.Pairs("config")
	p.servers, p.serverErr = mcp.Parse(f.List("mcpServers"))
	if err := f.Close(); err != nil {
		return nil, err
	}
	return p, nil
}

func oneOf(f *agent.Fields, name string, words []string) string {
	value, ok := f.StrOK(name)
	if ok && !slices.Contains(words, value) {
		f.Fault(name, "must be one of "+strings.Join(words, ", "))
	}
	return value
}

// CheckEnv has nothing to hold.
func (*plan) CheckEnv() error { return nil }

// support is what the options serve.
func (p *plan) support() selector.Support {
	return selector.Support{Model: true, Effort: true, Mode: !p.exec, Permission: true}
}

// Check refuses values that Codex doesn't have, and MCP servers that it can't
// reach.
func (p *plan) Check(o agent.Options, resume string) error {
	if err := p.support().CheckOpen(o); err != nil {
		return err
	}
	if err := offered(o, agent.StageConfiguration); err != nil {
		return err
	}
	if strings.HasPrefix(resume, "-") {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "the session id to resume looks like a flag")
	}
	if err := p.checkServers(); err != nil {
		return agent.Fail(agent.CodeMCPServerInvalid, agent.StageOpen, err.Error())
	}
	return nil
}

// offered refuses unknown efforts, modes and permissions.
func offered(o agent.Options, stage string) error {
	rows := []struct {
		name, code string
		value      *string
		values     []string
	}{
		{"effort", agent.CodeEffortUnsupported, o.Effort, efforts},
		{"mode", agent.CodeModeUnsupported, o.Mode, policies},
		{"permission", agent.CodePermissionUnsupported, o.Permission, sandboxes},
	}
	for _, r := range rows {
		if r.value != nil && !slices.Contains(r.values, *r.value) {
			return agent.Fail(r.code, stage, "the "+r.name+" "+*r.value+" is not offered, only "+strings.Join(r.values, ", "))
		}
	}
	return nil
}

// Open opens a thread of an app-server, or makes ready for exec.
func (p *plan) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	if p.exec {
		return p.openExec(l)
	}
	return p.openThread(ctx, l)
}

// chosen are the options over the spec's own approval policy and sandbox.
func (p *plan) chosen(o agent.Options) agent.Options {
	var own agent.Options
	if p.policy != "" {
		own.Mode = &p.policy
	}
	if p.sandbox != "" {
		own.Permission = &p.sandbox
	}
	return selector.Overlay(own, o)
}

func (p *plan) clientName() string {
	if p.spec.ClientName != "" {
		return p.spec.ClientName
	}
	return defaultClientName
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
