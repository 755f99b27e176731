package claude

import (
	"strings"

	"dragoman/internal/lane/usage"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// result takes the line that ends a turn.
func (c *conn) result(record acp.Object) {
	t := c.current()
	if id := record.Str("session_id"); id != "" && (t != c.outside || !record.True("is_error")) {
		c.mu.Lock()
		changed := c.native != id
		c.native = id
		c.mu.Unlock()
		if changed {
			c.l.Sink.Changed()
		}
	}
	spent := c.totals.turn(record)
	if t == c.outside {
		c.emit(t, raw(record))
		return
	}
	if text := record.Str("result"); !t.spoke && !record.True("is_error") {
		c.say(agent.KindMessage, text, record) // of a command, no model spoke
	}
	report := &agent.UsageReport{Usage: spent.usage, Source: spent.source, Cost: spent.cost, Context: c.windowUse(t, record)}
	c.emit(t, &agent.Event{Kind: agent.KindUsage, Usage: report, Raw: record})
	t.outcome, t.err = outcome(t, record)
	t.outcome.Usage, t.outcome.Truncated = spent.usage, t.cut
	clear(c.calls)
	c.stream = stream{}
	close(t.done)
}

// windowUse is how full the model's window is, nil if unknown.
func (c *conn) windowUse(t *turn, record acp.Object) *agent.ContextUse {
	c.mu.Lock()
	model := c.state.model
	c.mu.Unlock()
	size, ok := record.Object("modelUsage").Object(model).Int("contextWindow")
	if !ok || t.context == nil {
		return nil
	}
	return &agent.ContextUse{Used: *t.context, Size: size}
}

// Words of a result line.
const (
	subtypeSuccess  = "success"
	subtypeMaxTurns = "error_max_turns"
	abortedPrefix   = "aborted_"
)

// stops are Claude's stop reasons by ours; others are passed through.
var stops = map[string]string{
	"": agent.StopEndTurn, "stop_sequence": agent.StopEndTurn, "tool_use": agent.StopEndTurn, "pause_turn": agent.StopEndTurn,
}

// outcome makes the outcome of a result. Success is not success: subtype
// success comes with is_error, too.
func outcome(t *turn, record acp.Object) (agent.Outcome, error) {
	subtype, failed := record.Str("subtype"), record.True("is_error")
	aborted := strings.HasPrefix(record.Str("terminal_reason"), abortedPrefix)
	switch {
	case aborted, t.interrupted.Load() && (failed || subtype != subtypeSuccess):
		return cancelled(), nil
	case subtype == subtypeMaxTurns:
		return agent.Outcome{StopReason: agent.StopMaxTurnRequests}, nil
	case failed, subtype != subtypeSuccess && subtype != "":
		return agent.Outcome{}, failure(t, record)
	}
	stop := record.Str("stop_reason")
	if ours, ok := stops[stop]; ok {
		stop = ours
	}
	return agent.Outcome{StopReason: stop}, nil
}

// loginTexts say that the agent isn't signed in, lower case.
var loginTexts = []string{"/login", "invalid api key", "authentication_error", "oauth token"}

// failure makes the error of a turn that failed.
func failure(t *turn, record acp.Object) *agent.Error {
	text := faultText(record)
	status, _ := record.Int("api_error_status")
	certainty := agent.Certain
	if t.produced {
		certainty = agent.Uncertain
	}
	folded := strings.ToLower(text)
	login := status == 401 || status == 403
	for _, word := range loginTexts {
		login = login || strings.Contains(folded, word)
	}
	switch {
	case login:
		return agent.Fail(agent.CodeAuthRequired, agent.StagePrompt, text)
	case status == 429, status == 529, agent.Quota(text):
		return agent.FailQuota(agent.StagePrompt, text, certainty)
	}
	return agent.FailTurn(agent.StagePrompt, text, certainty)
}

// faultText is what a result says about its failure.
func faultText(record acp.Object) string {
	if text := record.Str("result"); text != "" {
		return text
	}
	var texts []string
	list, _ := record.List("errors")
	for _, item := range list {
		if text, ok := acp.Text(item); ok {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		return strings.Join(texts, "; ")
	}
	return "the agent ended the turn with " + record.Str("subtype")
}

// counts are sums over models.
type counts struct {
	input, output, read, write, thought int64
	cost                                float64
}

// spent is what one turn has cost.
type spent struct {
	usage  *agent.Usage
	source string
	cost   *agent.Cost
}

// totals are what the agent has counted since the session began: it reports
// running totals.
type totals struct {
	// resumed: the first total holds what was spent before.
	resumed bool
	last    counts
}

// turn takes a result and returns what its turn has cost.
func (s *totals) turn(record acp.Object) spent {
	now := sum(record.Object("modelUsage"))
	if total, ok := record.Float("total_cost_usd"); ok {
		now.cost = total
	}
	since, known := now.minus(s.last), !s.resumed
	if own := record.Object("model_usage_since_last_result"); own != nil && s.resumed {
		since, known = sum(own), true
	}
	s.last, s.resumed = now, false
	out := spent{source: agent.SourceUnknown}
	if known && since.cost >= 0 && record.Get("total_cost_usd") != nil {
		out.cost = &agent.Cost{Amount: since.cost, Currency: "USD"}
	}
	reported := readUsage(record.Object("usage"))
	switch {
	case reported != nil && (!reported.Zero() || !record.True("is_error")):
		out.usage, out.source = reported, agent.SourceReported
	case known && since.input+since.output+since.read+since.write > 0:
		out.usage, out.source = since.usage(), agent.SourceDerived
	}
	return out
}

// readUsage reads a result's usage, which is the turn's.
func readUsage(record acp.Object) *agent.Usage {
	if record == nil {
		return nil
	}
	u := usage.Read(record)
	if u == nil {
		return nil
	}
	if n, ok := record.Int("cache_creation_input_tokens"); ok {
		u.CachedWrite = &n
	}
	if n, ok := record.Object("output_tokens_details").Int("thinking_tokens"); ok {
		u.Thought = &n
	}
	return u
}

// sum adds up modelUsage.
func sum(models acp.Object) counts {
	var c counts
	if models == nil {
		return c
	}
	models.Each(func(_, value []byte) bool {
		o := acp.AsObject(value)
		for name, to := range map[string]*int64{
			"inputTokens": &c.input, "outputTokens": &c.output, "cacheReadInputTokens": &c.read,
			"cacheCreationInputTokens": &c.write, "thinkingTokens": &c.thought,
		} {
			n, _ := o.Int(name)
			*to += n
		}
		cost, _ := o.Float("costUSD")
		c.cost += cost
		return true
	})
	return c
}

func (c counts) minus(o counts) counts {
	return counts{c.input - o.input, c.output - o.output, c.read - o.read, c.write - o.write, c.thought - o.thought, c.cost - o.cost}
}

func (c counts) usage() *agent.Usage {
	return &agent.Usage{Input: &c.input, Output: &c.output, CachedInput: &c.read, CachedWrite: &c.write, Thought: &c.thought}
}
