package rpc

import (
	"context"

	values "dragoman/internal/lane/template"
	"dragoman/wire/agent"
)

// CancelTurn is the answer to session/cancel: it refuses what the spec gives
// no way for, and returns when Prompt has told the agent.
func (c *conn) CancelTurn(ctx context.Context, number uint64) error {
	c.mu.Lock()
	x := c.current
	c.mu.Unlock()
	if x == nil || x.number != number || x.isPreparing() {
		return nil
	}
	if err := x.cancellable(); err != nil {
		return err
	}
	select {
	case <-x.told:
	case <-x.ended:
	case <-ctx.Done():
	}
	return nil
}

func (x *turn) isPreparing() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.phase == preparing
}

// cancellable refuses a cancel that can't be told to the agent.
func (x *turn) cancellable() error {
	spec := x.conn.spec
	switch {
	case spec.killOnCancel:
		return nil
	case spec.cancel == nil:
		return agent.Fail(agent.CodeCancelUnsupported, agent.StageCancel, "this agent declares no cancel")
	case spec.cancel.method == "":
		return agent.Fail(agent.CodeMethodUnset, stageCall, "the spec gives the cancel no method")
	}
	call := []*template{spec.cancel}
	noTurn := spec.completion == nil || spec.completion.turnIDPath == nil
	if holds(call, values.TurnID) && noTurn || holds(call, values.SessionID) && x.conn.Info().NativeID == "" {
		return agent.Fail(agent.CodeCancelTargetUnavailable, agent.StageCancel, "the id that the cancel needs isn't known")
	}
	return nil
}

// tell sends the cancel, as a notification, once the turn's id is known if it
// needs it.
func (x *turn) tell(ctx context.Context) error {
	call := x.conn.spec.cancel
	v := x.conn.values(agent.Options{})
	if holds([]*template{call}, values.TurnID) {
		select {
		case <-x.idKnown:
			v[values.TurnID] = x.turnID()
		case <-x.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	params, err := call.expand(v)
	if err != nil {
		return err
	}
	return x.conn.peer.send(call.method, params)
}

func (x *turn) turnID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.id
}
