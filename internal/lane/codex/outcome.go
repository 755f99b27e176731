package codex

import (
	"fmt"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// outcome makes the outcome of a turn that has ended.
func outcome(t *turn, turn acp.Object) (agent.Outcome, error) {
	switch status := turn.Str("status"); status {
	case "interrupted":
		return cancelled(), nil
	case "failed":
		return agent.Outcome{}, failure(turn.Object("error"), t.produced)
	case "", "completed":
		return agent.Outcome{StopReason: agent.StopEndTurn}, nil
	default:
		return agent.Outcome{StopReason: status}, nil
	}
}

// failure makes the error of a turn that failed.
func failure(fault acp.Object, produced bool) *agent.Error {
	text := fault.Str("message")
	if more := fault.Str("additionalDetails"); more != "" {
		text += ": " + more
	}
	info, status := errorInfo(fault)
	if info != "" && info != "other" {
		text += " (" + info
		if status != 0 {
			text += fmt.Sprintf(", HTTP %d", status)
		}
		text += ")"
	}
	certainty := agent.Certain
	if produced {
		certainty = agent.Uncertain
	}
	switch {
	case info == "unauthorized", status == 401, status == 403:
		return agent.Fail(agent.CodeAuthRequired, agent.StagePrompt, text)
	case info == "usageLimitExceeded", info == "serverOverloaded", status == 429, agent.Quota(text):
		return agent.FailQuota(agent.StagePrompt, text, certainty)
	}
	return agent.FailTurn(agent.StagePrompt, text, certainty)
}

// errorInfo reads codexErrorInfo: a word, or an object of one member with a
// status in it.
func errorInfo(fault acp.Object) (info string, status int64) {
	value := fault.Get("codexErrorInfo")
	if word, ok := acp.Text(value); ok {
		return word, 0
	}
	for _, p := range pairs(acp.AsObject(value)) {
		status, _ = acp.AsObject(p.Value).Int("httpStatusCode")
		return p.Name, status
	}
	return "", 0
}

// refusal is the error of a turn that the agent didn't begin.
func refusal(text string) *agent.Error {
	if agent.Quota(text) {
		return agent.FailQuota(agent.StagePrompt, text, agent.Certain)
	}
	return agent.FailTurn(agent.StagePrompt, text, agent.Certain)
}

// Names of the counts in a total, the app-server's and exec's.
var countNames = [...][2]string{
	{"inputTokens", "input_tokens"}, {"cachedInputTokens", "cached_input_tokens"}, {"cacheWriteInputTokens", "cache_write_input_tokens"},
	{"outputTokens", "output_tokens"}, {"reasoningOutputTokens", "reasoning_output_tokens"}, {"totalTokens", "total_tokens"},
}

// A count is a sum of tokens by the order of countNames; -1 is unknown.
type count [len(countNames)]int64

func readCount(o acp.Object) count {
	var c count
	for i, names := range countNames {
		c[i] = -1
		for _, name := range names {
			if n, ok := o.Int(name); ok && n >= 0 {
				c[i] = n
			}
		}
	}
	return c
}

// minus is what c has grown since o.
func (c count) minus(o count) count {
	for i := range c {
		switch {
		case c[i] < 0:
		case o[i] > c[i]:
			c[i] = -1 // it was counted anew
		case o[i] > 0:
			c[i] -= o[i]
		}
	}
	return c
}

func (c count) usage() *agent.Usage {
	at := func(i int) *int64 {
		if c[i] < 0 {
			return nil
		}
		return &c[i]
	}
	return &agent.Usage{Input: at(0), CachedInput: at(1), CachedWrite: at(2), Output: at(3), Thought: at(4), Total: at(5)}
}

// tokens are a thread's running totals, of which a turn's usage is made.
type tokens struct {
	// resumed: the total holds what was spent before we came.
	resumed bool
	// base is the total at the last turn's end, now the last one told.
	base, now count
	told      bool // since the last turn's end
	context   *agent.ContextUse
}

// take takes a total and what the last answer of the model added to it.
func (s *tokens) take(total, last count) {
	if s.resumed {
		s.base, s.resumed = total.minus(last), false
	}
	s.now, s.told = total, true
}

// turn reports what a turn has cost, at its end.
func (s *tokens) turn() *agent.UsageReport {
	report := &agent.UsageReport{Source: agent.SourceUnknown, Context: s.context}
	if s.told {
		report.Usage, report.Source = s.now.minus(s.base).usage(), agent.SourceDerived
		s.base, s.told = s.now, false
	}
	return report
}

// tokensUpdated takes a thread's running totals. Outside of a turn they are
// history.
func (c *conn) tokensUpdated(m message, params acp.Object) {
	body := params.Object("tokenUsage")
	total, last := readCount(body.Object("total")), readCount(body.Object("last"))
	if size, ok := body.Int("modelContextWindow"); ok && last[5] >= 0 {
		c.tokens.context = &agent.ContextUse{Used: last[5], Size: size}
	}
	if t := c.current(); t == c.outside {
		c.tokens.base, c.tokens.resumed = total, false
		c.emit(t, raw(m))
		return
	}
	c.tokens.take(total, last)
}
