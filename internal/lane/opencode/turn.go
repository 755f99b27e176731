package opencode

import (
	"strings"

	"dragoman/internal/lane/native"
	"dragoman/internal/lane/usage"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A run is what is known of one turn.
type run struct {
	turn *native.Turn
	// own are the ids of the prompt's message and of those that OpenCode adds
	// to it. None yet: what comes belongs to another turn.
	own map[string]bool
	// messages are the model's, as they were told last, in order.
	messages map[string]acp.Object
	order    []string
	parts    map[string]string // the text of a part that was told, by its id
	calls    map[string]*call
	fault    acp.Object
}

func newRun(t *native.Turn) *run {
	return &run{turn: t, own: make(map[string]bool), messages: make(map[string]acp.Object), parts: make(map[string]string), calls: make(map[string]*call)}
}

// running is the run of the current turn.
func (c *conn) running() *run {
	if t := c.session.Current(); c.run.turn != t {
		c.run = newRun(t)
	}
	return c.run
}

// message takes what is known of a message: whose it is, what it has cost.
func (c *conn) message(e event) {
	r, info := c.running(), e.props.Object("info")
	id := info.Str("id")
	switch info.Str("role") {
	case roleUser:
		if !c.users[id] && !r.turn.Outside() {
			r.own[id] = true
			if model := info.Object("model"); model.Str("modelID") != "" {
				name := model.Str("providerID") + "/" + model.Str("modelID")
				c.mu.Lock()
				c.state.shown = name
				c.mu.Unlock()
			}
		}
		c.users[id] = true
	case roleAssistant:
		if !r.own[info.Str("parentID")] {
			return
		}
		if r.messages[id] == nil {
			r.order = append(r.order, id)
		}
		r.messages[id] = info
	default:
		c.keep(e)
	}
}

// errored keeps the error until the turn ends. One that comes before the
// turn's own message ends it: nothing follows.
func (c *conn) errored(e event) {
	r := c.running()
	if r.turn.Outside() {
		c.keep(e)
		return
	}
	r.fault = e.props.Object("error")
	if len(r.own) == 0 {
		c.finish(r)
	}
}

// idle ends the turn, unless it is an earlier one's.
func (c *conn) idle(event) {
	if r := c.running(); len(r.own) > 0 {
		c.finish(r)
	}
}

// finish ends the turn of a run.
func (c *conn) finish(r *run) {
	used := c.report(r)
	last := acp.Object(nil)
	if len(r.order) > 0 {
		last = r.messages[r.order[len(r.order)-1]]
	}
	failed := r.fault
	if failed == nil {
		failed = last.Object("error")
	}
	out, err := agent.Outcome{StopReason: stopOf(last.Str("finish"))}, error(nil)
	if failed != nil {
		out, err = readFault(failed).outcome(r.turn)
	}
	if err == nil {
		out.Usage = used
	}
	clear(c.stale)
	r.turn.End(out, err)
}

// stops are finish reasons by ours; others are passed through.
var stops = map[string]string{
	"": agent.StopEndTurn, "stop": agent.StopEndTurn, "tool-calls": agent.StopEndTurn,
	"length": agent.StopMaxTokens, "content-filter": agent.StopRefusal,
}

func stopOf(finish string) string {
	if ours, ok := stops[finish]; ok {
		return ours
	}
	return finish
}

// report tells what the turn has cost: the sum of its messages.
func (c *conn) report(r *run) *agent.Usage {
	var used *agent.Usage
	var cost float64
	var context int64
	for _, id := range r.order {
		info := r.messages[id]
		if u := readTokens(info.Object("tokens")); !u.Zero() {
			used = usage.Add(used, u)
			context = sum(u.Input, u.CachedInput, u.CachedWrite, u.Output, u.Thought)
		}
		amount, _ := info.Float("cost")
		cost += amount
	}
	report := &agent.UsageReport{Usage: used, Source: agent.SourceUnknown}
	if used != nil {
		report.Source = agent.SourceReported
	}
	if cost > 0 { // 0 is what a model without a price costs
		report.Cost = &agent.Cost{Amount: cost, Currency: "USD"}
	}
	c.mu.Lock()
	window := c.state.windows[c.state.currentModel()]
	c.mu.Unlock()
	if window > 0 && context > 0 {
		report.Context = &agent.ContextUse{Used: context, Size: window}
	}
	c.session.Emit(r.turn, &agent.Event{Kind: agent.KindUsage, Usage: report})
	return used
}

func sum(counts ...*int64) (total int64) {
	for _, n := range counts {
		if n != nil {
			total += *n
		}
	}
	return total
}

// readTokens reads a message's counts; nil if it has none.
func readTokens(tokens acp.Object) *agent.Usage {
	if tokens == nil {
		return nil
	}
	count := func(o acp.Object, name string) *int64 {
		if n, ok := o.Int(name); ok && n >= 0 {
			return &n
		}
		return nil
	}
	cache := tokens.Object("cache")
	return &agent.Usage{
		Input: count(tokens, "input"), Output: count(tokens, "output"), Thought: count(tokens, "reasoning"),
		CachedInput: count(cache, "read"), CachedWrite: count(cache, "write"), Total: count(tokens, "total"),
	}
}

// A fault is an error of OpenCode's.
type fault struct {
	name, text string
	status     int64
}

func readFault(o acp.Object) fault {
	data := o.Object("data")
	f := fault{name: o.Str("name"), text: data.Str("message")}
	f.status, _ = data.Int("statusCode")
	if f.text == "" {
		f.text = f.name
	}
	return f
}

// outcome is how a turn with a fault ends.
func (f fault) outcome(t *native.Turn) (agent.Outcome, error) {
	switch {
	case f.name == "MessageAbortedError", t.Interrupted():
		return native.Cancelled(), nil
	case f.name == "MessageOutputLengthError":
		return agent.Outcome{StopReason: agent.StopMaxTokens}, nil
	case f.name == "ProviderAuthError", f.status == 401, f.status == 403:
		return agent.Outcome{}, agent.Fail(agent.CodeAuthRequired, agent.StagePrompt, f.text)
	case f.status == 429, f.status == 529, agent.Quota(f.text):
		return agent.Outcome{}, agent.FailQuota(agent.StagePrompt, f.text, t.Certainty())
	}
	return agent.Outcome{}, agent.FailTurn(agent.StagePrompt, f.text, t.Certainty())
}

// delta takes a piece of a text.
func (c *conn) delta(e event) {
	r, id, text := c.running(), e.props.Str("partID"), e.props.Str("delta")
	told, known := r.parts[id]
	switch {
	case c.stale[id]:
		return // it is told whole, at its end
	case !known || e.props.Str("field") != "text":
		c.keep(e)
		return
	}
	r.parts[id] = told + text
	c.say(r.kindOf(id), text, e.record)
}

// thoughtMark marks the id of a part that is a thought.
const thoughtMark = "thought:"

// kindOf is what a part's text is.
func (r *run) kindOf(id string) agent.EventKind {
	if _, thought := r.parts[thoughtMark+id]; thought {
		return agent.KindThought
	}
	return agent.KindMessage
}

func (c *conn) say(kind agent.EventKind, text string, record acp.Object) {
	if text != "" {
		c.session.Emit(c.session.Current(), &agent.Event{Kind: kind, Text: text, Raw: record})
	}
}

// part takes a part as it stands: what of its text wasn't told yet is told.
func (c *conn) part(e event, part acp.Object) {
	r, id := c.running(), part.Str("id")
	switch message := part.Str("messageID"); {
	case c.users[message]:
		return // the prompt itself
	case r.messages[message] == nil:
		c.keep(e) // another turn's
		return
	}
	switch kind := part.Str("type"); kind {
	case "step-start", "step-finish": // what they cost the messages tell
	case "reasoning", "text":
		if kind == "reasoning" {
			r.parts[thoughtMark+id] = ""
		}
		whole := part.Str("text")
		more, grew := strings.CutPrefix(whole, r.parts[id])
		if _, known := r.parts[id]; !known || grew {
			r.parts[id] = whole
			c.say(r.kindOf(id), more, e.record)
		}
	case "tool":
		c.tool(e, part)
	default:
		c.keep(e)
	}
}
