package agents

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func marshal(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

// An opening is what a session is opened with.
type opening struct {
	spec    jsontext.Value
	cwd     string
	options core.AgentOptions
	resume  string
	title   string
}

func (s *Space) open(_ context.Context, _ op.Call, p core.AgentOpenParams) (op.Work[core.AgentOpenResult], error) {
	none := op.Work[core.AgentOpenResult]{}
	o := opening{spec: p.Spec, cwd: p.Cwd, options: p.Options, resume: p.Resume, title: p.Title}
	if p.Agent != "" {
		if !s.o.Known(p.Agent) {
			return none, op.NotFound("agent", p.Agent)
		}
		o.spec = presetSpec(p.Agent)
	} else if _, err := agent.ParseSpec(p.Spec); err != nil {
		return none, wireError(err)
	}
	return op.Work[core.AgentOpenResult]{Do: func(ctx context.Context, r op.Run) (core.AgentOpenResult, error) {
		h, existing, err := s.start(ctx, o)
		if err != nil {
			return core.AgentOpenResult{}, err
		}
		r.SetSession(h.id)
		return core.AgentOpenResult{AgentSession: h.info(), Existing: existing}, nil
	}}, nil
}

// start opens a session: a new one, one of ours again, or the one that is
// live already.
func (s *Space) start(ctx context.Context, o opening) (h *held, existing bool, err error) {
	old, native := s.resumed(o.resume)
	if old != nil {
		old.mu.Lock()
		live := old.live != nil
		if o.spec == nil {
			o.spec = old.note.Spec
		}
		if o.cwd == "" {
			o.cwd = old.note.Info.Cwd
		}
		old.mu.Unlock()
		if live {
			return old, true, nil
		}
	}
	cwd, err := s.o.Folder(o.cwd)
	if err != nil {
		return nil, false, err
	}
	prepared, err := s.o.Prepare(session.Request{Spec: o.spec, Cwd: cwd, Resume: native, Options: agent.Options{
		Model: o.options.Model, Mode: o.options.Mode, Effort: o.options.Effort, Permission: o.options.Permission,
	}})
	if err != nil {
		return nil, false, wireError(err)
	}
	h = old
	if h == nil {
		at := now()
		h, err = s.hold(randomID("s"), note{Spec: o.spec, Info: core.AgentSession{
			Agent: prepared.Spec.ID, Title: o.title, Cwd: cwd, Options: o.options, CreatedAt: at, UpdatedAt: at,
			State: session.Opening.String(), Queue: []string{}, Pending: []string{},
		}})
		if err != nil {
			return nil, false, op.IO(err, "the journal")
		}
		h.note.Info.Session = h.id
	}
	if err := h.begin(ctx, prepared); err != nil {
		if old == nil {
			s.forget(h)
		}
		return nil, false, wireError(err)
	}
	return h, false, nil
}

// resumed finds the session that resume names: one of ours by its id or by
// the agent's; and gives the agent's id of it.
func (s *Space) resumed(resume string) (*held, string) {
	if resume == "" {
		return nil, ""
	}
	for _, h := range s.all() {
		h.mu.Lock()
		native := h.note.Info.NativeSessionID
		h.mu.Unlock()
		switch {
		case native != nil && (h.id == resume || *native == resume):
			return h, *native
		case h.id == resume:
			return h, ""
		}
	}
	return nil, resume
}

// begin starts the agent of a session.
func (h *held) begin(ctx context.Context, p *session.Prepared) error {
	live, err := p.Open(ctx, session.Config{Host: h, Log: h.space.o.Log})
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.live, h.base = live, uint64(h.note.Info.Turn)
	h.learnLocked(live)
	h.mu.Unlock()
	h.changed()
	if err := h.keep(); err != nil {
		return op.IO(err, "the journal")
	}
	return nil
}

// forget drops a session with its history.
func (s *Space) forget(h *held) {
	s.mu.Lock()
	delete(s.sessions, h.id)
	s.mu.Unlock()
	h.mu.Lock()
	h.deleted = true
	h.mu.Unlock()
	if err := s.o.Journal.Remove(h.id); err != nil {
		s.o.Log.Error("a session's journal", "session", h.id, "err", err)
	}
}

func (s *Space) close(_ context.Context, _ op.Call, p core.SessionRunParams) (op.Work[core.None], error) {
	return s.work(p.Session, func(ctx context.Context, h *held) (core.None, error) {
		return core.None{}, wireError(h.end(ctx))
	})
}

func (s *Space) delete(_ context.Context, _ op.Call, p core.SessionRunParams) (op.Work[core.None], error) {
	return s.work(p.Session, func(ctx context.Context, h *held) (core.None, error) {
		if err := h.end(ctx); err != nil {
			return core.None{}, wireError(err)
		}
		s.forget(h)
		return core.None{}, nil
	})
}

// work is the work of a streaming operation that ends with nothing.
func (s *Space) work(id string, do func(context.Context, *held) (core.None, error)) (op.Work[core.None], error) {
	h, err := s.find(id)
	if err != nil {
		return op.Work[core.None]{}, err
	}
	return op.Work[core.None]{Session: h.id, Do: func(ctx context.Context, _ op.Run) (core.None, error) {
		return do(ctx, h)
	}}, nil
}

func (s *Space) fork(_ context.Context, _ op.Call, p core.SessionRunParams) (op.Work[core.AgentSession], error) {
	h, err := s.find(p.Session)
	if err != nil {
		return op.Work[core.AgentSession]{}, err
	}
	return op.Work[core.AgentSession]{Session: h.id, Do: func(ctx context.Context, _ op.Run) (core.AgentSession, error) {
		h.mu.Lock()
		live, o := h.live, opening{spec: h.note.Spec, cwd: h.note.Info.Cwd, title: h.note.Info.Title}
		h.mu.Unlock()
		forker, ok := connOf(live).(lane.Forker)
		if !ok {
			return core.AgentSession{}, op.Unsupported("%s can't fork a session", h.agent())
		}
		native, err := forker.Fork(ctx)
		if err != nil {
			return core.AgentSession{}, wireError(err)
		}
		o.resume = native
		copied, _, err := s.start(ctx, o)
		if err != nil {
			return core.AgentSession{}, err
		}
		return copied.info(), nil
	}}, nil
}

// connOf is the lane's session of a live one, nil for none.
func connOf(live *session.Session) lane.Conn {
	if live == nil {
		return nil
	}
	return live.Conn()
}

func (s *Space) setOptions(_ context.Context, _ op.Call, p core.AgentSetOptionsParams) (op.Work[core.AgentSession], error) {
	h, err := s.find(p.Session)
	if err != nil {
		return op.Work[core.AgentSession]{}, err
	}
	return op.Work[core.AgentSession]{Session: h.id, Do: func(ctx context.Context, _ op.Run) (core.AgentSession, error) {
		h.mu.Lock()
		live := h.live
		h.mu.Unlock()
		conf, ok := connOf(live).(lane.Configurer)
		if !ok {
			return core.AgentSession{}, op.Unsupported("the options of session %s can't be changed", h.id)
		}
		config := map[string][]byte{}
		for id, value := range p.Config {
			config[id] = value
		}
		o := agent.Options{Model: p.Options.Model, Mode: p.Options.Mode, Effort: p.Options.Effort, Permission: p.Options.Permission}
		if err := conf.Configure(ctx, o, config); err != nil {
			return core.AgentSession{}, wireError(err)
		}
		h.mu.Lock()
		mergeOptions(&h.note.Info.Options, p.Options)
		h.learnLocked(live)
		h.mu.Unlock()
		h.changed()
		h.keepOrLog()
		return h.info(), nil
	}}, nil
}

// mergeOptions puts the given options over those in force.
func mergeOptions(to *core.AgentOptions, given core.AgentOptions) {
	for _, o := range []struct{ to, from **string }{
		{&to.Model, &given.Model}, {&to.Mode, &given.Mode}, {&to.Effort, &given.Effort}, {&to.Permission, &given.Permission},
	} {
		if *o.from != nil {
			*o.to = *o.from
		}
	}
}
