package serve

import (
	"context"
	"net/http"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/budget"
	"dragoman/wire/agent"
)

// How long is waited between two polls: a short turn is seen soon, a long one
// costs little.
const (
	pollFirst = 50 * time.Millisecond
	pollMost  = 500 * time.Millisecond
)

// Prompt runs one turn.
func (c *conn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	turn, end, err := c.begin(ctx)
	if err != nil {
		return agent.Outcome{}, err
	}
	defer end()
	out, err := c.turn(turn, t)
	if err != nil && turn.Err() != nil {
		return agent.Outcome{}, agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "the session was closed", agent.FlagsUncertain)
	}
	return out, err
}

func (c *conn) turn(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	if isClosed(t.Cancel) {
		return agent.Outcome{StopReason: agent.StopCancelled}, nil
	}
	if t.Options.Model != nil {
		if err := c.client.setModel(ctx, c.native, *t.Options.Model); err != nil {
			return agent.Outcome{}, err
		}
		if isClosed(t.Cancel) {
			return agent.Outcome{StopReason: agent.StopCancelled}, nil
		}
	}
	body := struct {
		Text string `json:"text"`
	}{t.Text}
	data, err := c.client.do(ctx, request{method: http.MethodPost, path: sessionPath(c.native, "/prompt"), body: body, stage: stageTransport})
	if err != nil {
		return agent.Outcome{}, err
	}
	sent, ok := readSent(data)
	if !ok {
		return agent.Outcome{}, unreadable(stageTransport)
	}
	f, cancelled, err := c.poll(ctx, sent, t.Cancel)
	switch {
	case err != nil:
		return agent.Outcome{}, err
	case f.succeeded:
		return c.succeeded(ctx, t.Number, f), nil
	case cancelled:
		return agent.Outcome{}, agent.Fail(agent.CodeSessionCancelled, agent.StagePrompt, "the turn was cancelled")
	}
	return agent.Outcome{}, f.failure()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// poll reads the session's messages until the turn has ended. A cancel
// interrupts it, and is waited for.
func (c *conn) poll(ctx context.Context, sent sentPrompt, cancel <-chan struct{}) (f finished, cancelled bool, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	wait := pollFirst
	for {
		select {
		case <-timer.C:
		case <-cancel:
			cancel, cancelled = nil, true
			c.interrupt(ctx)
			wait = pollFirst
		case <-ctx.Done():
			return finished{}, cancelled, ctx.Err()
		}
		data, err := c.client.do(ctx, request{
			method: http.MethodGet, path: sessionPath(c.native, "/message"), stage: stageTransport, quota: agent.Uncertain,
		})
		if err != nil {
			return finished{}, cancelled, err
		}
		f, ok := readTurn(data, sent)
		if !ok {
			return finished{}, cancelled, unreadable(stageTransport)
		}
		if f.idle {
			return f, cancelled, nil
		}
		timer.Reset(wait)
		wait = min(2*wait, pollMost)
	}
}

// interrupt asks for the turn's end; whether it comes the polls say.
func (c *conn) interrupt(ctx context.Context) {
	_, err := c.client.do(ctx, request{method: http.MethodPost, path: sessionPath(c.native, "/interrupt"), body: struct{}{}, stage: stageTransport})
	if err != nil {
		c.launch.Log.Warn("interrupt", "error", err)
	}
}

// succeeded emits the turn's chunk and usage, whole, and cuts the outcome's
// text.
func (c *conn) succeeded(ctx context.Context, turn uint64, f finished) agent.Outcome {
	if f.text != "" {
		c.launch.Sink.Emit(ctx, &agent.Event{Kind: agent.KindMessage, Turn: turn, Text: f.text})
	}
	if f.usage != nil {
		c.launch.Sink.Emit(ctx, &agent.Event{
			Kind: agent.KindUsage, Turn: turn, Usage: &agent.UsageReport{Usage: f.usage, Source: agent.SourceReported},
		})
	}
	limit := budget.New(c.spec.spec.MaxOutputBytes)
	text, cut := limit.Text(f.text)
	return agent.Outcome{StopReason: agent.StopEndTurn, Text: text, Truncated: cut, Usage: f.usage}
}
