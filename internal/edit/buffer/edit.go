package buffer

import (
	"bytes"
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	"dragoman/internal/edit/text"
)

// MaxEventBytes is how much text a Change carries; over it, it is a reset
// (core.md §6 buffer.changed).
const MaxEventBytes = 1 << 20

// CoalesceWithin is the time in which edits with one key join one undo step.
const CoalesceWithin = time.Second

// An Edit puts text in place of a range.
type Edit struct {
	Range Range
	// Text is the wire's form.
	Text string
}

// EditParams are the params of Edit.
type EditParams struct {
	Buffer ID
	// Edits all refer to the text before the call.
	Edits []Edit
	Unit  text.Unit
	// Revision, if set, must be the current one.
	Revision *int64
	// Coalesce joins edits with the same key by the same client within
	// CoalesceWithin.
	Coalesce string
	Origin   Origin
}

// EditResult is the result of Edit.
type EditResult struct {
	Revision int64
	// Ranges say where each edit's text now lies, in the order of the params.
	Ranges []Range
}

// joining says what the next change would have to be to join the last one.
type joining struct {
	key   string
	until time.Time
	// revision is the one that the last change made.
	revision int64
}

// Edit changes a buffer's text (buffer.edit): all edits or none.
func (s *Set) Edit(p EditParams) (EditResult, error) {
	b, err := s.locked(p.Buffer)
	if err != nil {
		return EditResult{}, err
	}
	defer b.mu.Unlock()
	if p.Revision != nil && *p.Revision != b.revision {
		return EditResult{}, stale(b.revision)
	}
	edits, order, err := b.offsetsLocked(p.Edits, p.Unit)
	if err != nil {
		return EditResult{}, err
	}
	if p.Origin.Reason == "" {
		p.Origin.Reason = "edit"
	}
	c := commit{origin: p.Origin, join: b.joinKey(p), unit: p.Unit}
	if len(edits) == 1 {
		c.known = &p.Edits[0].Range
	}
	b.commitLocked(edits, c)
	if len(edits) == 1 {
		return EditResult{b.revision, []Range{after(p.Edits[0].Range.Start, edits[0].Text, p.Unit)}}, nil
	}
	return EditResult{b.revision, b.rangesLocked(edits, order, p.Unit)}, nil
}

// after is where a text lies that was put at a position.
func after(start text.Position, s []byte, u text.Unit) Range {
	end := text.Advance(start, s, u)
	return Range{start, end}
}

// joinKey is what edits of one step have in common; "" joins nothing. Edits of
// a run join as long as nobody else edits (documents.md rule 10).
func (b *Buffer) joinKey(p EditParams) string {
	switch {
	case p.Origin.Run != "" && p.Origin.Kind != "client":
		return "run " + p.Origin.Run
	case p.Coalesce != "":
		return "client " + p.Origin.Client + " " + p.Coalesce
	}
	return ""
}

// offsetsLocked turns edits into the store's: sorted, with line ends. order[i]
// is where edit i of the params went.
func (b *Buffer) offsetsLocked(in []Edit, u text.Unit) (edits []text.Edit, order []int, err error) {
	view := b.store.View()
	edits = b.scratch[:0]
	if len(in) > 1 {
		edits = make([]text.Edit, 0, len(in))
	}
	for i, e := range in {
		start, err := view.Offset(e.Range.Start, u)
		if err != nil {
			return nil, nil, badIndex("edits", err)
		}
		end := start
		if e.Range.End != e.Range.Start {
			if end, err = view.Offset(e.Range.End, u); err != nil {
				return nil, nil, badIndex("edits", err)
			}
		}
		if end < start {
			return nil, nil, badRequest("edits", "backwards", "edit %d ends before it starts", i)
		}
		if !utf8.ValidString(e.Text) {
			return nil, nil, badRequest("edits", "type", "the text of edit %d is not UTF-8", i)
		}
		edits = append(edits, text.Edit{Start: start, End: end, Text: toStore(view, b.preferred, e.Text, end)})
	}
	if len(in) < 2 {
		return edits, nil, nil
	}
	return inOrder(edits)
}

// inOrder sorts edits by place, and tells where each went.
func inOrder(in []text.Edit) (edits []text.Edit, index []int, err error) {
	index = make([]int, len(in))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(i, j int) int {
		return cmp.Or(cmp.Compare(in[i].Start, in[j].Start), cmp.Compare(in[i].End, in[j].End))
	})
	edits = make([]text.Edit, len(in))
	for k, i := range index {
		edits[k] = in[i]
		if k > 0 && edits[k].Start < edits[k-1].End {
			return nil, nil, badRequest("edits", "overlap", "edit %d overlaps edit %d", i, index[k-1])
		}
	}
	return edits, index, nil
}

// toStore gives each line end in s the kind of the line that it splits, which
// is the one that ends after off in view, or else the buffer's.
func toStore(view text.Text, preferred EOL, s string, off int) []byte {
	end := byte('\n')
	if m := view.Metrics(); m.CRLF > 0 || preferred == CRLF {
		end = eolOf(m, preferred).byte()
		if line := view.LineOf(off); line < m.Lines {
			end = view.ByteAt(view.LineEnd(line))
		}
	}
	return text.FromWire(s, end)
}

// rangesLocked says where the texts of edits, which were committed, now lie.
func (b *Buffer) rangesLocked(edits []text.Edit, order []int, u text.Unit) []Range {
	view := b.store.View()
	out := make([]Range, len(edits))
	shift := 0
	for k, e := range edits {
		start := e.Start + shift
		end := start + len(e.Text)
		r := Range{Start: view.Position(start, u)}
		r.End = r.Start
		if end > start {
			r.End = view.Position(end, u)
		}
		out[order[k]] = r
		shift += len(e.Text) - (e.End - e.Start)
	}
	return out
}

// commit says how edits enter a buffer.
type commit struct {
	origin Origin
	// join is the key of the step to join; "" makes a step of its own.
	join string
	// mark goes with the undo step.
	mark any
	// exact: edits that change only the kind of line ends count too. The wire
	// doesn't show them, so they make no revision.
	exact bool
	// known is the range of the only edit in unit, where a client gave it.
	known *Range
	unit  text.Unit
	// settle, if set, runs after the edits, with the new revision, and before
	// anybody is told.
	settle func()
}

// silent reports whether nothing but a revision needs to be told.
func (c commit) silent() bool { return c.settle == nil && c.mark == nil && !c.exact }

// commitLocked applies sorted edits, which fit the text, as one revision and
// tells of it. Without an edit that the wire shows there is no revision.
func (b *Buffer) commitLocked(edits []text.Edit, c commit) {
	view := b.store.View()
	shown := effective(view, edits, wireForm)
	if c.exact {
		edits = effective(view, edits, storeForm)
	} else {
		edits = shown
	}
	if !c.silent() {
		before := b.infoLocked()
		defer func() { b.tellLocked(before) }()
	}
	if len(edits) == 0 && c.mark == nil {
		if c.settle != nil {
			c.settle()
		}
		return
	}
	if len(b.kept) > 0 {
		b.expireLocked()
	}
	change := Change{facts: b.factsLocked()}
	change.Edits, change.Reset = b.shownLocked(view, shown, c)
	b.logLocked(edits)
	inside := len(edits) == 0 || edits[len(edits)-1].End < view.Len()
	b.store.ApplyValid(edits, text.Step{Join: b.joinsLocked(c.join), Mark: c.mark})
	if inside {
		// The end is the same, so what ends it is.
		b.finalAt = b.store.Version() + 1
	}
	b.finishLocked(change, c)
}

// finishLocked tells of a change that was applied, as a new revision if the
// wire shows any of it.
func (b *Buffer) finishLocked(change Change, c commit) {
	before := change.facts
	shown := len(change.Edits) > 0 || change.Reset
	if shown {
		b.revision++
		b.joining = joining{key: c.join, revision: b.revision}
		if c.join != "" {
			b.joining.until = b.set.now().Add(CoalesceWithin)
		}
	}
	if c.settle != nil {
		c.settle()
	}
	if !shown {
		return
	}
	change.Buffer, change.From, change.Revision, change.Origin = b.id, b.revision-1, b.revision, c.origin
	change.LineCount, change.Modified = b.store.View().LineCount(), b.modifiedLocked()
	b.set.observer.Changed(change)
	if after := b.factsLocked(); after != before && c.silent() {
		b.set.observer.Info(b.infoLocked(), after.members(before))
	}
}

func (f facts) members(g facts) []string {
	return members(
		Info{EOL: f.eol, Mixed: f.mixed, FinalNewline: f.finalNewline},
		Info{EOL: g.eol, Mixed: g.mixed, FinalNewline: g.finalNewline},
	)
}

// joinsLocked reports whether a change with that key joins the step on top.
func (b *Buffer) joinsLocked(key string) bool {
	j := b.joining
	if key == "" || key != j.key || j.revision != b.revision || !b.store.CanUndo() {
		return false
	}
	return key[0] == 'r' || b.set.now().Before(j.until)
}

// form says in which form two texts are compared.
type form int

const (
	wireForm form = iota
	storeForm
)

// effective leaves out edits of view that put what is there already.
func effective(view text.Text, edits []text.Edit, f form) []text.Edit {
	same := func(e text.Edit) bool {
		if e.End-e.Start != len(e.Text) {
			return false
		}
		if f == storeForm {
			return bytes.Equal(view.Append(nil, e.Start, e.End), e.Text)
		}
		return string(view.AppendWire(nil, e.Start, e.End)) == text.WireString(e.Text)
	}
	for i, e := range edits {
		if !same(e) {
			continue
		}
		out := slices.Clone(edits[:i])
		for _, e := range edits[i:] {
			if !same(e) {
				out = append(out, e)
			}
		}
		return out
	}
	return edits
}

// shownLocked gives the edits of old as a Change shows them, or true if they
// are too much for one.
func (b *Buffer) shownLocked(old text.Text, edits []text.Edit, how commit) ([]ChangedEdit, bool) {
	size := 0
	for _, e := range edits {
		size += len(e.Text)
	}
	if size > MaxEventBytes {
		return nil, true
	}
	units := b.set.observer.Units()
	out := make([]ChangedEdit, len(edits))
	for i, e := range edits {
		c := &out[len(edits)-1-i]
		c.Text = text.WireString(e.Text)
		for u, wanted := range units {
			switch {
			case wanted && how.known != nil && how.unit == text.Unit(u):
				c.Ranges[u] = *how.known
			case wanted:
				c.Ranges[u] = rangeOf(old, e.Start, e.End, text.Unit(u))
			}
		}
	}
	return out, false
}

func rangeOf(t text.Text, start, end int, u text.Unit) Range {
	r := Range{Start: t.Position(start, u)}
	r.End = r.Start
	if end > start {
		r.End = t.Position(end, u)
	}
	return r
}
