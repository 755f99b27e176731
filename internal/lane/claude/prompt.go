package claude

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// The clocks of a turn.
const (
	// cancelWait is how long an agent has to end a cancelled turn, and how
	// long the next prompt waits for that end (sidecar.md §2).
	cancelWait = 10 * time.Second
	// interruptAgain is how often the interrupt is repeated until then: one
	// that comes before the agent has begun the turn is lost.
	interruptAgain = 2 * time.Second
	// heldRetry is how often the cancel clock looks again while the host
	// doesn't take an event.
	heldRetry = 100 * time.Millisecond
)

// errTurnCancelled is the cause of a setup's context when its turn is
// cancelled.
var errTurnCancelled = errors.New("the turn was cancelled")

func cancelled() agent.Outcome { return agent.Outcome{StopReason: agent.StopCancelled} }

func closedError() *agent.Error {
	return agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "the session was closed", agent.FlagsUncertain)
}

// Prompt runs one turn.
func (c *conn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	defer context.AfterFunc(ctx, c.mute)() // the session closes
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.host, func() {
		if c.closing.Load() || c.link.Err() == nil {
			cancel()
		}
	})()
	switch err := c.prepare(ctx, t); {
	case err == nil:
	case errors.Is(err, errTurnCancelled):
		return cancelled(), nil
	case ctx.Err() != nil:
		return agent.Outcome{}, closedError()
	default:
		return agent.Outcome{}, err
	}
	turn, err := c.prompt(t)
	if err != nil {
		return agent.Outcome{}, c.lost(ctx, agent.StagePrompt)
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
	if err == nil && c.link.Err() != nil {
		err = c.lost(ctx, agent.StagePrompt)
	}
	if err == nil {
		err = c.apply(ctx, agent.StageTurnConfig, agent.Options{Model: t.Options.Model})
	}
	select {
	case <-t.Cancel:
		return errTurnCancelled
	default:
		return err
	}
}

// recover waits for the end of a turn that was given up.
func (c *conn) recover(ctx context.Context) error {
	last := c.last()
	if last == nil || last.ended() || c.link.Err() != nil {
		return nil
	}
	timer := time.NewTimer(cancelWait)
	defer timer.Stop()
	select {
	case <-last.done:
		return nil
	case <-c.link.Done():
		return nil
	case <-timer.C:
		return agent.Fail(agent.CodeRecoveryRequired, agent.StagePrompt, "the agent has not ended the turn that was cancelled")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// userMessage is a prompt.
type userMessage struct {
	Type    string      `json:"type"`
	Message userContent `json:"message"`
	Parent  *string     `json:"parent_tool_use_id"`
	Session string      `json:"session_id"`
}

type userContent struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a block of a prompt.
type block struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitzero"`
	Title  string  `json:"title,omitzero"`
	Source *source `json:"source,omitzero"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// blocks are the prompt's text and its attachments. A resource without
// content is named; the agent can read it.
func blocks(t lane.Turn) []block {
	list := []block{{Type: "text", Text: t.Text}}
	for _, a := range t.Attachments {
		switch {
		case a.Type == "image" && len(a.Data) > 0:
			list = append(list, block{Type: "image", Source: &source{"base64", a.MimeType, base64.StdEncoding.EncodeToString(a.Data)}})
		case a.Text != "":
			name := a.Name
			if name == "" {
				name = a.URI
			}
			list = append(list, block{Type: "document", Title: name, Source: &source{"text", "text/plain", a.Text}})
		case a.URI != "":
			list = append(list, block{Type: "text", Text: a.URI})
		}
	}
	return list
}

// prompt sends the prompt and makes its turn the current one.
func (c *conn) prompt(t lane.Turn) (*turn, error) {
	turn := newTurn(c.link, t.Number, c.plan.spec.MaxOutputBytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.write(userMessage{
		Type: typeUser, Message: userContent{"user", blocks(t)}, Session: c.native,
	})
	if err != nil {
		turn.dismiss()
		return nil, err
	}
	c.turn = turn
	return turn, nil
}

// await waits for the end of a turn, and tells the agent of a cancel.
func (c *conn) await(ctx context.Context, t *turn, cancel <-chan struct{}) (agent.Outcome, error) {
	defer t.dismiss()
	clock, again := time.NewTimer(cancelWait), time.NewTicker(interruptAgain)
	clock.Stop()
	again.Stop()
	defer clock.Stop()
	defer again.Stop()
	for {
		select {
		case <-t.done:
			return c.finish(ctx, t)
		case <-cancel:
			cancel = nil
			t.interrupted.Store(true)
			c.interrupt()
			t.dismiss()
			clock.Reset(cancelWait)
			again.Reset(interruptAgain)
		case <-again.C:
			c.interrupt()
		case <-clock.C:
			if !c.emitting.TryLock() { // it's the host that doesn't read, not the agent
				clock.Reset(heldRetry)
				continue
			}
			t.fenced = !t.ended()
			c.emitting.Unlock()
			if !t.fenced {
				return c.finish(ctx, t)
			}
			out := cancelled()
			out.Suspect = agent.SuspectCancelUnanswered
			return out, nil
		case <-c.link.Done():
			if !t.ended() {
				return c.broken(ctx, t)
			}
		case <-ctx.Done():
			c.mute()
			c.emitting.Lock() // what is on its way belongs to the turn
			defer c.emitting.Unlock()
			return agent.Outcome{}, closedError()
		}
	}
}

// broken is the end of a turn whose agent has gone.
func (c *conn) broken(ctx context.Context, t *turn) (agent.Outcome, error) {
	t.dismiss()
	t.settle(ctx)
	return agent.Outcome{}, c.lost(ctx, agent.StagePrompt)
}

// finish gives the outcome of a turn whose result was read.
func (c *conn) finish(ctx context.Context, t *turn) (agent.Outcome, error) {
	t.dismiss()
	t.settle(ctx)
	if c.closing.Load() || ctx.Err() != nil {
		return agent.Outcome{}, closedError()
	}
	return t.outcome, t.err
}
