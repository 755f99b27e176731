// Package envelope is the lane of agents that speak agent protocol v1
// (lanes.md §10): one process a session, a turn is a request.
//
// # Goroutines
//
// The host's reading goroutine takes every event in the agent's order and
// emits it; a turn's state is its alone. Each permission question waits on a
// goroutine that ends with its turn, and each answer to one on a goroutine
// that ends with the session at the latest.
package envelope

import (
	"context"

	"dragoman/internal/lane"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
	"dragoman/wire/envelope"
)

// The defaults of a spec (lanes.md §10, §11).
const (
	defaultOperation  = "agent.prompt"
	defaultClientName = "dragoman"
)

// What follows a prompt operation's name in those that go with it.
const (
	permitSuffix = ".permit"
	modelSuffix  = ".model"
	effortSuffix = ".effort"
)

// A Driver opens agents of the envelope protocol.
type Driver struct {
	// Version of ours, for the hello.
	Version string
}

// plan is a parsed spec.
type plan struct {
	spec      *agent.Spec
	operation string
	grants    []string
	// implementation is our name in the hello.
	implementation string
}

// Parse reads operation and grants; unknown members are errors (lanes.md
// §11). Without grants, the operation and those that go with it are granted.
func (d Driver) Parse(spec *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(spec)
	p := &plan{spec: spec, operation: defaultOperation, implementation: clientName(spec) + " " + d.Version}
	if name, ok := f.StrOK("operation"); ok {
		p.operation = name
		if !envelope.ValidCapability(name) {
			f.Fault("operation", "is no capability")
		}
	}
	p.grants = []string{p.operation, p.operation + permitSuffix, p.operation + modelSuffix, p.operation + effortSuffix}
	if f.Has("grants") {
		p.grants = with(p.operation, f.Strings("grants"))
	}
	for _, g := range p.grants {
		if !envelope.ValidCapability(g) {
			f.Fault("grants", "holds what is no capability")
		}
	}
	if len(p.grants) > envelope.DefaultCapabilities {
		f.Fault("grants", "has too many elements")
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return p, nil
}

func clientName(spec *agent.Spec) string {
	if spec.ClientName != "" {
		return spec.ClientName
	}
	return defaultClientName
}

// with is the list without repetitions, operation in it: a session that may
// not be prompted would be none.
func with(operation string, list []string) []string {
	seen := map[string]bool{operation: true}
	grants := []string{operation}
	for _, g := range list {
		if !seen[g] {
			seen[g] = true
			grants = append(grants, g)
		}
	}
	return grants
}

// CheckEnv has nothing to hold.
func (*plan) CheckEnv() error { return nil }

// Check refuses mode, permission and resume. Whether the agent takes a model
// or an effort is known only after its hello.
func (*plan) Check(o agent.Options, resume string) error {
	if err := (selector.Support{Model: true, Effort: true}).CheckOpen(o); err != nil {
		return err
	}
	if resume != "" {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageResume, "an envelope agent has no sessions to resume")
	}
	return nil
}

// Open starts the agent and waits for its hello.
func (p *plan) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	if limit := l.OpenTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	c := &conn{plan: p, l: l}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	if err := c.support().CheckOpen(l.Options); err != nil {
		c.giveUp(ctx)
		return nil, err
	}
	return c, nil
}
