package acp

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"dragoman/internal/lane"
	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
)

// The clocks of a turn.
const (
	// cancelWait is how long an agent has to answer a cancelled prompt, and
	// how long the next prompt waits for that answer (sidecar.md §2).
	cancelWait = 10 * time.Second
	// replayQuiet and replayMax: a loaded session's first prompt waits until
	// nothing came for that long, because some agents tell the history after
	// their reply to session/load (docs/decisions/030).
	replayQuiet = 100 * time.Millisecond
	replayMax   = 2 * time.Second
	// heldRetry is how often the cancel clock looks again while the host
	// doesn't take an event.
	heldRetry = 100 * time.Millisecond
)

// errTurnCancelled is the cause of a setup's context when its turn is
// cancelled.
var errTurnCancelled = errors.New("the turn was cancelled")

func cancelled() agent.Outcome { return agent.Outcome{StopReason: agent.StopCancelled} }

// Prompt runs one turn.
func (c *conn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	defer context.AfterFunc(ctx, c.mute)() // the session closes
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.host, cancel)()

	switch err := c.prepare(ctx, t); {
	case err == nil:
	case errors.Is(err, errTurnCancelled):
		return cancelled(), nil
	case ctx.Err() != nil:
		return agent.Outcome{}, closedError()
	default:
		return agent.Outcome{}, err
	}
	turn, err := c.send(t)
	if err != nil {
		return agent.Outcome{}, err
	}
	return c.await(ctx, turn, t.Cancel)
}

// prepare does what comes before the prompt is sent; a cancel ends it.
func (c *conn) prepare(ctx context.Context, t lane.Turn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-t.Cancel:
			cancel(errTurnCancelled)
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(nil); <-watched }()

	err := c.recover(ctx)
	if err == nil {
		err = c.apply(ctx, t.Options)
	}
	if err == nil {
		err = c.quiet(ctx)
	}
	select {
	case <-t.Cancel:
		return errTurnCancelled
	default:
		return err
	}
}

// recover waits for the answer to a prompt that was given up.
func (c *conn) recover(ctx context.Context) error {
	last := c.last()
	if last == nil || last.answered() {
		return nil
	}
	timer := time.NewTimer(cancelWait)
	defer timer.Stop()
	select {
	case <-last.call.Done():
		return nil
	case <-timer.C:
		return agent.Fail(agent.CodeRecoveryRequired, agent.StagePrompt, "the agent has not answered the turn that was cancelled")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// quiet lets the history end that a loaded session may still be telling.
func (c *conn) quiet(ctx context.Context) error {
	c.mu.Lock()
	loaded := c.loaded
	c.loaded = false
	c.mu.Unlock()
	if !loaded {
		return ctx.Err()
	}
	limit := time.NewTimer(replayMax)
	defer limit.Stop()
	for {
		since := time.Since(time.Unix(0, c.heard.Load()))
		if since >= replayQuiet {
			return ctx.Err()
		}
		pause := time.NewTimer(replayQuiet - since)
		select {
		case <-pause.C:
			continue
		case <-limit.C:
		case <-ctx.Done():
		}
		pause.Stop()
		return ctx.Err()
	}
}

// send sends the prompt and makes its turn the current one.
func (c *conn) send(t lane.Turn) (*turn, error) {
	blocks, err := c.blocks(t)
	if err != nil {
		return nil, err
	}
	params, err := wire.Encode(wire.PromptParams{SessionID: c.nativeID(), Prompt: blocks})
	if err != nil {
		return nil, agent.Fail(agent.CodeProtocolError, agent.StagePrompt, err.Error())
	}
	turn := newTurn(c.link, t.Number, c.plan.spec.MaxOutputBytes)
	c.restored.Store(false)
	c.mu.Lock()
	call, err := c.peer.Start(wire.MethodPrompt, params)
	if err == nil {
		turn.call, c.turn = call, turn
	}
	c.mu.Unlock()
	if err != nil {
		turn.dismiss()
		return nil, c.failure(c.life, agent.StagePrompt, err, agent.Certain)
	}
	return turn, nil
}

// await waits for the end of a turn, and tells the agent of a cancel.
func (c *conn) await(ctx context.Context, t *turn, cancel <-chan struct{}) (agent.Outcome, error) {
	defer t.dismiss()
	clock := time.NewTimer(cancelWait)
	clock.Stop()
	defer clock.Stop()
	held := false // the host held an event back when the clock looked
	for {
		select {
		case <-t.call.Done():
			return c.finish(ctx, t)
		case <-cancel:
			cancel = nil
			c.sendCancel()
			t.dismiss()
			clock.Reset(cancelWait)
		case <-clock.C:
			if !c.emitting.TryLock() {
				held = true
				clock.Reset(heldRetry)
				continue
			}
			t.fenced = !held
			c.emitting.Unlock()
			if held { // only now can the agent's answer be read
				held = false
				clock.Reset(cancelWait)
				continue
			}
			out := cancelled()
			out.Suspect = agent.SuspectCancelUnanswered
			return out, nil
		case <-ctx.Done():
			c.mute()
			t.dismiss()
			c.drop(t)
			return agent.Outcome{}, closedError()
		}
	}
}

// drop lets go of a turn that the closing of the session ends: when it
// returns, no event of it is on its way and its questions are answered.
func (c *conn) drop(t *turn) {
	c.emitting.Lock() // waits for who holds it, no more
	c.emitting.Unlock()
	t.settled()
}

// finish makes the outcome of an answered prompt.
func (c *conn) finish(ctx context.Context, t *turn) (agent.Outcome, error) {
	dismissed := t.ask.Err() != nil
	t.dismiss()
	t.settled()
	result, err := t.call.Wait(ctx)
	if c.closing.Load() || ctx.Err() != nil {
		return agent.Outcome{}, closedError()
	}
	var reply *jsonrpc.Error
	if errors.As(err, &reply) && reply.Code == codeRequestCancelled && dismissed {
		out := cancelled()
		out.Truncated = t.budget.spent
		return out, nil
	}
	if err != nil {
		certainty := agent.Certain
		if t.produced {
			certainty = agent.Uncertain
		}
		return agent.Outcome{}, c.failure(ctx, agent.StagePrompt, err, certainty)
	}
	prompted, ok := wire.ReadPrompted(result)
	if !ok {
		return agent.Outcome{}, agent.Fail(agent.CodeProtocolFailed, agent.StagePrompt, "the reply has no stop reason")
	}
	if prompted.Usage != nil {
		c.sawUsage()
	}
	return agent.Outcome{StopReason: prompted.StopReason, Usage: prompted.Usage, Truncated: t.budget.spent}, nil
}

// sawUsage notes that this agent reports usage.
func (c *conn) sawUsage() {
	c.mu.Lock()
	first := !c.usage
	c.usage = true
	c.mu.Unlock()
	if first {
		c.l.Sink.Changed()
	}
}

// blocks makes the prompt's content blocks.
func (c *conn) blocks(t lane.Turn) ([]wire.Block, error) {
	blocks := []wire.Block{{Type: wire.BlockText, Text: &t.Text}}
	if len(t.Attachments) == 0 {
		return blocks, nil
	}
	caps := c.Info().Capabilities
	for i := range t.Attachments {
		a := &t.Attachments[i]
		switch {
		case a.Type == "image" && caps.Images:
			blocks = append(blocks, wire.Block{
				Type: wire.BlockImage, MimeType: a.MimeType, URI: a.URI,
				Data: base64.StdEncoding.EncodeToString(a.Data),
			})
		case a.Type != "image" && caps.Resources && (a.Text != "" || len(a.Data) > 0):
			blocks = append(blocks, wire.Block{Type: wire.BlockResource, Resource: resource(a)})
		case a.URI != "":
			name := a.Name
			if name == "" {
				name = a.URI
			}
			blocks = append(blocks, wire.Block{
				Type: wire.BlockResourceLink, URI: a.URI, Name: name, MimeType: a.MimeType,
			})
		default:
			return nil, agent.Fail(agent.CodeConfigurationUnavailable, agent.StagePrompt, "the agent takes no "+a.Type+" without an address")
		}
	}
	return blocks, nil
}

func resource(a *lane.Attachment) *wire.Resource {
	r := &wire.Resource{URI: a.URI, MimeType: a.MimeType}
	if a.Text != "" {
		r.Text = &a.Text
		return r
	}
	blob := base64.StdEncoding.EncodeToString(a.Data)
	r.Blob = &blob
	return r
}
