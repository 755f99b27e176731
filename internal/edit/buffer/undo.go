package buffer

import (
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/text"
)

// UndoParams are the params of Undo and Redo.
type UndoParams struct {
	Buffer   ID
	Revision *int64
	Origin   Origin
}

// UndoResult is their result.
type UndoResult struct {
	Revision int64
	// Changed is false only when there was no step.
	Changed bool
}

// Undo takes the last step of a buffer back, whoever made it (buffer.undo).
func (s *Set) Undo(p UndoParams) (UndoResult, error) {
	return s.step(p, p.Origin.because("undo"), (*text.Store).Undo, func(m formatMark) charset.Format { return m.before })
}

// Redo does it again (buffer.redo).
func (s *Set) Redo(p UndoParams) (UndoResult, error) {
	return s.step(p, p.Origin.because("redo"), (*text.Store).Redo, func(m formatMark) charset.Format { return m.after })
}

// formatMark is the mark of a step that changed a buffer's format.
type formatMark struct {
	before, after                   charset.Format
	preferredBefore, preferredAfter EOL
}

func (s *Set) step(p UndoParams, o Origin, do func(*text.Store) (text.Undone, bool), pick func(formatMark) charset.Format) (UndoResult, error) {
	b, err := s.locked(p.Buffer)
	if err != nil {
		return UndoResult{}, err
	}
	defer b.mu.Unlock()
	if p.Revision != nil && *p.Revision != b.revision {
		return UndoResult{}, stale(b.revision)
	}
	before, old := b.infoLocked(), b.store.Snapshot()
	change := Change{facts: b.factsLocked()}
	done, ok := do(b.store)
	if !ok {
		return UndoResult{b.revision, false}, nil
	}
	edits := editsOf(done.Spans, b.store.View())
	b.logSinceLocked(old, edits)
	change.Edits, change.Reset = b.shownLocked(old, effective(old, edits, wireForm), commit{})
	b.finishLocked(change, commit{origin: o, settle: func() {
		if m, ok := done.Mark.(formatMark); ok {
			b.format = pick(m)
			b.preferred = m.preferredBefore
			if b.format == m.after {
				b.preferred = m.preferredAfter
			}
		}
	}})
	b.tellLocked(before)
	return UndoResult{b.revision, true}, nil
}

// editsOf gives the edits that spans were, from the text after them.
func editsOf(spans []text.Span, after text.Text) []text.Edit {
	edits := make([]text.Edit, len(spans))
	shift := 0
	for i, s := range spans {
		at := s.Start + shift
		edits[i] = text.Edit{Start: s.Start, End: s.End, Text: after.Append(nil, at, at+s.New)}
		shift += s.New - (s.End - s.Start)
	}
	return edits
}
