package buffer

import (
	"dragoman/internal/edit/diff"
	"dragoman/internal/edit/text"
)

// WriteParams are the params of Write.
type WriteParams struct {
	Buffer ID
	// Base is the text that the writer started from; nil: the buffer's own, so
	// that Text simply takes its place.
	Base *text.Text
	// Text is what is written, with its line ends as on disk.
	Text   text.Text
	Origin Origin
}

// Write merges a whole text into a buffer as one undo step (fs.write through an
// open buffer, documents.md rule 8). Lines that Text doesn't change keep their
// ends. A conflict leaves the buffer as it is.
func (s *Set) Write(p WriteParams) (Info, error) {
	b, err := s.get(p.Buffer)
	if err != nil {
		return Info{}, err
	}
	err = b.transact(nil, func(m moment) ([]text.Edit, commit, error) {
		c := commit{origin: p.Origin.because("write")}
		if p.Origin.Run != "" {
			c.join = "run " + p.Origin.Run
		}
		if p.Base == nil {
			return diff.Edits(m.text, p.Text), c, nil
		}
		edits, ok := diff.Merge3(*p.Base, m.text, p.Text)
		if !ok {
			return nil, c, conflict(ReasonMerge, "%s changed since it was read", b.id)
		}
		return edits, c, nil
	})
	if err != nil {
		return Info{}, err
	}
	return s.Get(p.Buffer)
}

// DiffResult is how two texts differ.
type DiffResult struct {
	Hunks     []diff.Hunk
	Unified   string
	Truncated bool
}

// Diff compares a text, as the old one, with a buffer (buffer.diff). For
// another buffer use its Snapshot, for a literal text Literal.
func (s *Set) Diff(id ID, old text.Text) (DiffResult, error) {
	t, _, err := s.Snapshot(id)
	if err != nil {
		return DiffResult{}, err
	}
	hunks, truncated := diff.Hunks(old, t)
	return DiffResult{hunks, diff.Unified(hunks), truncated}, nil
}

// DiskText gives the text of a buffer's file as it is now.
func (s *Set) DiskText(id ID) (text.Text, error) {
	b, err := s.get(id)
	if err != nil {
		return text.Text{}, err
	}
	path, _, encoding := b.fileState()
	if path == "" {
		return text.Text{}, fail(NoPath, "%s has no path", b.id)
	}
	v, stable, err := s.readOnce(path, encoding, true)
	if err != nil || !stable {
		return text.Text{}, diskError(path, err)
	}
	return v.text, nil
}

// Literal makes a text of a string, in which line ends are as on disk.
func Literal(s string) text.Text {
	var b text.Builder
	_, _ = b.Write([]byte(s))
	return b.Text()
}

// LiteralLike is Literal with every line end of the kind that most lines of a
// buffer have, so that a text of the wire can be compared with it.
func (s *Set) LiteralLike(id ID, str string) (text.Text, error) {
	b, err := s.locked(id)
	if err != nil {
		return text.Text{}, err
	}
	end := eolOf(b.store.View().Metrics(), b.preferred).byte()
	b.mu.Unlock()
	st := text.NewStore(text.Text{}, 0)
	if err := st.Apply([]text.Edit{{Text: text.FromWire(str, end)}}, text.Step{}); err != nil {
		return text.Text{}, badRequest("text", "type", "%v", err)
	}
	return st.Snapshot(), nil
}
