package envelope

import (
	"context"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/envelope/host"
	"dragoman/wire/agent"
)

// readers are the events that lanes.md §10 declares, by name; others, and
// those that are not as declared, are raw.
var readers = map[string]func(t *turn, output []byte) *agent.Event{
	"message": func(t *turn, output []byte) *agent.Event { return text(agent.KindMessage, output) },
	"thought": func(t *turn, output []byte) *agent.Event { return text(agent.KindThought, output) },
	"tool":    (*turn).tool,
	"usage":   func(_ *turn, output []byte) *agent.Event { return usage(output) },
}

// event takes one event of the request.
func (t *turn) event(e host.Event) {
	t.produced = true
	if e.Name == "permission" && t.permission(e.Output) {
		return
	}
	var ev *agent.Event
	if read := readers[e.Name]; read != nil {
		ev = read(t, e.Output)
	}
	if ev == nil {
		ev = raw(e)
	}
	t.say(ev)
}

// say emits an event within the turn's budget.
func (t *turn) say(ev *agent.Event) {
	ev.Turn = t.number
	fits := true
	switch ev.Kind {
	case agent.KindMessage, agent.KindThought:
		t.spoke = t.spoke || ev.Kind == agent.KindMessage
		var cut bool
		ev.Text, cut = t.budget.Text(ev.Text)
		fits = !cut
		if cut && ev.Text == "" {
			ev = nil
		}
	default:
		if fits = t.budget.Whole(len(ev.Raw)); !fits {
			ev = nil
		}
	}
	if ev != nil {
		t.conn.l.Sink.Emit(t.life, ev)
	}
	if !fits && !t.cut {
		t.cut = true
		t.conn.l.Sink.Emit(t.life, &agent.Event{Kind: agent.KindTruncated, Turn: t.number})
	}
}

// raw keeps what isn't understood: the event's name and output.
func raw(e host.Event) *agent.Event {
	record := struct {
		Event  string         `json:"event"`
		Output jsontext.Value `json:"output,omitzero"`
	}{e.Name, e.Output}
	b, err := json.Marshal(record)
	if err != nil {
		b = []byte("{}") // a name is a plain word and an output was valid JSON
	}
	return &agent.Event{Kind: agent.KindRaw, Raw: b}
}

func text(kind agent.EventKind, output []byte) *agent.Event {
	var body struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(output, &body) != nil || body.Text == nil {
		return nil
	}
	return &agent.Event{Kind: kind, Text: *body.Text, Raw: output}
}

// toolBody is a tool event, and the part of a call that a permission names.
type toolBody struct {
	ToolCallID string `json:"toolCallId"`
	Title      string `json:"title"`
	Kind       string `json:"kind"`
	Status     string `json:"status"`
}

func (b toolBody) call() agent.ToolCall {
	return agent.ToolCall{ID: b.ToolCallID, Title: b.Title, Kind: b.Kind, Status: b.Status}
}

// tool is the call the first time that its id comes, later an update.
func (t *turn) tool(output []byte) *agent.Event {
	var body toolBody
	if json.Unmarshal(output, &body) != nil || body.ToolCallID == "" {
		return nil
	}
	kind := agent.KindToolCallUpdate
	if !t.seen[body.ToolCallID] {
		kind = agent.KindToolCall
		t.seen[body.ToolCallID] = true
	}
	call := body.call()
	return &agent.Event{Kind: kind, ToolCall: &call, Raw: output}
}

// usageBody is the counts of sidecar.md §2, with cost and context beside them.
type usageBody struct {
	agent.Usage `json:",inline"`
	Cost        *agent.Cost       `json:"cost"`
	Context     *agent.ContextUse `json:"context"`
}

// counts is nil where nothing is known.
func (b usageBody) counts() *agent.Usage {
	u := b.Usage
	if u == (agent.Usage{}) {
		return nil
	}
	return &u
}

func usage(output []byte) *agent.Event {
	var body usageBody
	if json.Unmarshal(output, &body) != nil {
		return nil
	}
	report := &agent.UsageReport{Usage: body.counts(), Source: agent.SourceReported, Cost: body.Cost, Context: body.Context}
	return &agent.Event{Kind: agent.KindUsage, Usage: report, Raw: output}
}

// permissionBody is a permission event.
type permissionBody struct {
	PermissionID string `json:"permissionId"`
	toolBody     `json:",inline"`
	Options      []struct {
		OptionID string `json:"optionId"`
		Name     string `json:"name"`
		Kind     string `json:"kind"`
	} `json:"options"`
}

// permission puts a question where its answer can reach the agent, and
// reports whether it did.
func (t *turn) permission(output []byte) bool {
	var body permissionBody
	if json.Unmarshal(output, &body) != nil || body.PermissionID == "" || len(body.Options) == 0 ||
		!t.conn.host.Has(t.conn.plan.operation+permitSuffix) {
		return false
	}
	call := body.call()
	if call.ID == "" {
		call.ID = body.PermissionID
	}
	asked := true
	call.Asked = &asked
	q := &agent.Question{Turn: t.number, ToolCall: call, Raw: output}
	for _, o := range body.Options {
		q.Options = append(q.Options, agent.Option{ID: o.OptionID, Name: o.Name, Kind: o.Kind, Then: then(o.Kind)})
	}
	t.questions.Go(func() {
		answer := t.conn.l.Sink.Ask(t.ask, q)
		if !q.Offered(answer.OptionID) {
			answer = agent.Answer{}
		}
		// The turn waits until the answer is sent, not for the agent's word.
		sent := make(chan struct{})
		tell := sync.OnceFunc(func() { close(sent) })
		t.conn.work.Go(func() {
			defer tell()
			t.conn.permit(body.PermissionID, answer, tell)
		})
		<-sent
	})
	return true
}

// then: what a reject does is this agent's own matter.
func then(kind string) string {
	if kind == agent.RejectOnce || kind == agent.RejectAlways {
		return agent.ThenUnknown
	}
	return ""
}

// permit tells the agent the answer; sent is called when it is on its way.
func (c *conn) permit(id string, answer agent.Answer, sent func()) {
	input, err := json.Marshal(struct {
		PermissionID string `json:"permissionId"`
		OptionID     string `json:"optionId,omitzero"`
		Cancelled    bool   `json:"cancelled,omitzero"`
	}{id, answer.OptionID, answer.Cancelled()})
	if err == nil {
		_, err = c.host.Request(context.WithoutCancel(c.life), c.plan.operation+permitSuffix, input, host.RequestOptions{OnStart: func(string) { sent() }})
	}
	if err != nil && c.life.Err() == nil {
		c.l.Log.Warn("permission answer refused by the agent", "error", err)
	}
}
