package codex

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
)

// The clocks of a turn.
const (
	// cancelWait is how long an agent has to end a cancelled turn, and how
	// long the next prompt waits for that end (sidecar.md §2).
	cancelWait = 10 * time.Second
	// interruptAgain is how often the interrupt is repeated until then: one
	// that comes before the agent has begun the turn is refused.
	interruptAgain = 2 * time.Second
	// heldRetry is how often the cancel clock looks again while the host
	// doesn't take an event.
	heldRetry = 100 * time.Millisecond
)

// errTurnCancelled says that a turn was cancelled before it was sent.
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
	switch err := c.recover(ctx, t.Cancel); {
	case err == nil:
	case errors.Is(err, errTurnCancelled):
		return cancelled(), nil
	case ctx.Err() != nil:
		return agent.Outcome{}, closedError()
	default:
		return agent.Outcome{}, err
	}
	turn, call, err := c.prompt(t)
	if err != nil {
		return agent.Outcome{}, c.lost(ctx, agent.StagePrompt)
	}
	return c.await(ctx, turn, call, t.Cancel)
}

// recover waits for the end of a turn that was given up.
func (c *conn) recover(ctx context.Context, cancel <-chan struct{}) error {
	c.mu.Lock()
	last := c.turn
	c.mu.Unlock()
	select {
	case <-cancel:
		return errTurnCancelled
	default:
	}
	if c.link.Err() != nil {
		return c.lost(ctx, agent.StagePrompt)
	}
	if last == nil || last.ended() {
		return nil
	}
	timer := time.NewTimer(cancelWait)
	defer timer.Stop()
	select {
	case <-last.done:
		return nil
	case <-cancel:
		return errTurnCancelled
	case <-c.link.Done():
		return c.lost(ctx, agent.StagePrompt)
	case <-timer.C:
		return agent.Fail(agent.CodeRecoveryRequired, agent.StagePrompt, "the agent has not ended the turn that was cancelled")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turnParams are those of turn/start.
type turnParams struct {
	Thread  string   `json:"threadId"`
	Input   []input  `json:"input"`
	Model   string   `json:"model,omitzero"`
	Effort  string   `json:"effort,omitzero"`
	Policy  string   `json:"approvalPolicy,omitzero"`
	Sandbox *sandbox `json:"sandboxPolicy,omitzero"`
}

type sandbox struct {
	Type string `json:"type"`
}

type input struct {
	Type     string         `json:"type"`
	Text     string         `json:"text,omitzero"`
	Elements jsontext.Value `json:"text_elements,omitzero"` // of text; always empty
	URL      string         `json:"url,omitzero"`
}

func textInput(text string) input {
	return input{Type: "text", Text: text, Elements: jsontext.Value("[]")}
}

// inputs are the prompt's text and its attachments. A resource without
// content is named; the agent can read it.
func inputs(t lane.Turn) []input {
	list := []input{textInput(t.Text)}
	for _, a := range t.Attachments {
		switch {
		case a.Type == "image" && len(a.Data) > 0:
			list = append(list, input{Type: "image", URL: "data:" + a.MimeType + ";base64," + base64.StdEncoding.EncodeToString(a.Data)})
		case a.Text != "":
			list = append(list, textInput(a.URI+"\n"+a.Text))
		case a.URI != "":
			list = append(list, textInput(a.URI))
		}
	}
	return list
}

// prompt sends the prompt and makes its turn the current one. The sandbox is
// the thread's unless it was changed since.
func (c *conn) prompt(t lane.Turn) (*turn, *jsonrpc.Call, error) {
	turn := newTurn(c.link, t.Number, c.plan.spec.MaxOutputBytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.state.turnOptions(t.Options)
	params := turnParams{Thread: c.thread, Input: inputs(t), Model: text(o.Model), Effort: text(o.Effort), Policy: text(o.Mode)}
	opened := c.plan.chosen(c.l.Options).Permission
	if o.Permission != nil && o.Permission != opened && text(o.Permission) != text(opened) {
		params.Sandbox = &sandbox{policyType(*o.Permission)}
	}
	body, err := encode(params)
	if err == nil {
		var call *jsonrpc.Call
		if call, err = c.server.peer.Start("turn/start", body); err == nil {
			c.turn = turn
			return turn, call, nil
		}
	}
	turn.dismiss()
	return nil, nil, err
}

// interrupt asks the agent to end a turn; turn/completed is the answer. A
// turn without an id yet is interrupted when it has one.
func (c *conn) interrupt(t *turn) {
	id := t.native()
	if id == "" {
		return
	}
	body, err := encode(struct {
		Thread string `json:"threadId"`
		Turn   string `json:"turnId"`
	}{c.Info().NativeID, id})
	if err == nil {
		_, err = c.server.peer.Start("turn/interrupt", body)
	}
	if err != nil {
		c.server.log.Debug("interrupt", "error", err)
	}
}

// await waits for the end of a turn, and tells the agent of a cancel.
func (c *conn) await(ctx context.Context, t *turn, call *jsonrpc.Call, cancel <-chan struct{}) (agent.Outcome, error) {
	defer t.dismiss()
	clock, again := time.NewTimer(cancelWait), time.NewTicker(interruptAgain)
	clock.Stop()
	again.Stop()
	defer clock.Stop()
	defer again.Stop()
	started := call.Done()
	for {
		select {
		case <-t.done:
			return c.finish(ctx, t)
		case <-started:
			started = nil
			if err := c.begun(ctx, t, call); err != nil {
				return agent.Outcome{}, err
			}
		case <-cancel:
			cancel = nil
			t.interrupted.Store(true)
			c.interrupt(t)
			t.dismiss()
			clock.Reset(cancelWait)
			again.Reset(interruptAgain)
		case <-again.C:
			c.interrupt(t)
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

// begun takes the answer to turn/start. Its error is that of a turn that the
// agent didn't begin.
func (c *conn) begun(ctx context.Context, t *turn, call *jsonrpc.Call) error {
	result, err := call.Wait(ctx)
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		c.mu.Lock()
		c.turn = nil
		c.mu.Unlock()
		return refusal(refused.Message)
	case err != nil:
		return nil // the link's end, or the session's, tells
	}
	t.setNative(acp.AsObject(result).Object("turn").Str("id"))
	if t.interrupted.Load() {
		c.interrupt(t)
	}
	return nil
}

// broken is the end of a turn whose agent has gone.
func (c *conn) broken(ctx context.Context, t *turn) (agent.Outcome, error) {
	t.dismiss()
	t.settle(ctx)
	return agent.Outcome{}, c.lost(ctx, agent.StagePrompt)
}

// finish gives the outcome of a turn whose end was read.
func (c *conn) finish(ctx context.Context, t *turn) (agent.Outcome, error) {
	t.dismiss()
	t.settle(ctx)
	if c.closing.Load() || ctx.Err() != nil {
		return agent.Outcome{}, closedError()
	}
	return t.outcome, t.err
}
