package app

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"dragoman/internal/journal"
	"dragoman/internal/namespace/agents"
	"dragoman/internal/namespace/turns"
	"dragoman/internal/preset"
	"dragoman/internal/redact"
	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/core"
)

// addAgents adds the agent namespace. Its journal is kept a root.
func addAgents(b *coreBuild) error {
	set, err := b.env.loadPresets(b.config)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.state, "sessions", b.name)
	if b.state == "" {
		if dir, err = os.MkdirTemp(b.env.tempDir(), "dragoman-sessions-"); err != nil {
			return err
		}
		b.atEnd = append(b.atEnd, func(context.Context) error { return os.RemoveAll(dir) })
	}
	j, err := journal.Open(dir)
	if err != nil {
		return err
	}
	b.atEnd = append(b.atEnd, func(context.Context) error { return j.Close() })
	j.Hide(redact.Secrets(b.env.Environ))
	opener := newOpener(b.env, set, b.sup, openerOptions{log: b.log, config: b.config})
	list := &agentList{b: b, doctor: &doctor{e: b.env, set: set, sup: b.sup}}
	s, err := agents.New(agents.Options{
		Prepare: b.preparePresets(set, opener), Known: func(id string) bool { return set.Get(id) != nil }, List: list.now,
		Journal: j, Events: b.events, Folder: b.paths.Resolve, Log: b.log,
		Turns: b.turns.Load(), Documents: turns.Documents{Buffers: b.buffers, Roots: b.confined},
	})
	if err != nil {
		return err
	}
	b.atEnd = append(b.atEnd, s.Close, list.close)
	b.agents = s
	s.Bind(b.mux)
	return nil
}

// preparePresets gives the opens of known agents what `run` gives them: the
// variables by which they sign in, and the login shell's PATH where only it
// has the program (lanes.md §12).
func (b *coreBuild) preparePresets(set *preset.Set, opener *session.Opener) func(session.Request) (*session.Prepared, error) {
	r := &runner{e: b.env}
	return func(q session.Request) (*session.Prepared, error) {
		if f := agent.ReadFields("", q.Spec); f.Err() == nil && !f.Has("lane") {
			if id := f.Str("id"); set.Get(id) != nil {
				q.Spec, q.Env = r.spec(b.ctx, set, b.sup, id)
			}
		}
		return opener.Prepare(q)
	}
}

// An agentList is the cache of agent.list: what is known without asking the
// programs, until one look in the background has asked them.
type agentList struct {
	b      *coreBuild
	doctor *doctor

	once sync.Once
	wg   sync.WaitGroup
	mu   sync.Mutex
	full []core.AgentListed
}

// now is the list as far as it is known; the first call starts a look.
func (l *agentList) now(ctx context.Context) []core.AgentListed {
	l.once.Do(func() { l.wg.Go(l.refresh) })
	l.mu.Lock()
	full := l.full
	l.mu.Unlock()
	if full != nil {
		return full
	}
	return l.look(ctx, &doctor{e: l.doctor.e, set: l.doctor.set})
}

func (l *agentList) refresh() {
	l.doctor.morePath = morePath(l.b.ctx, l.doctor.e, l.doctor.sup)
	full := l.look(l.b.ctx, l.doctor)
	if l.b.ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	l.full = full
	l.mu.Unlock()
	l.b.events.Emit(core.AgentListRefreshed.With(core.AgentListResult{Agents: full}))
}

func (l *agentList) look(ctx context.Context, d *doctor) []core.AgentListed {
	agents := []core.AgentListed{}
	for _, id := range d.set.IDs() {
		st := d.set.Status(ctx, id, d.lookup())
		can, err := json.Marshal(st.Capabilities, json.Deterministic(true))
		if err != nil {
			can = []byte("{}")
		}
		agents = append(agents, core.AgentListed{
			ID: id, Name: st.Name, Lane: st.Lane, Installed: st.Path != "", Version: st.Version, Path: st.Path,
			Auth: st.SignedIn, Hint: st.Advice, Capabilities: can,
		})
	}
	return agents
}

// close waits for the look in the background, which ends with the core.
func (l *agentList) close(context.Context) error {
	l.wg.Wait()
	return nil
}
