package codex

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
	"dragoman/internal/lane/selector"
	"dragoman/wire/agent"
)

// execConn is a session of `codex exec`: one process a turn.
type execConn struct {
	plan *plan
	l    lane.Launch
	env  []string
	log  *slog.Logger
	// life ends when Close begins; turn holds the running Prompt's token.
	life context.Context
	end  context.CancelFunc
	turn chan struct{}

	mu     sync.Mutex
	thread string
	// totals are what the thread has counted so far, the running Prompt's; known
	// is false while that isn't known, after a resume.
	totals count
	known  bool
	// left is a process that couldn't be ended.
	left lane.Process
}

// openExec starts nothing: exec has no session without a turn.
func (p *plan) openExec(l lane.Launch) (lane.Conn, error) {
	env, err := mcp.AddEnv(l.Env, p.servers)
	if err != nil {
		return nil, agent.Fail(agent.CodeMCPServerInvalid, agent.StageOpen, err.Error())
	}
	c := &execConn{plan: p, l: l, env: env, log: logger(l), turn: make(chan struct{}, 1), thread: l.Resume, known: l.Resume == ""}
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Info is what the last turn told.
func (c *execConn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	can := c.plan.support()
	return lane.Info{
		NativeID: c.thread, AgentName: agentName, State: []byte("{}"), TextInChunks: true,
		Capabilities: lane.Capabilities{
			Streaming: true, Cancellation: true, SessionResume: true,
			Model: can.Model, Mode: can.Mode, Effort: can.Effort, Permission: can.Permission, Usage: true,
		},
	}
}

// CheckTurn refuses a turn's selectors.
func (c *execConn) CheckTurn(o agent.Options) error {
	if err := c.plan.support().CheckTurn(o); err != nil {
		return err
	}
	return offered(o, agent.StageTurnConfig)
}

// Close ends the running turn's process, with all that it started.
func (c *execConn) Close(ctx context.Context) error {
	c.end()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, ctx.Err().Error())
	}
	if c.left != nil {
		if err := c.left.End(ctx); err != nil {
			return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err.Error())
		}
		c.left = nil
	}
	return nil
}

// args are the command's own, then the lane's. The prompt is the last one, or
// "-" for one that comes by stdin.
func (c *execConn) args(own agent.Options, prompt string) []string {
	args := slices.Concat(c.plan.spec.Command.Args, []string{"exec"})
	c.mu.Lock()
	thread := c.thread
	c.mu.Unlock()
	if thread != "" {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check")
	args = append(args, flags("", c.plan.config)...)
	o := c.plan.chosen(selector.Overlay(c.l.Options, own))
	for _, f := range []struct {
		key   string
		value *string
	}{{"model", o.Model}, {"model_reasoning_effort", o.Effort}, {"sandbox_mode", o.Permission}} {
		if f.value != nil {
			args = append(args, "-c", f.key+"="+quoted(*f.value))
		}
	}
	args = append(args, execServers.Args(c.plan.servers)...)
	args = append(args, "--") // what follows is no flag
	if thread != "" {
		args = append(args, thread)
	}
	return append(args, prompt)
}

// quoted is a text as TOML, which takes JSON's form.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
