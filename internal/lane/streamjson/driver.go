package streamjson

import (
	"context"
	"slices"
	"strings"

	"dragoman/internal/lane"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
)

// can is what the lane's options serve. The permission is the mode by another
// name.
var can = selector.Support{Model: true, Mode: true, Permission: true}

// A Driver opens sessions of one-shot programs.
type Driver struct{}

type plan struct {
	spec    *agent.Spec
	dialect *dialect
}

// Parse reads dialect; unknown members are errors (lanes.md §11).
func (Driver) Parse(spec *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(spec)
	if !f.Has("dialect") {
		f.Fault("dialect", "is missing")
	}
	name := f.Word("dialect", "gemini", "qwen")
	if err := f.Close(); err != nil {
		return nil, err
	}
	return &plan{spec, dialects[name]}, nil
}

// CheckEnv has nothing to hold.
func (*plan) CheckEnv() error { return nil }

// Check refuses what the program has no flag for.
func (p *plan) Check(o agent.Options, resume string) error {
	if err := can.CheckOpen(o); err != nil {
		return err
	}
	const stage = agent.StageConfiguration
	for code, value := range map[string]*string{agent.CodeModeUnsupported: o.Mode, agent.CodePermissionUnsupported: o.Permission} {
		if value != nil && !slices.Contains(p.dialect.modes, *value) {
			return agent.Fail(code, stage, *value+" is not offered, only "+strings.Join(p.dialect.modes, ", "))
		}
	}
	if o.Mode != nil && o.Permission != nil && *o.Mode != *o.Permission {
		return agent.Fail(agent.CodePermissionUnsupported, stage, "the permission is the mode here, and the mode is "+*o.Mode)
	}
	if o.Model != nil && strings.HasPrefix(*o.Model, "-") {
		return agent.Fail(agent.CodeModelUnsupported, stage, "the model looks like a flag")
	}
	if strings.HasPrefix(resume, "-") {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "the session id to resume looks like a flag")
	}
	return nil
}

// Open starts nothing: each turn has its process.
func (p *plan) Open(_ context.Context, l lane.Launch) (lane.Conn, error) {
	return newConn(p, l), nil
}

// args are the command's own, then the lane's. The prompt comes by stdin.
func (p *plan) args(o agent.Options, native string) []string {
	args := slices.Concat(p.spec.Command.Args, []string{"--output-format", "stream-json"}, p.dialect.flags)
	mode := o.Mode
	if mode == nil {
		mode = o.Permission
	}
	if mode != nil {
		args = append(args, "--approval-mode", *mode)
	}
	if o.Model != nil {
		args = append(args, "--model", *o.Model)
	}
	if native != "" {
		args = append(args, "--resume", native)
	}
	return args
}
