package solo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func (k *Agents) list(ctx context.Context, _ op.Call, _ core.None) (core.AgentListResult, error) {
	return core.AgentListResult{Agents: k.config.Agents(ctx)}, nil
}

func (k *Agents) open(_ context.Context, _ op.Call, p core.AgentOpenParams) (w op.Work[core.AgentOpenResult], err error) {
	w.Do = func(ctx context.Context, _ op.Run) (core.AgentOpenResult, error) {
		c, err := k.openSession(ctx, p)
		if err != nil {
			return core.AgentOpenResult{}, err
		}
		return core.AgentOpenResult{AgentSession: c.describe()}, nil
	}
	return w, nil
}

// openSession opens a session by agent or spec.
func (k *Agents) openSession(ctx context.Context, p core.AgentOpenParams) (*conversation, error) {
	spec, env := []byte(p.Spec), []string(nil)
	id := p.Agent
	if id != "" {
		var ok bool
		if spec, env, ok = k.config.Spec(ctx, id); !ok {
			return nil, op.NotFound("agent", id)
		}
	}
	cwd := p.Cwd
	if cwd == "" {
		cwd = k.config.Root
	}
	prepared, err := k.config.Opener.Prepare(session.Request{
		Spec: spec, Cwd: cwd, Env: env, Resume: p.Resume,
		Options: agent.Options{Model: p.Options.Model, Mode: p.Options.Mode, Effort: p.Options.Effort, Permission: p.Options.Permission},
	})
	if err != nil {
		return nil, coreError(err)
	}
	c := newConversation(k, prepared.Spec.ID, p.Title, cwd, p.Options)
	s, err := prepared.Open(ctx, session.Config{Host: c})
	if err != nil {
		if ctx.Err() != nil {
			return nil, errCancelled
		}
		return nil, coreError(err)
	}
	c.session = s
	if err := k.keep(c); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// coreError is an agent's error as the core's.
func coreError(err error) error {
	var failed *agent.Error
	var spec *agent.SpecError
	switch {
	case errors.As(err, &spec):
		return op.Fail(op.CodeBadRequest, "spec: %s", spec.Detail)
	case errors.As(err, &failed):
		e := op.Fail(op.CodeAgent, "%s", failed.Error())
		e.Data = op.Data{
			"code": failed.Code, "stage": failed.Stage, "retryable": failed.Retryable, "uncertainEffect": failed.UncertainEffect,
		}
		return e
	}
	return err
}

func (k *Agents) send(_ context.Context, _ op.Call, p core.AgentSendParams) (w op.Work[core.AgentSendResult], err error) {
	if len(p.Context) > 0 || len(p.Attachments) > 0 {
		return w, op.Unsupported("context and attachments need a core with documents")
	}
	var c *conversation
	if p.Session != "" {
		if c, err = k.find(p.Session); err != nil {
			return w, err
		}
		if c.session.Turn() != 0 && !p.Queue {
			return w, op.Conflict("turn_running", "session %s has a running turn", c.id)
		}
		w.Session = c.id
	}
	w.Do = func(ctx context.Context, r op.Run) (core.AgentSendResult, error) {
		if c == nil {
			if c, err = k.openSession(ctx, core.AgentOpenParams{Agent: p.Agent}); err != nil {
				return core.AgentSendResult{}, err
			}
		}
		return c.turn(ctx, r.ID(), p)
	}
	return w, nil
}

// turn runs one prompt to its end. A ctx that ends cancels it.
func (c *conversation) turn(ctx context.Context, run string, p core.AgentSendParams) (core.AgentSendResult, error) {
	queue := session.RefuseIfBusy
	if p.Queue {
		queue = session.WaitInLine
	}
	t, err := c.submit(run, session.Prompt{Text: p.Text, Queue: queue})
	if err != nil {
		if errors.Is(err, session.ErrBusy) {
			return core.AgentSendResult{}, op.Conflict("turn_running", "session %s has a running turn", c.id)
		}
		return core.AgentSendResult{}, coreError(err)
	}
	select {
	case <-t.Done():
	case <-ctx.Done():
		// What the lane says of the cancel is seen in the outcome.
		_ = c.session.BeginCancelTurn(t.Number())(context.WithoutCancel(ctx))
		<-t.Done()
	}
	out, err := t.Result()
	if err != nil {
		return core.AgentSendResult{}, coreError(err)
	}
	result := core.AgentSendResult{Session: c.id, StopReason: out.StopReason, Suspect: out.Suspect}
	if out.Text != "" {
		result.Text = &out.Text
	}
	if out.Usage != nil {
		result.Usage = agent.AppendUsage(nil, out.Usage)
	}
	return result, nil
}

func (k *Agents) cancel(_ context.Context, _ op.Call, p core.AgentCancelParams) (core.AgentCancelResult, error) {
	c, err := k.find(p.Session)
	if err != nil {
		return core.AgentCancelResult{}, err
	}
	number := c.session.Turn()
	if p.Run != "" && p.Run != c.runOf(number) {
		return core.AgentCancelResult{}, nil
	}
	c.session.BeginCancel()
	return core.AgentCancelResult{Cancelled: number != 0}, nil
}

func (k *Agents) permit(_ context.Context, _ op.Call, p core.AgentPermitParams) (core.AgentPermitResult, error) {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.sessions))
	k.mu.Unlock()
	for _, c := range all {
		if found, err := c.answer(p); found || err != nil {
			return core.AgentPermitResult{}, err
		}
	}
	return core.AgentPermitResult{}, op.NotFound("request", p.Request)
}

func (k *Agents) close(_ context.Context, _ op.Call, p core.SessionRunParams) (w op.Work[core.None], err error) {
	c, err := k.find(p.Session)
	if err != nil {
		return w, err
	}
	w.Session = c.id
	w.Do = func(ctx context.Context, _ op.Run) (core.None, error) {
		if err := c.session.Close(ctx); err != nil {
			return core.None{}, coreError(err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.sessions, c.id)
		return core.None{}, nil
	}
	return w, nil
}

// describe is the session as the core tells it.
func (c *conversation) describe() core.AgentSession {
	info := c.session.Info()
	state, _ := c.session.State()
	null := jsontext.Value("null")
	s := core.AgentSession{
		Session: c.id, Agent: c.agent, Title: c.title, State: state.String(), Cwd: c.cwd, Turn: int64(c.session.Turn()),
		Queue: []string{}, Pending: []string{}, Options: c.options, Capabilities: capabilities(info.Capabilities),
		ConfigOptions: null, Modes: null, Commands: null, Usage: null, CreatedAt: c.created, UpdatedAt: time.Now().UTC(),
	}
	if info.NativeID != "" {
		s.NativeSessionID = &info.NativeID
	}
	return s
}

func capabilities(c any) jsontext.Value {
	b, err := json.Marshal(c)
	if err != nil {
		return jsontext.Value("null") // plain booleans always marshal
	}
	return b
}
