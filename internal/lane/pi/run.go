package pi

import (
	"strings"

	"dragoman/internal/lane/native"
	"dragoman/internal/lane/usage"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A run is what the reading goroutine knows of one turn.
type run struct {
	turn *native.Turn
	// settles: pi tells when it has settled.
	settles              bool
	retrying, compacting bool
	calls                map[string]*call
	// streamed: text or thoughts of the current message came in pieces.
	spoke, thought bool
	// last is the last message of the model's.
	last acp.Object

	used    *agent.Usage
	cost    float64
	context int64
}

// running is the run of the current turn.
func (c *conn) running() *run {
	if t := c.session.Current(); c.run.turn != t {
		c.run = &run{turn: t, settles: c.run.settles, calls: make(map[string]*call)}
	}
	return c.run
}

// spend adds what a message has cost.
func (r *run) spend(message acp.Object) {
	record := message.Object("usage")
	u := usage.Read(record)
	if u.Zero() {
		return
	}
	if n, ok := record.Int("reasoning"); ok {
		u.Thought = &n
	}
	if u.Total != nil {
		r.context = *u.Total
	}
	if total, ok := record.Object("cost").Float("total"); ok {
		r.cost += total
	}
	r.used = usage.Add(r.used, u)
}

// report is the turn's usage event.
func (c *conn) report(r *run) *agent.Event {
	report := &agent.UsageReport{Usage: r.used, Source: agent.SourceUnknown}
	if r.used != nil {
		report.Source = agent.SourceReported
	}
	if r.cost > 0 { // 0 is what a model without a price costs
		report.Cost = &agent.Cost{Amount: r.cost, Currency: "USD"}
	}
	c.mu.Lock()
	size := c.state.window
	c.mu.Unlock()
	if size > 0 && r.context > 0 {
		report.Context = &agent.ContextUse{Used: r.context, Size: size}
	}
	return &agent.Event{Kind: agent.KindUsage, Usage: report}
}

// stops are pi's stop reasons by ours; others are passed through.
var stops = map[string]string{"": agent.StopEndTurn, "stop": agent.StopEndTurn, "toolUse": agent.StopEndTurn, "length": agent.StopMaxTokens}

// finish ends the turn of a run.
func (c *conn) finish(r *run, aborted bool) {
	if r.turn.Outside() {
		return
	}
	c.session.Emit(r.turn, c.report(r))
	stop := r.last.Str("stopReason")
	switch {
	case aborted, stop == "aborted":
		out := native.Cancelled()
		out.Usage = r.used
		r.turn.End(out, nil)
		return
	case stop == "error":
		r.turn.End(c.failed(r.turn, r.last.Str("errorMessage")))
		return
	}
	if ours, ok := stops[stop]; ok {
		stop = ours
	}
	r.turn.End(agent.Outcome{StopReason: stop, Usage: r.used}, nil)
}

// loginTexts say that pi has no key for the model, lower case.
var loginTexts = []string{"401", "403", "no api key", "invalid api key", "/login", "authentication"}

// failed is the end of a turn that failed with a text.
func (c *conn) failed(t *native.Turn, text string) (agent.Outcome, error) {
	if t.Interrupted() {
		return native.Cancelled(), nil
	}
	if text == "" {
		text = "the agent gave no reason"
	}
	folded := strings.ToLower(text)
	for _, word := range loginTexts {
		if strings.HasPrefix(folded, word) || len(word) > 3 && strings.Contains(folded, word) {
			return agent.Outcome{}, agent.Fail(agent.CodeAuthRequired, agent.StagePrompt, text)
		}
	}
	if strings.HasPrefix(folded, "429") || agent.Quota(text) {
		return agent.Outcome{}, agent.FailQuota(agent.StagePrompt, text, t.Certainty())
	}
	return agent.Outcome{}, agent.FailTurn(agent.StagePrompt, text, t.Certainty())
}

// lastAnswer is the last message of the model's in a list.
func lastAnswer(messages [][]byte) acp.Object {
	for i := len(messages) - 1; i >= 0; i-- {
		if o := acp.AsObject(messages[i]); o.Str("role") == "assistant" {
			return o
		}
	}
	return nil
}
