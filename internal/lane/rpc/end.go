package rpc

import (
	"dragoman/internal/lane/budget"
	"dragoman/internal/lane/jsonpath"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// idAt is a turn id: a string or a number.
func idAt(path jsonpath.Path, value []byte) string {
	raw, ok := path.Find(value)
	if !ok {
		return ""
	}
	return idText(raw)
}

// reply takes the prompt's reply, on the reading goroutine.
func (x *turn) reply(m message, err error) {
	x.mu.Lock()
	pending := x.phase == sent
	x.mu.Unlock()
	switch {
	case !pending:
	case err != nil:
		x.finish(agent.Outcome{}, x.conn.lost(x.ctx, stageCall, err))
	case m.failed:
		x.finish(agent.Outcome{}, refused(m, x.certainty()))
	case x.conn.spec.completion == nil:
		x.result(m.result)
	default:
		x.accepted(m.result)
	}
}

// certainty is Uncertain once the turn has given output.
func (x *turn) certainty() agent.Certainty {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.certaintyLocked()
}

func (x *turn) certaintyLocked() agent.Certainty {
	if !x.said && x.usage.Zero() {
		return agent.Certain
	}
	return agent.Uncertain
}

// result ends a turn whose reply is its end. The reply's text has a budget
// of its own.
func (x *turn) result(result []byte) {
	p := x.conn.spec
	out := agent.Outcome{StopReason: agent.StopEndTurn}
	for _, name := range []string{"stopReason", "stop_reason", "status"} {
		raw, _, _ := ndjson.Get(result, name)
		if word, ok := agent.String(raw); ok {
			out.StopReason = word
			break
		}
	}
	text, ok := p.resultText.Text(result)
	if !ok {
		text = compact(result)
	}
	own := budget.New(p.max)
	text, cut := own.Text(text)
	if cut {
		x.truncate()
	}
	used := p.usageIn(result)
	x.mu.Lock()
	defer x.mu.Unlock()
	if used != nil {
		x.usage = used
	}
	out.Text, out.Truncated, out.Usage = text, x.cut, x.usage
	x.finishLocked(out, nil)
}

// accepted takes the reply of a turn that a notification ends, which may
// have come already.
func (x *turn) accepted(result []byte) {
	c := x.conn.spec.completion
	x.mu.Lock()
	if c.turnIDPath != nil {
		if x.id = idAt(c.turnIDPath, result); x.id == "" {
			x.finishLocked(agent.Outcome{}, agent.Fail(agent.CodeTurnIDMissing, stagePrompt, "the reply to the prompt holds no turn id"))
			x.mu.Unlock()
			return
		}
	}
	x.phase = replied
	close(x.idKnown)
	for _, done := range x.early {
		if c.turnIDPath == nil || done.id == x.id {
			x.completeLocked(done)
			break
		}
	}
	x.mu.Unlock()
}

// disconnected fails a turn whose connection ends after its reply.
func (c *conn) disconnected(why error) {
	c.mu.Lock()
	x := c.current
	c.mu.Unlock()
	if x != nil && !x.isPreparing() {
		x.finish(agent.Outcome{}, c.lost(x.ctx, stageRead, why))
	}
}

// completeLocked ends the turn by its notification.
func (x *turn) completeLocked(done completed) {
	if x.mark != nil {
		x.finishLocked(agent.Outcome{}, x.failedLocked())
		return
	}
	out := agent.Outcome{
		StopReason: agent.StopEndTurn, Text: x.text.String()[:done.textLen], Truncated: x.cut, Usage: x.usage,
	}
	if done.status != "" {
		out.StopReason = done.status
	}
	x.finishLocked(out, nil)
}

// failedLocked is the error of a turn with a failure mark.
func (x *turn) failedLocked() *agent.Error {
	f := x.conn.spec.failure
	detail, ok := f.message.Text(x.mark)
	if !ok {
		raw, _ := f.path.Find(x.mark)
		detail = idText(raw)
	}
	if agent.Quota(detail) {
		return agent.FailQuota(agent.StagePrompt, detail, x.certaintyLocked())
	}
	return agent.FailTurn(agent.StagePrompt, detail, x.certaintyLocked())
}
