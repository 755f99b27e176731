package envelope

import (
	"context"
	"errors"
	"sync"

	"github.com/go-json-experiment/json"

	"dragoman/envelope/host"
	"dragoman/internal/lane"
	"dragoman/internal/lane/budget"
	"dragoman/wire/agent"
)

// A turn is one running prompt. What stands above questions belongs to the
// host's reading goroutine until the request has ended.
type turn struct {
	conn   *conn
	number uint64
	budget budget.Budget
	// cut: the end of the budget was told.
	cut bool
	// spoke: a message came. produced: anything did.
	spoke, produced bool
	seen            map[string]bool // tool calls

	// life ends with the session; ask when questions are to be withdrawn.
	life, ask context.Context
	dismiss   context.CancelFunc
	questions sync.WaitGroup
}

// promptInput is the input of the prompt operation.
type promptInput struct {
	Text   string  `json:"text"`
	Model  *string `json:"model,omitzero"`
	Effort *string `json:"effort,omitzero"`
}

// errTurnCancelled is the cause of a request's context when its turn is
// cancelled.
var errTurnCancelled = errors.New("the turn was cancelled")

// Prompt runs one turn.
func (c *conn) Prompt(ctx context.Context, lt lane.Turn) (agent.Outcome, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.life, stop)()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return agent.Outcome{}, closedError()
	}
	options := merged(c.l.Options, lt.Options)
	input, err := json.Marshal(promptInput{Text: lt.Text, Model: options.Model, Effort: options.Effort})
	if err != nil {
		return agent.Outcome{}, agent.Fail(agent.CodeProtocolError, agent.StagePrompt, err.Error())
	}
	t := &turn{conn: c, number: lt.Number, budget: budget.New(c.plan.spec.MaxOutputBytes), seen: make(map[string]bool), life: ctx}
	t.ask, t.dismiss = context.WithCancel(ctx)
	request, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-lt.Cancel:
			cancel(errTurnCancelled)
		case <-request.Done():
		}
	}()
	outcome, err := c.host.Request(request, c.plan.operation, input, host.RequestOptions{OnEvent: t.event, OnCancel: t.dismiss})
	wasCancelled := errors.Is(context.Cause(request), errTurnCancelled)
	closing := ctx.Err() != nil
	cancel(nil)
	<-watched
	t.dismiss()
	t.questions.Wait()
	switch {
	case closing:
		return agent.Outcome{}, closedError()
	case err != nil:
		return t.failed(err, wasCancelled)
	}
	return t.completed(outcome), nil
}

// merged are the session's options under the turn's.
func merged(session, turn agent.Options) agent.Options {
	if turn.Model == nil {
		turn.Model = session.Model
	}
	if turn.Effort == nil {
		turn.Effort = session.Effort
	}
	return turn
}

func closedError() *agent.Error {
	return agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "the session was closed", agent.FlagsUncertain)
}

// failed translates an error of the request.
func (t *turn) failed(err error, wasCancelled bool) (agent.Outcome, error) {
	var e *host.Error
	if !errors.As(err, &e) {
		return agent.Outcome{}, agent.Fail(agent.CodeProtocolFailed, agent.StagePrompt, err.Error())
	}
	switch {
	case e.Origin == host.FromAgent && wasCancelled && e.Code == host.CodeCancelled,
		e.Origin == host.FromHost && e.Code == host.CodeCancelled:
		out := agent.Outcome{StopReason: agent.StopCancelled, Truncated: t.cut}
		if e.UncertainEffect {
			out.Suspect = agent.SuspectCancelUnanswered
		}
		return out, nil
	case e.Origin == host.FromAgent:
		flags := agent.Flags{Retryable: e.Retryable, Uncertain: t.produced}
		return agent.Outcome{}, agent.FailFlags(agent.CodeTurnFailed, agent.StagePrompt, e.Error(), flags)
	case e.Origin == host.FromHost && e.Code == host.CodeInvalidConfiguration:
		// Nothing was sent: the prompt is over the protocol's budgets.
		return agent.Outcome{}, agent.Fail(agent.CodePromptChannelUnsatisfied, agent.StagePrompt, e.Message)
	}
	detail := e.Message
	if e.Origin == host.FromConnection {
		detail = e.Error()
	}
	return agent.Outcome{}, agent.FailFlags(agent.CodeProtocolFailed, agent.StagePrompt, detail, agent.FlagsBroken)
}

// completed makes the outcome. A text that no message brought is one.
func (t *turn) completed(o host.Outcome) agent.Outcome {
	var last struct {
		Text       string    `json:"text"`
		StopReason string    `json:"stopReason"`
		Usage      usageBody `json:"usage"`
	}
	if o.Output == nil {
		return agent.Outcome{StopReason: agent.StopEndTurn, Truncated: t.cut}
	}
	if err := json.Unmarshal(o.Output, &last); err != nil {
		t.conn.l.Log.Warn("the output of completed is not as declared", "error", err)
	}
	if last.Text != "" && !t.spoke {
		t.say(&agent.Event{Kind: agent.KindMessage, Text: last.Text, Raw: o.Output})
	}
	if last.StopReason == "" {
		last.StopReason = agent.StopEndTurn
	}
	return agent.Outcome{StopReason: last.StopReason, Usage: last.Usage.counts(), Truncated: t.cut}
}
