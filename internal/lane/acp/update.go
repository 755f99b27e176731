package acp

import (
	"bytes"
	"context"
	"strings"
	"time"

	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
)

// Notify takes the agent's notifications. Only session/update means anything
// to us.
func (c *conn) Notify(_ context.Context, n jsonrpc.Notification) {
	if n.Method != wire.MethodUpdate {
		return
	}
	if u, ok := wire.ReadUpdate(n.Params); ok {
		c.update(u)
	}
}

// update translates one update and emits it.
func (c *conn) update(u wire.Update) {
	c.emitting.Lock()
	defer c.emitting.Unlock()
	t := c.current()
	if c.restored.Load() {
		c.heard.Store(time.Now().UnixNano())
	}
	session := ofSession(u.Kind)
	if !session && u.Kind != wire.UpdateUserChunk {
		t.produced = true
	}
	if t.fenced {
		if !session {
			c.log().Debug("late update of a cancelled turn", "kind", u.Kind)
			return
		}
		t = c.outside
	}
	ev := c.event(u, t)
	if ev == nil {
		return
	}
	ev.Turn = t.number
	ev.Replay = t == c.outside && c.restored.Load() && isHistory(u.Kind)
	out, truncated := t.budget.admit(ev)
	if out != nil {
		c.emit(out)
	}
	if truncated {
		c.emit(&agent.Event{Kind: agent.KindTruncated, Turn: t.number})
	}
}

// emit hands an event to the engine, unless the session closes. c.emitting is
// held.
func (c *conn) emit(ev *agent.Event) {
	if c.host.Err() == nil {
		c.l.Sink.Emit(c.host, ev)
	}
}

// isFenced reports whether a turn has settled without its answer.
func (c *conn) isFenced(t *turn) bool {
	c.emitting.Lock()
	defer c.emitting.Unlock()
	return t.fenced
}

// ofSession reports whether an update is about the session instead of what
// the agent does: it makes no quota uncertain, is no history and no late
// traffic of a turn.
func ofSession(kind string) bool {
	switch kind {
	case wire.UpdateCommands, wire.UpdateMode, wire.UpdateConfig, wire.UpdateInfo:
		return true
	}
	return false
}

// isHistory reports whether a restored session may tell such an update again.
func isHistory(kind string) bool {
	return !ofSession(kind) && kind != wire.UpdateUsage && kind != wire.UpdateNotice
}

// event makes the event of an update; nil for a message without text.
func (c *conn) event(u wire.Update, t *turn) *agent.Event {
	if u.Kind == wire.UpdateMessageChunk {
		return message(u)
	}
	raw := wire.Object(bytes.Clone(u.Raw))
	ev := &agent.Event{Kind: agent.KindRaw, Raw: raw, ACP: true}
	if translate := translators[u.Kind]; translate != nil {
		translate(c, t, raw, ev)
	}
	return ev
}

// message is the event of a chunk of the answer, the hot path: a text costs
// its string and its event.
func message(u wire.Update) *agent.Event {
	text, ok := wire.TextOf(u.Content)
	switch {
	case ok && text == "":
		return nil
	case ok:
		return &agent.Event{Kind: agent.KindMessage, Text: text}
	case wire.AsObject(u.Content) != nil:
		return &agent.Event{Kind: agent.KindRaw, Raw: bytes.Clone(u.Content)}
	}
	return &agent.Event{Kind: agent.KindRaw, Raw: bytes.Clone(u.Raw), ACP: true}
}

// translators fill in the event of an update that has a kind of its own. An
// event that one leaves alone stays raw, as one of a kind that isn't here:
// user_message_chunk, notice, the compaction kinds, and those to come. They
// run on the reading goroutine; raw is the event's own copy.
var translators = map[string]func(c *conn, t *turn, raw wire.Object, ev *agent.Event){
	wire.UpdateThoughtChunk:   thought,
	wire.UpdateToolCall:       toolCall,
	wire.UpdateToolCallUpdate: toolCallUpdate,
	wire.UpdatePlan:           planned,
	wire.UpdateCommands:       commands,
	wire.UpdateMode:           mode,
	wire.UpdateConfig:         config,
	wire.UpdateInfo:           info,
	wire.UpdateUsage:          usage,
}

func thought(_ *conn, _ *turn, raw wire.Object, ev *agent.Event) {
	if text, ok := wire.TextOf(raw.Get("content")); ok {
		ev.Kind, ev.Text = agent.KindThought, text
	}
}

func toolCall(c *conn, t *turn, raw wire.Object, ev *agent.Event) {
	call := wire.ReadToolCall(raw)
	if strings.TrimSpace(call.Title) == "" {
		call.Title = strings.TrimSpace(raw.Str("name"))
	}
	ev.Kind, ev.ToolCall = agent.KindToolCall, &call
	c.calls.note(t, &call)
}

func toolCallUpdate(c *conn, t *turn, raw wire.Object, ev *agent.Event) {
	call := wire.ReadToolCall(raw)
	ev.Kind, ev.ToolCall = agent.KindToolCallUpdate, &call
	c.calls.note(t, &call)
}

func planned(_ *conn, _ *turn, raw wire.Object, ev *agent.Event) {
	if entries := raw.Get("entries"); entries != nil {
		ev.Kind, ev.Value = agent.KindPlan, entries
	}
}

func commands(_ *conn, _ *turn, raw wire.Object, ev *agent.Event) {
	if list := raw.Get("availableCommands"); list != nil {
		ev.Kind, ev.Value = agent.KindCommands, list
	}
}

func mode(c *conn, _ *turn, raw wire.Object, ev *agent.Event) {
	id, ok := raw.Text("currentModeId")
	if !ok {
		return
	}
	ev.Kind, ev.Text = agent.KindMode, id
	c.change(func(s *state) { s.setMode(id) })
}

func config(c *conn, _ *turn, raw wire.Object, ev *agent.Event) {
	options := raw.Get("configOptions")
	if options == nil {
		return
	}
	ev.Kind, ev.Value = agent.KindConfig, options
	c.change(func(s *state) { s.config = options })
}

func info(_ *conn, _ *turn, raw wire.Object, ev *agent.Event) {
	if title, ok := raw.Text("title"); ok {
		ev.Kind, ev.Text = agent.KindTitle, title
	}
}

func usage(c *conn, t *turn, raw wire.Object, ev *agent.Event) {
	report := &agent.UsageReport{Source: agent.SourceReported}
	used, ok := raw.Int("used")
	size, okSize := raw.Int("size")
	if ok && okSize {
		report.Context = &agent.ContextUse{Used: used, Size: size}
	}
	cost := raw.Object("cost")
	if total, ok := cost.Float("amount"); ok {
		report.Cost = &agent.Cost{Amount: c.cost.ofTurn(t, total), Currency: cost.Str("currency")}
	}
	if report.Context == nil && report.Cost == nil {
		return
	}
	ev.Kind, ev.Usage = agent.KindUsage, report
	c.sawUsage()
}

// costs turns the running total that agents report into what one turn cost.
type costs struct {
	turn        *turn
	base, total float64
}

func (c *costs) ofTurn(t *turn, total float64) float64 {
	if c.turn != t {
		c.turn, c.base = t, c.total
	}
	if total < c.base { // the agent began to count anew
		c.base = 0
	}
	c.total = total
	return total - c.base
}

// calls joins what was said of each tool call of a turn.
type calls struct {
	turn *turn
	byID map[string]*knownCall
}

type knownCall struct {
	agent.ToolCall
	asked bool
}

// known returns what was said of a call, made empty if that is nothing. A
// call without an id is no other one.
func (c *calls) known(t *turn, id string) *knownCall {
	if id == "" {
		return &knownCall{}
	}
	if c.turn != t || c.byID == nil {
		c.turn, c.byID = t, make(map[string]*knownCall)
	}
	k := c.byID[id]
	if k == nil {
		k = &knownCall{ToolCall: agent.ToolCall{ID: id}}
		c.byID[id] = k
	}
	return k
}

// note joins an event's call into what is known, and notes on a call that has
// run whether it was asked for.
func (c *calls) note(t *turn, call *agent.ToolCall) {
	k := c.known(t, call.ID)
	k.join(call)
	if call.Status == "completed" || call.Status == "failed" {
		asked := k.asked
		call.Asked = &asked
		// Nobody asks about it any more: its output needn't stay in memory.
		k.ToolCall = agent.ToolCall{ID: call.ID, Title: k.Title, Kind: k.Kind, Status: k.Status}
	}
}

// join lays the members that call has over those that are known.
func (k *knownCall) join(call *agent.ToolCall) {
	over := func(to *string, from string) {
		if strings.TrimSpace(from) != "" {
			*to = from
		}
	}
	over(&k.Title, call.Title)
	over(&k.Kind, call.Kind)
	over(&k.Status, call.Status)
	if call.HasContent {
		k.Content, k.HasContent = call.Content, true
	}
	if call.Locations != nil {
		k.Locations = call.Locations
	}
	if call.RawInput != nil {
		k.RawInput, k.Argv, k.Shell = call.RawInput, call.Argv, call.Shell
	}
	if call.RawOutput != nil {
		k.RawOutput = call.RawOutput
	}
}
