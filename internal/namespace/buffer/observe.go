package buffer

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	engine "dragoman/internal/edit/buffer"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Events is where the namespace's events go; the hub is one.
type Events interface {
	op.Emitter
	// UnitsUsed says which units a client has had so far.
	UnitsUsed() [op.Units]bool
}

// Observe returns the observer that turns what the engine tells into events.
func Observe(e Events) engine.Observer { return observer{e} }

type observer struct{ events Events }

// Units are those that a client has had, so that one that comes back gets
// positions too.
func (o observer) Units() [engine.UnitCount]bool {
	return [engine.UnitCount]bool(o.events.UnitsUsed())
}

// Opened emits buffer.opened.
func (o observer) Opened(i engine.Info) { o.events.Emit(core.BufferOpened.With(info(i))) }

// Closed emits buffer.closed.
func (o observer) Closed(b engine.ID, path, reason string) {
	o.events.Emit(core.BufferClosed.With(core.BufferClosedParams{
		Buffer: string(b), PathOrNull: core.NewPathOrNull(path), Reason: reason,
	}))
}

// Changed emits buffer.changed with the positions that were computed; a
// client of another unit, which came just now, reads again.
func (o observer) Changed(c engine.Change) {
	o.events.Emit(core.BufferChanged.ByUnit(func(u op.Unit) core.BufferChangedParams {
		p := core.BufferChangedParams{
			Buffer: string(c.Buffer), From: c.From, Revision: c.Revision, Reset: c.Reset,
			LineCount: int64(c.LineCount), Modified: c.Modified, Origin: originOf(c.Origin),
		}
		if c.Reset || !hasUnit(c, u) {
			p.Reset = true
			return p
		}
		p.Edits = make([]core.Edit, len(c.Edits))
		for i, e := range c.Edits {
			p.Edits[i] = core.Edit{Range: rangeOf(e.Ranges[u]), Text: e.Text}
		}
		return p
	}))
}

// hasUnit reports whether the change has positions in a unit: a range at the
// very start of the text is the same in all units, and any other is zero only
// where it wasn't computed.
func hasUnit(c engine.Change, u op.Unit) bool {
	for _, e := range c.Edits {
		for _, r := range e.Ranges {
			if r != (engine.Range{}) && e.Ranges[u] == (engine.Range{}) {
				return false
			}
		}
	}
	return true
}

// Saved emits buffer.saved.
func (o observer) Saved(s engine.Saved) {
	o.events.Emit(core.BufferSaved.With(core.BufferSavedParams{
		Buffer: string(s.Buffer), PathOut: core.NewPath(s.Path), Revision: s.Revision,
		Hash: textOrNull(s.Hash), Bytes: s.Bytes, Origin: originOf(s.Origin),
	}))
}

// Info emits buffer.info with the members that changed.
func (o observer) Info(i engine.Info, members []string) {
	raw, err := json.Marshal(info(i))
	var all map[string]jsontext.Value
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		return // an info is always JSON
	}
	changed := core.BufferInfoChangedParams{"buffer": string(i.Buffer)}
	for _, m := range members {
		changed[m] = all[m]
		if b, ok := all["pathBytes"]; ok && m == "path" {
			changed["pathBytes"] = b
		}
	}
	o.events.Emit(core.BufferInfoChanged.With(changed))
}
