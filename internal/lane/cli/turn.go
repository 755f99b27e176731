package cli

import (
	"context"
	"errors"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

const stageTurn = "cli/turn"

// Prompt runs one process for one turn.
func (c *conn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	turn, end, err := c.begin(ctx)
	if err != nil {
		return agent.Outcome{}, err
	}
	defer end()
	out, err := c.turn(turn, t)
	c.lockAfter(err)
	return out, err
}

// lockAfter locks the session after an uncertain error that is no quota.
func (c *conn) lockAfter(err error) {
	var e *agent.Error
	if errors.As(err, &e) && e.UncertainEffect && e.Code != agent.CodeQuotaExhausted {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.locked = true
	}
}

func (c *conn) turn(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	select {
	case <-t.Cancel:
		return agent.Outcome{StopReason: agent.StopCancelled}, nil
	default:
	}
	call, err := c.spec.turnCall(input{
		prompt: t.Text, dir: c.launch.Dir, binding: c.Info().NativeID,
		options: c.turnOptions(t.Options),
	})
	if err != nil {
		return agent.Outcome{}, err
	}
	if c.spec.bindingFileEnv == "" {
		out := c.output(ctx, t.Number)
		end, err := c.run(ctx, call, c.launch.Env, out, t.Cancel)
		if err != nil {
			return agent.Outcome{}, err
		}
		return out.outcome(end)
	}
	return c.receiptTurn(ctx, t, call)
}

func (c *conn) output(ctx context.Context, turn uint64) *output {
	emit := func(ev *agent.Event) { c.launch.Sink.Emit(ctx, ev) }
	return newOutput(c.spec, turn, emit, c.bind)
}

// receiptTurn is a turn whose agent writes a receipt. What is wrong with the
// receipt counts only for a turn that succeeded; its folder stays then.
func (c *conn) receiptTurn(ctx context.Context, t lane.Turn, k call) (agent.Outcome, error) {
	r, err := newReceipt(c.spec.max)
	if err != nil {
		return agent.Outcome{}, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	out := c.output(ctx, t.Number)
	end, err := c.run(ctx, k, r.env(c.launch.Env, c.spec.bindingFileEnv), out, t.Cancel)
	if err != nil {
		r.remove()
		return agent.Outcome{}, err
	}
	outcome, err := out.outcome(end)
	failed := r.read()
	if err == nil && failed != nil && outcome.StopReason == agent.StopEndTurn {
		return agent.Outcome{}, failed
	}
	r.remove()
	if r.id != "" {
		c.bind(r.id)
	}
	if err == nil && c.spec.receiptUsage && r.usage != nil {
		outcome.Usage = r.usage
	}
	return outcome, err
}

// outcome ends the output and says how the turn ended.
func (o *output) outcome(e ending) (agent.Outcome, error) {
	o.finish()
	text := o.final()
	out := agent.Outcome{StopReason: agent.StopEndTurn, Text: text, Truncated: o.truncated, Usage: o.usage}
	switch {
	case e.cancelled || e.closed:
		out.StopReason = agent.StopCancelled
		return out, nil
	case e.failed() && (agent.Quota(e.stderr) || agent.Quota(text)):
		certainty := agent.Certain
		if o.any {
			certainty = agent.Uncertain
		}
		return agent.Outcome{}, agent.FailQuota(stageTurn, e.String(), certainty)
	case e.failed():
		out.StopReason = agent.StopError
	}
	out.ExitCode = e.exitCode()
	return out, nil
}
