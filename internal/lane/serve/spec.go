package serve

import (
	"context"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
)

// readOnly is the only permission that can be given, by proof.
const readOnly = "read-only"

// Driver is the lane serve.
type Driver struct {
	// Legacy opens a session with a server of the older surface (OpenCode
	// 1.x), which announced itself already. It owns the server's process from
	// then on, also when it fails. Nil refuses such a server.
	Legacy func(ctx context.Context, s LegacyServer) (lane.Conn, error)
}

// A LegacyServer is a running server of the older surface.
type LegacyServer struct {
	Spec   *agent.Spec
	Launch lane.Launch
	// Process is the server. Its stdout is read to its end already.
	Process lane.Process
	// URL is its address, on this machine.
	URL string
	// Servers are the MCP servers of the spec; the environment of the process
	// has them.
	Servers []mcp.Server
}

// spec is a serve spec. Members that it doesn't know are ignored.
type spec struct {
	driver Driver
	spec   *agent.Spec
	mcpRaw [][]byte
}

// Parse reads a serve spec.
func (d Driver) Parse(s *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(s)
	p := &spec{driver: d, spec: s, mcpRaw: f.List("mcpServers")}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// CheckEnv finds nothing: no member of a serve spec touches the policy.
func (p *spec) CheckEnv() error { return nil }

var support = selector.Support{Model: true, Permission: true}

// Check refuses what the agent can't do, in the order of sidecar.md §2. The
// proof of read-only needs the child's whole environment: where the spec
// alone doesn't hold it, Open decides before it starts anything.
func (p *spec) Check(o agent.Options, resume string) error {
	if err := support.CheckOpen(o); err != nil {
		return err
	}
	if o.Permission != nil && *o.Permission != readOnly {
		return noProof("the only permission of this agent is " + readOnly)
	}
	err := p.checkRest(resume)
	if err != nil && o.Permission != nil && !readOnlyProof(p.literalConfig()) {
		return noProof(unproven)
	}
	return err
}

func (p *spec) checkRest(resume string) error {
	if resume != "" {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "this agent can't resume a session")
	}
	_, err := p.servers()
	return err
}

const unproven = configName + " doesn't prove that the agent only reads"

func noProof(detail string) *agent.Error {
	return agent.Fail(agent.CodePermissionUnsupported, agent.StageConfiguration, detail)
}

// servers reads the MCP servers.
func (p *spec) servers() ([]mcp.Server, error) {
	servers, err := mcp.Parse(p.mcpRaw)
	if err != nil {
		return nil, invalidMCP(err)
	}
	return servers, nil
}

func invalidMCP(err error) *agent.Error {
	return agent.Fail(agent.CodeMCPServerInvalid, agent.StageOpen, err.Error())
}

// literalConfig is the configuration that the spec itself sets.
func (p *spec) literalConfig() []byte {
	for _, s := range p.spec.Command.Env.Set {
		if s.Name == configName && s.Source == agent.EnvLiteral {
			return []byte(s.Value)
		}
	}
	return nil
}
