package pi

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/internal/lane"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
)

// efforts are pi's thinking levels. A model may have fewer.
var efforts = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

var can = selector.Support{Model: true, Effort: true}

// A Driver opens pi.
type Driver struct{}

// plan is a parsed spec.
type plan struct {
	spec *agent.Spec
	gate bool
}

// Parse reads gate; unknown members are errors (lanes.md §11).
func (Driver) Parse(spec *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(spec)
	p := &plan{spec: spec, gate: f.BoolOr("gate", true)}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return p, nil
}

// CheckEnv has nothing to hold.
func (*plan) CheckEnv() error { return nil }

// Check refuses efforts that pi doesn't have, and what can't be a session.
func (p *plan) Check(o agent.Options, resume string) error {
	if err := can.CheckOpen(o); err != nil {
		return err
	}
	if err := checkEffort(o.Effort, efforts, agent.StageConfiguration); err != nil {
		return err
	}
	if strings.HasPrefix(resume, "-") {
		return agent.Fail(agent.CodeResumeUnsupported, agent.StageOpen, "the session id to resume looks like a flag")
	}
	return nil
}

// checkEffort refuses an effort that isn't offered.
func checkEffort(effort *string, offered []string, stage string) error {
	if effort == nil || slices.Contains(offered, *effort) {
		return nil
	}
	return agent.Fail(agent.CodeEffortUnsupported, stage, "the effort "+*effort+" is not offered, only "+strings.Join(offered, ", "))
}

// Open starts pi with the gate, loads the session to resume and applies the
// options.
func (p *plan) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	var gate gateFile
	if p.gate {
		var err error
		if gate, err = writeGate(); err != nil {
			return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
		}
	}
	process, err := l.Starter.Start(ctx, lane.Command{
		Program: p.spec.Command.Program, Args: p.args(l.Resume, gate.path()), Dir: l.Dir, Env: l.Env,
	})
	if err != nil {
		gate.remove()
		return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	c := newConn(p, l, process, gate)
	if err := c.open(ctx); err != nil {
		if closing := c.Close(context.WithoutCancel(ctx)); closing != nil {
			c.log().Error("agent not ended after a failed open", "error", closing)
		}
		return nil, err
	}
	return c, nil
}

// args are the command's own, then the lane's. A session file is switched to
// once pi runs (see [conn.resume]); an id can only be given here.
func (p *plan) args(resume, gate string) []string {
	args := slices.Concat(p.spec.Command.Args, []string{"--mode", "rpc"})
	if gate != "" {
		args = append(args, "-e", gate)
	}
	if resume != "" && !isFile(resume) {
		args = append(args, "--session", resume)
	}
	return args
}

// isFile reports whether a native id is a session file, as ours are
// (docs/decisions/088).
func isFile(id string) bool { return filepath.IsAbs(id) }
