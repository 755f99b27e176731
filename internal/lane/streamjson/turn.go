package streamjson

import (
	"bytes"
	"context"

	"dragoman/internal/lane/budget"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// A turn is one running process. It belongs to the reading goroutine until
// the process has ended, then to Prompt.
type turn struct {
	conn    *conn
	ctx     context.Context
	number  uint64
	scanner ndjson.Scanner
	budget  budget.Budget
	cut     bool // the end of the budget was told
	spoke   bool // a message came
	// produced: anything came that the agent did.
	produced bool
	// edits are the calls whose diff was told.
	edits map[string]bool
	// text and thought came in pieces and not yet as a whole.
	text, thought string

	// ended: the result came. failed: it said so, or an error did.
	ended, failed bool
	faultText     string
	usage         *agent.Usage
}

func newTurn(ctx context.Context, c *conn, number uint64) *turn {
	return &turn{conn: c, ctx: ctx, number: number, budget: budget.New(c.plan.spec.MaxOutputBytes), edits: make(map[string]bool)}
}

// take handles one line, repaired where it has to be. What is no object is
// kept as a string.
func (t *turn) take(line []byte) {
	if t.ctx.Err() != nil {
		return
	}
	line = bytes.TrimSpace(bytes.Clone(line))
	if t.scanner.Scan(line) != nil {
		fixed, _, err := ndjson.Repair(nil, line)
		if err != nil {
			t.emit(&agent.Event{Kind: agent.KindRaw, Raw: ndjson.AppendQuote(nil, string(line))})
			return
		}
		line = fixed
	}
	record := acp.AsObject(line)
	if h := t.conn.plan.dialect.lines[record.Str("type")]; h != nil {
		h(t, record)
		return
	}
	t.raw(line)
}

func (t *turn) raw(record []byte) { t.emit(&agent.Event{Kind: agent.KindRaw, Raw: record}) }

// hello keeps what a process says of itself, which is none of the turn's
// output.
func (t *turn) hello(record acp.Object) {
	t.conn.l.Sink.Emit(t.ctx, &agent.Event{Kind: agent.KindRaw, Turn: t.number, Raw: record})
}

func (t *turn) say(kind agent.EventKind, text string, record acp.Object) {
	if text != "" {
		t.emit(&agent.Event{Kind: kind, Text: text, Raw: record})
	}
}

func (t *turn) notice(level, code, text string) {
	t.emit(&agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{Level: level, Code: code, Text: text}})
}

// emit gives an event to the host, within the turn's budget (sidecar.md §3).
func (t *turn) emit(ev *agent.Event) {
	ev.Turn = t.number
	whole := true
	switch ev.Kind {
	case agent.KindMessage, agent.KindThought:
		t.produced = true
		t.spoke = t.spoke || ev.Kind == agent.KindMessage
		var short bool
		ev.Text, short = t.budget.Text(ev.Text)
		whole = !short
		if short && ev.Text == "" {
			ev = nil
		}
	case agent.KindToolCall, agent.KindToolCallUpdate, agent.KindRaw:
		t.produced = t.produced || ev.Kind != agent.KindRaw
		if whole = t.budget.Whole(len(ev.Raw)); !whole {
			ev = nil
		}
	}
	if ev != nil {
		t.conn.l.Sink.Emit(t.ctx, ev)
	}
	if !whole && !t.cut {
		t.cut = true
		t.conn.l.Sink.Emit(t.ctx, &agent.Event{Kind: agent.KindTruncated, Turn: t.number})
	}
}

// finish takes what a result says of usage, and of failure where fault isn't
// "".
func (t *turn) finish(record acp.Object, u *agent.Usage, failed bool, fault string) {
	t.ended = true
	t.failed = t.failed || failed
	if fault != "" {
		t.faultText = fault
	}
	report := &agent.UsageReport{Source: agent.SourceUnknown}
	if u != nil && (!u.Zero() || !t.failed) {
		t.usage, report.Usage, report.Source = u, u, agent.SourceReported
	}
	t.emit(&agent.Event{Kind: agent.KindUsage, Usage: report, Raw: record})
}

// count is a token count of an object, nil if it isn't there.
func count(o acp.Object, name string) *int64 {
	if n, ok := o.Int(name); ok && n >= 0 {
		return &n
	}
	return nil
}
