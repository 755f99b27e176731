package cli

import (
	"bytes"
	"strings"

	"dragoman/internal/lane/budget"
	"dragoman/internal/lane/usage"
	"dragoman/internal/lane/utf8join"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// minLineLimit is the least limit in bytes of a line of jsonLines that is
// parsed; a larger output budget raises it.
const minLineLimit = 1 << 20

// output makes events and the outcome's text of a turn's stdout. One
// goroutine writes to it.
type output struct {
	spec *spec
	turn uint64
	emit func(ev *agent.Event)
	bind func(id string)

	decoder utf8join.Decoder
	piece   []byte // the decoder's, reused
	text    strings.Builder
	textCap budget.Budget
	textCut bool

	lineCap  budget.Budget
	limit    int
	line     []byte
	tooLong  bool
	scanner  ndjson.Scanner
	bound    bool
	result   string
	resultOK bool

	usage     *agent.Usage
	any       bool
	truncated bool // the event was given
}

func newOutput(p *spec, turn uint64, emit func(*agent.Event), bind func(string)) *output {
	o := &output{
		spec: p, turn: turn, emit: emit, bind: bind,
		textCap: budget.New(p.max), lineCap: budget.New(p.max), limit: ndjson.DefaultMaxLineBytes,
	}
	if p.max != nil {
		o.limit = int(max(*p.max, minLineLimit))
	}
	return o
}

// Write takes bytes of stdout. It never fails.
func (o *output) Write(p []byte) (int, error) {
	o.any = o.any || len(p) > 0
	o.piece = o.decoder.Append(o.piece[:0], p)
	o.take(string(o.piece))
	if o.spec.jsonLines {
		o.split(p)
	}
	return len(p), nil
}

// finish takes what is left at the end of stdout.
func (o *output) finish() {
	o.take(string(o.decoder.Flush(o.piece[:0])))
	if o.spec.jsonLines {
		o.endLine()
	}
}

// take adds text, within the budget.
func (o *output) take(text string) {
	fits, cut := o.textCap.Text(text)
	o.text.WriteString(fits)
	o.textCut = o.textCut || cut
	if o.spec.jsonLines {
		return
	}
	if fits != "" {
		o.send(&agent.Event{Kind: agent.KindMessage, Text: fits})
	}
	if cut {
		o.truncate()
	}
}

func (o *output) send(ev *agent.Event) {
	ev.Turn = o.turn
	o.emit(ev)
}

// truncate says once that output was left out.
func (o *output) truncate() {
	if !o.truncated {
		o.truncated = true
		o.send(&agent.Event{Kind: agent.KindTruncated})
	}
}

// split cuts p into lines. A line over the limit is dropped as it comes.
func (o *output) split(p []byte) {
	for {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if len(o.line)+len(part) > o.limit {
			o.tooLong, o.line = true, nil
		}
		if !o.tooLong {
			o.line = append(o.line, part...)
		}
		if i < 0 {
			return
		}
		o.endLine()
		p = p[i+1:]
	}
}

func (o *output) endLine() {
	line, tooLong := o.line, o.tooLong
	o.line, o.tooLong = o.line[:0], false
	if tooLong {
		o.truncate()
		return
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	if fixed, _, err := o.scanner.Repair(nil, line); err == nil {
		o.record(bytes.Clone(fixed))
	}
}

// record takes a line that is JSON.
func (o *output) record(record []byte) {
	if id, ok := o.spec.sessionIDPath.Text(record); ok && id != "" && !o.bound {
		o.bound = true
		o.bind(id)
	}
	if text, ok := o.spec.result.find(record); ok {
		o.result, o.resultOK = text, true
	}
	var used *agent.Usage
	if raw, ok := o.spec.usagePath.Find(record); ok {
		used = usage.Read(raw)
	}
	if used != nil {
		o.usage = used
	}
	if !o.lineCap.Fit(len(record)) {
		o.truncate()
		return
	}
	if used != nil {
		o.send(&agent.Event{Kind: agent.KindUsage, Usage: &agent.UsageReport{Usage: used, Source: agent.SourceReported}})
	}
	o.send(&agent.Event{Kind: agent.KindRaw, Raw: record})
}

// find returns the text of a record that is a result.
func (r resultRule) find(record []byte) (text string, ok bool) {
	if !r.on {
		return "", false
	}
	raw, _, ok := ndjson.Get(record, r.field)
	if !ok {
		return "", false
	}
	if value, ok := agent.String(raw); !ok || value != r.value {
		return "", false
	}
	return r.path.Text(record)
}

// final is the turn's text, after finish: the last result, else all of
// stdout.
func (o *output) final() string {
	if !o.resultOK {
		if o.textCut {
			o.truncate()
		}
		return o.text.String()
	}
	own := budget.New(o.spec.max)
	text, cut := own.Text(o.result)
	if cut {
		o.truncate()
	}
	return text
}
