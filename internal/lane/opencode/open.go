package opencode

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"dragoman/internal/lane/native"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// opening runs an open within its clock.
func (c *conn) opening(ctx context.Context, open func(context.Context) error) error {
	// What is emitted in the open must not outlast its context.
	defer context.AfterFunc(ctx, c.session.Mute)()
	ctx, cancel := native.Within(ctx, "the open", c.l.OpenTimeout)
	defer cancel()
	err := open(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return native.OpenError(err)
}

// open learns what there is, checks the options, finds or makes the session
// and subscribes to the events.
func (c *conn) open(ctx context.Context) error {
	if err := c.offers(ctx); err != nil {
		return err
	}
	o := c.l.Options
	if o.Mode == nil && c.plan.agent != "" {
		o.Mode = &c.plan.agent
	}
	if err := c.apply(agent.StageConfiguration, o); err != nil {
		return err
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	return c.subscribe(ctx)
}

// offers asks for models, agents and the configured model.
func (c *conn) offers(ctx context.Context) error {
	agents, err := c.get(ctx, agent.StageOpen, "/agent")
	if err != nil {
		return err
	}
	providers, err := c.get(ctx, agent.StageOpen, "/config/providers")
	if err != nil {
		return err
	}
	config, err := c.get(ctx, agent.StageOpen, "/config")
	if err != nil {
		return err
	}
	c.change(func(s *state) {
		s.takeAgents(agents)
		s.takeProviders(object(providers))
		s.shown = object(config).Str("model")
		if name := object(config).Str("default_agent"); s.hasMode(name) {
			s.mode = name
		}
	})
	return nil
}

// get reads what the session needs; a failure is agent_protocol_failed.
func (c *conn) get(ctx context.Context, stage, path string) ([]byte, error) {
	reply, err := c.client.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, c.failed(ctx, stage, err)
	}
	return reply, nil
}

// failed makes an error of a request that failed.
func (c *conn) failed(ctx context.Context, stage string, err error) error {
	var status *statusError
	if errors.As(err, &status) {
		return agent.Fail(agent.CodeProtocolFailed, stage, err.Error())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return agent.Fail(agent.CodeProtocolFailed, stage, "the connection broke: "+err.Error())
}

// begin makes a session, or finds the one to resume.
func (c *conn) begin(ctx context.Context) error {
	if c.l.Resume != "" {
		return c.resume(ctx)
	}
	reply, err := c.client.call(ctx, http.MethodPost, "/session", struct{}{})
	if err != nil {
		return c.failed(ctx, agent.StageOpen, err)
	}
	return c.know(object(reply))
}

// know takes the session's record.
func (c *conn) know(info acp.Object) error {
	id := info.Str("id")
	if !isID(id) {
		return agent.Fail(agent.CodeSessionIDMissing, agent.StageOpen, "the new session has no id")
	}
	c.mu.Lock()
	c.native = id
	c.mu.Unlock()
	c.change(func(s *state) { s.version, s.title = info.Str("version"), info.Str("title") })
	return nil
}

// resume finds a session, and knows what was said in it before.
func (c *conn) resume(ctx context.Context) error {
	path := "/session/" + c.l.Resume
	reply, err := c.client.call(ctx, http.MethodGet, path, nil)
	var status *statusError
	if errors.As(err, &status) {
		return agent.Fail(agent.CodeSessionOpenFailed, agent.StageResume, err.Error())
	}
	if err != nil {
		return c.failed(ctx, agent.StageResume, err)
	}
	messages, err := c.get(ctx, agent.StageResume, path+"/message")
	if err != nil {
		return err
	}
	list, _ := acp.List(messages)
	c.session.Handle(func() {
		for _, item := range list {
			if info := acp.AsObject(item).Object("info"); info.Str("role") == roleUser {
				c.users[info.Str("id")] = true
			}
		}
	})
	return c.know(object(reply))
}

// apply sets what the next prompts carry.
func (c *conn) apply(stage string, o agent.Options) error {
	if err := c.offered(stage, o); err != nil {
		return err
	}
	c.change(func(s *state) {
		if o.Model != nil {
			s.model, _ = s.find(*o.Model)
		}
		if o.Mode != nil {
			s.mode = *o.Mode
		}
	})
	return nil
}

// offered refuses models and agents that aren't there.
func (c *conn) offered(stage string, o agent.Options) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	if o.Model != nil {
		if _, ok := s.find(*o.Model); !ok {
			return agent.Fail(agent.CodeModelUnsupported, stage, "the model "+*o.Model+" is not offered, only "+names(s.models, func(m native.Model) string { return m.ID }))
		}
	}
	if o.Mode != nil && !s.hasMode(*o.Mode) {
		return agent.Fail(agent.CodeModeUnsupported, stage, "the mode "+*o.Mode+" is not offered, only "+names(s.modes, func(m native.Mode) string { return m.ID }))
	}
	return nil
}

// CheckTurn refuses a turn's selectors.
func (c *conn) CheckTurn(o agent.Options) error {
	turn := can
	turn.Mode = false
	if err := turn.CheckTurn(o); err != nil {
		return err
	}
	return c.offered(agent.StageTurnConfig, o)
}

// Configure changes the model and the mode of the turns to come, also by the
// config values model and mode.
func (c *conn) Configure(_ context.Context, o agent.Options, config map[string][]byte) error {
	const stage = agent.StageConfiguration
	for _, id := range slices.Sorted(maps.Keys(config)) {
		text, ok := acp.Text(config[id])
		switch {
		case ok && id == "model":
			o.Model = &text
		case ok && id == "mode":
			o.Mode = &text
		default:
			return agent.Fail(agent.CodeConfigurationUnavailable, stage, "there is no config option "+id+" that takes this value")
		}
	}
	if err := can.CheckOpen(o); err != nil {
		return err
	}
	return c.apply(stage, o)
}
