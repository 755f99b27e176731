// Package acp is the lane of agents that speak the Agent Client Protocol,
// version 1, over stdio (sidecar.md §5, lanes.md §3). It keeps one agent
// process a session.
//
// # Goroutines
//
// A connection has one reading goroutine: it takes every message in the
// agent's order and emits every event, so what only it touches needs no lock.
// Prompt, CheckTurn, Configure and Close run on their callers' goroutines and
// share what stands under conn.mu. Each permission question waits on a
// goroutine of the peer, which ends with its turn.
package acp

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/internal/redact"
	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
)

// defaultClientName goes to agents whose spec has no clientName.
const defaultClientName = "dragoman"

// A Driver opens ACP agents.
type Driver struct {
	// Version of ours, for the agent's client info.
	Version string
}

// plan is a parsed spec.
type plan struct {
	spec       *agent.Spec
	version    string
	preferLoad bool
	// enforced is the permission that the host vouches for, nil for none.
	enforced *string
	authKey  *authKey
	servers  []jsontext.Value
	// serverErr is why the MCP servers can't be used.
	serverErr error
}

// An authKey says where the key for authenticate comes from.
type authKey struct {
	source agent.EnvSource
	name   string
}

// Parse reads mcp_servers, prefer_load, auth_key and enforced_permission;
// other members are ignored (sidecar.md §4).
func (d Driver) Parse(spec *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(spec)
	p := &plan{spec: spec, version: d.Version, preferLoad: f.Bool("preferLoad")}
	if s, ok := f.StrOK("enforcedPermission"); ok {
		p.enforced = &s
	}
	if raw := f.Raw("authKey"); raw != nil {
		source, name, ok := agent.ParseEnvValue(raw)
		if !ok || source == agent.EnvLiteral {
			f.Fault("authKey", "must be a hostEnv or a secret")
		}
		p.authKey = &authKey{source: source, name: name}
	}
	p.servers, p.serverErr = wire.ReadMCPServers(f.List("mcpServers"))
	if err := f.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// CheckEnv refuses an auth_key that would hand out more of the host's
// environment than the policy does (sidecar.md §4).
func (p *plan) CheckEnv() error {
	if p.authKey == nil {
		return nil
	}
	if p.authKey.source != agent.EnvHost {
		return agent.BadSpec("auth_key: a secret is not available here")
	}
	policy, name := &p.spec.Command.Env, p.authKey.name
	if set, ok := p.setting(name); ok {
		if set.Source == agent.EnvLiteral && set.Value != "" {
			return nil
		}
		return agent.BadSpec("auth_key: set has " + name + ", but not as a text")
	}
	if policy.InheritAll || slices.Contains(policy.Inherit, name) {
		return nil
	}
	return agent.BadSpec("auth_key: the environment policy doesn't pass " + name)
}

// setting is what the policy sets a variable to; the last one counts.
func (p *plan) setting(name string) (agent.EnvSetting, bool) {
	for _, set := range slices.Backward(p.spec.Command.Env.Set) {
		if set.Name == name {
			return set, true
		}
	}
	return agent.EnvSetting{}, false
}

// key is the value of the auth key, "" where there is none.
func (p *plan) key(env []string) string {
	if p.authKey == nil {
		return ""
	}
	if set, ok := p.setting(p.authKey.name); ok {
		return set.Value
	}
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, p.authKey.name+"="); ok {
			return value
		}
	}
	return ""
}

// Check refuses blank options and malformed MCP servers. What the agent
// offers is known only after initialize.
func (p *plan) Check(o agent.Options, _ string) error {
	for _, option := range []struct {
		value *string
		code  string
	}{
		{o.Model, agent.CodeModelUnsupported},
		{o.Effort, agent.CodeEffortUnsupported},
		{o.Mode, agent.CodeModeUnsupported},
		{o.Permission, agent.CodePermissionUnsupported},
	} {
		if option.value != nil && strings.TrimSpace(*option.value) == "" {
			return agent.Fail(option.code, agent.StageConfiguration, "the value is blank")
		}
	}
	if p.serverErr != nil {
		return agent.Fail(agent.CodeMCPServerInvalid, wire.MethodNew, p.serverErr.Error())
	}
	return nil
}

// Open starts the agent and sets the session up.
func (p *plan) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	key := p.key(l.Env)
	secrets := redact.Secrets(l.Env)
	if key != "" {
		secrets = append(secrets, key)
	}
	process, err := l.Starter.Start(ctx, lane.Command{
		Program: p.spec.Command.Program, Args: p.spec.Command.Args, Dir: l.Dir, Env: l.Env,
		SecretValues: secrets,
	})
	if err != nil {
		return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	c := newConn(p, l, process)
	c.key, c.secrets = key, secrets
	if err := c.open(ctx); err != nil {
		if endErr := c.Close(context.WithoutCancel(ctx)); endErr != nil {
			c.log().Error("agent not ended after a failed open", "error", endErr)
		}
		return nil, err
	}
	return c, nil
}
