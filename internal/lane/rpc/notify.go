package rpc

import (
	"context"
	"strings"

	"dragoman/internal/lane/usage"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// notified takes a notification, on the reading goroutine: its event goes
// out before it can end the turn.
func (c *conn) notified(m message) {
	c.mu.Lock()
	x := c.current
	closed := c.closed
	c.mu.Unlock()
	text, isText := c.spec.textOf(m)
	raw := rawEvent(m)
	switch {
	case closed:
		return
	case x == nil && isText:
		c.emit(c.base, 0, text)
	case x == nil:
		c.launch.Sink.Emit(c.base, &agent.Event{Kind: agent.KindRaw, Raw: raw})
	case isText:
		x.chunk(text)
	default:
		x.raw(raw)
	}
	if x != nil {
		x.note(m)
	}
}

func (c *conn) emit(ctx context.Context, turn uint64, text string) {
	if text != "" {
		c.launch.Sink.Emit(ctx, &agent.Event{Kind: agent.KindMessage, Turn: turn, Text: text})
	}
}

// rawEvent is {method, params}, the params by their bytes.
func rawEvent(m message) []byte {
	b := append([]byte(`{"method":`), quote(m.method)...)
	b = append(b, `,"params":`...)
	return append(append(b, m.params...), '}')
}

// textOf returns the text of a chunk; ok is false for other notifications
// and for a miss.
func (p *spec) textOf(m message) (text string, ok bool) {
	if p.textMethod == "" || m.method != p.textMethod {
		return "", false
	}
	if p.textPath != nil {
		raw, ok := p.textPath.Find(m.params)
		if !ok {
			return "", false
		}
		if text, ok := agent.String(raw); ok {
			return text, true
		}
		return blockText(raw)
	}
	for _, name := range []string{"text", "content", "delta"} {
		if raw, _, ok := ndjson.Get(m.params, name); ok {
			if text, ok := agent.String(raw); ok {
				return text, true
			}
			break
		}
	}
	if raw, _, ok := ndjson.Get(m.params, "item", "text"); ok {
		if text, ok := agent.String(raw); ok {
			return text, true
		}
	}
	return agent.String(m.params)
}

// blockText joins the blocks of type text, or of none.
func blockText(list []byte) (text string, ok bool) {
	blocks, isList := agent.SplitArray(list)
	if !isList {
		return "", false
	}
	var b strings.Builder
	for _, block := range blocks {
		kind, _, typed := ndjson.Get(block, "type")
		if name, _ := agent.String(kind); typed && name != "text" {
			continue
		}
		raw, _, _ := ndjson.Get(block, "text")
		if part, isText := agent.String(raw); isText {
			b.WriteString(part)
			ok = true
		}
	}
	return b.String(), ok
}

// chunk takes text of the turn, within its budget.
func (x *turn) chunk(text string) {
	fits, cut := x.output.Text(text)
	x.mu.Lock()
	x.text.WriteString(fits)
	x.said = x.said || text != ""
	x.mu.Unlock()
	x.conn.emit(x.ctx, x.number, fits)
	if cut {
		x.truncate()
	}
}

// raw takes any other notification. It shares the text's budget.
func (x *turn) raw(raw []byte) {
	if !x.output.Whole(len(raw)) {
		x.truncate()
		return
	}
	x.conn.launch.Sink.Emit(x.ctx, &agent.Event{Kind: agent.KindRaw, Turn: x.number, Raw: raw})
}

// truncate says once that output was left out.
func (x *turn) truncate() {
	if x.truncated {
		return
	}
	x.truncated = true
	x.mu.Lock()
	x.cut = true
	x.mu.Unlock()
	x.conn.launch.Sink.Emit(x.ctx, &agent.Event{Kind: agent.KindTruncated, Turn: x.number})
}

// usageIn reads the token counts of a record.
func (p *spec) usageIn(record []byte) *agent.Usage {
	if p.usagePath != nil {
		raw, _ := p.usagePath.Find(record)
		return usage.Read(raw)
	}
	for _, path := range [][]string{{"usage"}, {"message", "usage"}} {
		if raw, _, ok := ndjson.Get(record, path...); ok {
			if u := usage.Read(raw); u != nil {
				return u
			}
		}
	}
	return nil
}

// note keeps what a notification says of the turn, and ends it if it does.
func (x *turn) note(m message) {
	p := x.conn.spec
	used := p.usageIn(m.params)
	x.mu.Lock()
	defer x.mu.Unlock()
	if used != nil {
		x.usage = used
	}
	if p.failure.marks(m.params) {
		x.mark = m.params
	}
	done, ok := p.completion.match(m)
	if !ok || x.phase == preparing {
		return
	}
	done.textLen = x.text.Len()
	if x.phase == sent {
		x.early = append(x.early, done)
		return
	}
	if p.completion.turnIDPath == nil || done.id == x.id {
		x.completeLocked(done)
	}
}

// marks reports whether params hold the failure mark.
func (f *failure) marks(params []byte) bool {
	if f == nil {
		return false
	}
	raw, ok := f.path.Find(params)
	if !ok || f.value == nil {
		return ok
	}
	text, ok := agent.String(raw)
	return ok && text == *f.value || !ok && string(raw) == *f.value
}

// match reports whether m may end a turn.
func (c *completion) match(m message) (completed, bool) {
	if c == nil || m.method != c.method {
		return completed{}, false
	}
	var done completed
	if c.turnIDPath != nil {
		done.id = idAt(c.turnIDPath, m.params)
	}
	done.status, _ = c.statusPath.Text(m.params)
	return done, c.statusValue == nil || done.status == *c.statusValue
}
