// Package solo is agent sessions for a core without a journal: it binds the
// declared operations of agent.* that need nothing but the session engine.
// `dragoman agent` uses it for its private core.
package solo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"dragoman/internal/session"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Config is what sessions need.
type Config struct {
	Opener *session.Opener
	// Root is the working folder of sessions that name none.
	Root string
	// Agents lists the known agents.
	Agents func(ctx context.Context) []core.AgentListed
	// Spec is the spec of a known agent and its variables, NAME=VALUE; ok is
	// false for an unknown one.
	Spec func(ctx context.Context, id string) (spec []byte, env []string, ok bool)
	// Events takes what sessions tell.
	Events op.Emitter
}

// Agents are the sessions. Its methods are safe for concurrent use.
type Agents struct {
	config Config

	mu       sync.Mutex
	closing  bool
	count    int
	sessions map[string]*conversation
}

// Bind binds the operations of agent.* to a core's table.
func Bind(m *op.Mux, c Config) *Agents {
	k := &Agents{config: c, sessions: make(map[string]*conversation)}
	core.AgentList.Handle(m, k.list)
	core.AgentOpen.Stream(m, k.open)
	core.AgentSend.Stream(m, k.send)
	core.AgentCancel.Handle(m, k.cancel)
	core.AgentPermit.Handle(m, k.permit)
	core.AgentClose.Stream(m, k.close)
	return k
}

// Close ends every session, also those that are still being opened, and
// takes no more. It may be called twice. The core ends its runs before.
func (k *Agents) Close(ctx context.Context) error {
	k.mu.Lock()
	k.closing = true
	open := slices.Collect(maps.Values(k.sessions))
	k.mu.Unlock()
	var failed error
	for _, c := range open {
		failed = errors.Join(failed, c.session.Close(ctx))
	}
	return failed
}

// keep gives an open session its id, unless there are to be no more.
func (k *Agents) keep(c *conversation) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return op.Busy(op.BusyDraining, "the core is ending")
	}
	k.count++
	c.setID(fmt.Sprintf("s%d", k.count))
	k.sessions[c.id] = c
	return nil
}

func (k *Agents) find(id string) (*conversation, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.sessions[id]; c != nil {
		return c, nil
	}
	return nil, op.NotFound("session", id)
}

// errCancelled ends an open that was cancelled.
var errCancelled = op.Cancelled("cancelled")
