package buffer

import (
	"time"

	"dragoman/internal/edit/text"
)

// Limits of one page of text (core.md §6 buffer.text).
const (
	PageBytes    = 1 << 20
	MaxPageBytes = 16 << 20
	// KeptFor is how long the snapshot of a read in pages lives.
	KeptFor = 60 * time.Second
)

// TextParams are the params of Text. At most one of Range and From is set.
type TextParams struct {
	Buffer   ID
	Range    *Range
	From     *text.Position
	MaxBytes int
	Revision *int64
	Unit     text.Unit
}

// TextResult is a page.
type TextResult struct {
	Text       string
	Revision   int64
	Start, End text.Position
	// Next is where the next page starts; nil: this was the last.
	Next *text.Position
	EOF  bool
}

// keptText is the text of an older revision that somebody reads in pages.
type keptText struct {
	text  text.Text
	until time.Time
}

// Text gives a page of a buffer's text (buffer.text): after the last line end
// that fits, else at a character.
func (s *Set) Text(p TextParams) (TextResult, error) {
	t, revision, err := s.textAt(p)
	if err != nil {
		return TextResult{}, err
	}
	start, stop := 0, t.Len()
	if p.From != nil {
		if start, err = t.Offset(*p.From, p.Unit); err != nil {
			return TextResult{}, badIndex("from", err)
		}
	}
	if p.Range != nil {
		if start, stop, err = offsets(t, *p.Range, p.Unit, "range"); err != nil {
			return TextResult{}, err
		}
	}
	limit := p.MaxBytes
	if limit <= 0 {
		limit = PageBytes
	}
	end := pageEnd(t, start, stop, min(limit, MaxPageBytes))
	r := TextResult{
		Text: string(t.AppendWire(nil, start, end)), Revision: revision,
		Start: t.Position(start, p.Unit), End: t.Position(end, p.Unit), EOF: end == t.Len(),
	}
	if end < stop {
		r.Next = &r.End
		s.keep(p.Buffer, revision, t)
	}
	return r, nil
}

func offsets(t text.Text, r Range, u text.Unit, key string) (start, end int, err error) {
	if start, err = t.Offset(r.Start, u); err != nil {
		return 0, 0, badIndex(key, err)
	}
	if end, err = t.Offset(r.End, u); err != nil {
		return 0, 0, badIndex(key, err)
	}
	if end < start {
		return 0, 0, badRequest(key, "backwards", "the range ends before it starts")
	}
	return start, end, nil
}

// pageEnd cuts [start,stop) to at most limit bytes, but never to none.
func pageEnd(t text.Text, start, stop, limit int) int {
	end := start + limit
	if end >= stop {
		return stop
	}
	if line := t.LineStart(t.LineOf(end)); line > start {
		return line
	}
	for end > start && !t.Boundary(end) {
		end--
	}
	if end == start {
		_, n := t.RuneAt(start)
		return start + n
	}
	return end
}

// textAt gives the text of the revision that p asks for.
func (s *Set) textAt(p TextParams) (text.Text, int64, error) {
	b, err := s.locked(p.Buffer)
	if err != nil {
		return text.Text{}, 0, err
	}
	defer b.mu.Unlock()
	b.expireLocked()
	if p.Revision == nil || *p.Revision == b.revision {
		return b.store.Snapshot(), b.revision, nil
	}
	if k, ok := b.kept[*p.Revision]; ok {
		return k.text, *p.Revision, nil
	}
	return text.Text{}, 0, stale(b.revision)
}

// keep holds a text for the pages that follow.
func (s *Set) keep(id ID, revision int64, t text.Text) {
	if b, err := s.locked(id); err == nil {
		b.kept[revision] = keptText{t, s.now().Add(KeptFor)}
		b.mu.Unlock()
	}
}

func (b *Buffer) expireLocked() {
	now := b.set.now()
	for revision, k := range b.kept {
		if !now.Before(k.until) {
			delete(b.kept, revision)
		}
	}
}
