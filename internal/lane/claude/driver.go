package claude

import (
	"context"
	"slices"
	"strings"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
)

// The permission modes and efforts that Claude Code 2.1 has.
var (
	modes   = []string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"}
	efforts = []string{"low", "medium", "high", "xhigh", "max"}
)

// can is what the lane's options serve. The permission is the mode by another
// name.
var can = selector.Support{Model: true, Effort: true, Mode: true, Permission: true}

// A Driver opens Claude Code.
type Driver struct{}

// plan is a parsed spec.
type plan struct {
	spec *agent.Spec
	// mode is permissionMode, "" for the agent's own.
	mode      string
	servers   []mcp.Server
	serverErr error
}

// Parse reads permissionMode and mcpServers; unknown members are errors
// (lanes.md §11).
func (Driver) Parse(spec *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(spec)
	p := &plan{spec: spec}
	if mode, ok := f.StrOK("permissionMode"); ok {
		p.mode = mode
		if !slices.Contains(modes, mode) {
			f.Fault("permissionMode", "must be one of "+strings.Join(modes, ", "))
		}
	}
	p.servers, p.serverErr = mcp.Parse(f.List("mcpServers"))
	if err := f.Close(); err != nil {
		return nil, err
	}
	return p, nil
}

// CheckEnv has nothing to hold.
func (*plan) CheckEnv() error { return nil }

// Check refuses values that Claude Code doesn't have, and malformed MCP
// servers.
func (p *plan) Check(o agent.Options, resume string) error {
	if err := can.CheckOpen(o); err != nil {
		return err
	}
	if err := offered(o, agent.StageConfiguration); err != nil {
		return err
	}
	if strings.HasPrefix(resume, "-") {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "the session id to resume looks like a flag")
	}
	if p.serverErr != nil {
		return agent.Fail(agent.CodeMCPServerInvalid, agent.StageOpen, p.serverErr.Error())
	}
	return nil
}

// offered refuses unknown efforts and modes, and a mode and a permission that
// contradict each other.
func offered(o agent.Options, stage string) error {
	rows := []struct {
		name, code string
		value      *string
		values     []string
	}{
		{"effort", agent.CodeEffortUnsupported, o.Effort, efforts},
		{"mode", agent.CodeModeUnsupported, o.Mode, modes},
		{"permission", agent.CodePermissionUnsupported, o.Permission, modes},
	}
	for _, r := range rows {
		if r.value != nil && !slices.Contains(r.values, *r.value) {
			return agent.Fail(r.code, stage, "the "+r.name+" "+*r.value+" is not offered, only "+strings.Join(r.values, ", "))
		}
	}
	if o.Mode != nil && o.Permission != nil && *o.Mode != *o.Permission {
		return agent.Fail(agent.CodePermissionUnsupported, stage, "the permission is the mode here, and the mode is "+*o.Mode)
	}
	return nil
}

// modeOf is the permission mode that o asks for, "" for none.
func modeOf(o agent.Options) string {
	switch {
	case o.Mode != nil:
		return *o.Mode
	case o.Permission != nil:
		return *o.Permission
	}
	return ""
}

// Open starts Claude Code, greets it and applies the options.
func (p *plan) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	config, err := writeServers(p.servers)
	if err != nil {
		return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	process, err := l.Starter.Start(ctx, lane.Command{
		Program: p.spec.Command.Program, Args: p.args(l, config.path()), Dir: l.Dir, Env: l.Env,
		SecretValues: mcp.Secrets(p.servers),
	})
	if err != nil {
		config.remove()
		return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	c := newConn(p, l, process, config)
	if err := c.open(ctx); err != nil {
		if closing := c.Close(context.WithoutCancel(ctx)); closing != nil {
			c.log().Error("agent not ended after a failed open", "error", closing)
		}
		return nil, err
	}
	return c, nil
}

// args are the command's own, then the lane's.
func (p *plan) args(l lane.Launch, config string) []string {
	args := slices.Concat(p.spec.Command.Args, []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--include-partial-messages",
	})
	if p.mode != "" {
		args = append(args, "--permission-mode", p.mode)
	}
	if l.Options.Effort != nil {
		args = append(args, "--effort", *l.Options.Effort)
	}
	if config != "" {
		args = append(args, "--mcp-config", config)
	}
	if id, fork := splitResume(l.Resume); id != "" {
		args = append(args, "--resume", id)
		if fork {
			args = append(args, "--fork-session")
		}
	}
	return args
}

// forkMark stands before the id of a session of which a resume makes a copy.
const forkMark = "fork:"

// splitResume reads what [conn.Fork] made.
func splitResume(resume string) (id string, fork bool) {
	return strings.CutPrefix(resume, forkMark)
}
