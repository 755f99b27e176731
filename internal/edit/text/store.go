package text

import (
	"errors"
	"fmt"
	"slices"
)

// tailSize is the size of an append block in bytes.
const tailSize = 64 << 10

// ErrEditOrder says that the edits of one call overlap, aren't sorted, leave
// the text, or cut a character.
var ErrEditOrder = errors.New("edits overlap, are out of order or don't fit the text")

// An Edit puts Text in place of the bytes [Start,End).
type Edit struct {
	Start, End int
	// Text is in the store's form ([FromWire]). The store copies it.
	Text []byte
}

func (e Edit) effective() bool { return e.Start < e.End || len(e.Text) > 0 }

// A Span is what one edit did: the bytes [Start,End) of the text before became
// New bytes.
type Span struct {
	Start, End, New int
}

// A Store is a text under change with its undo stack. It has one owner at a
// time.
type Store struct {
	tree    tree
	tail    *chunk
	tailLen uint32
	history history
	one     [1]piece

	saved      Text
	version    int
	comparedAt int
	equal      bool
}

// NewStore makes a store of t. undoBudget bounds the memory of the undo and
// the redo stack together, in bytes; 0 is DefaultUndoBudget. The text counts as
// saved.
func NewStore(t Text, undoBudget int) *Store {
	if undoBudget == 0 {
		undoBudget = DefaultUndoBudget
	}
	s := &Store{tree: tree{root: t.root, own: new(owner)}, history: history{budget: undoBudget}}
	if t.root.n == nil {
		s.tree.root.n = s.tree.newLeaf(nil)
	}
	s.MarkSaved()
	return s
}

// Snapshot is the text as it is now, O(1).
func (s *Store) Snapshot() Text {
	s.tree.own = new(owner)
	return Text{s.tree.root}
}

// View is the text as it is now, valid only until the next change: unlike
// Snapshot it costs the next edit nothing.
func (s *Store) View() Text { return Text{s.tree.root} }

// A Step says how a change enters the undo stack.
type Step struct {
	// Join makes the change part of the step on top instead of a step of its own.
	Join bool
	// Mark is handed back by Undo and Redo. A step with a mark exists also
	// without an edit.
	Mark any
}

// Apply does all edits, which refer to the text before the call, as one undo
// step (or as part of the one on top). They are sorted by place and may touch,
// not overlap. Edits that take and put nothing make no step. On ErrEditOrder
// nothing has changed.
func (s *Store) Apply(edits []Edit, step Step) error {
	if err := s.check(edits); err != nil {
		return err
	}
	s.ApplyValid(edits, step)
	return nil
}

// ApplyValid is Apply for edits that are known to be in order and to fit the
// text: it doesn't look.
func (s *Store) ApplyValid(edits []Edit, step Step) {
	if step.Mark == nil && !slices.ContainsFunc(edits, Edit.effective) {
		return
	}
	s.history.begin(step)
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		s.change(e.Start, e.End, s.addText(e.Text), len(e.Text))
	}
	s.history.end()
}

// Version rises with each change of the text.
func (s *Store) Version() int { return s.version }

func (s *Store) check(edits []Edit) error {
	view, at := s.View(), 0
	for i, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > view.Len() {
			return fmt.Errorf("edit %d at %d-%d of %d: %w", i, e.Start, e.End, view.Len(), ErrEditOrder)
		}
		if !view.Boundary(e.Start) || e.End != e.Start && !view.Boundary(e.End) {
			return fmt.Errorf("edit %d at %d-%d: %w", i, e.Start, e.End, ErrEditOrder)
		}
		at = e.End
	}
	return nil
}

// change replaces and records the inverse.
func (s *Store) change(start, end int, ins []piece, n int) {
	if start == end && n == 0 {
		return
	}
	s.tree.replace(start, end, ins)
	s.version++
	s.history.record(start, n, s.tree.removed)
}

// addText stores b and gives the pieces that hold it, valid until the next call.
func (s *Store) addText(b []byte) []piece {
	if len(b) == 0 {
		return nil
	}
	if len(b) > plainMax {
		return s.addLong(b)
	}
	if s.tail == nil || int(s.tailLen)+len(b) > tailSize {
		s.tail, s.tailLen = &chunk{data: make([]byte, tailSize)}, 0
	}
	off := s.tailLen
	s.tailLen += uint32(copy(s.tail.data[off:], b))
	s.one[0] = piece{c: s.tail, off: off, n: uint32(len(b)), counts: scan(b)}
	return s.one[:]
}

func (s *Store) addLong(b []byte) []piece {
	var out []piece
	for len(b) > 0 {
		n := min(len(b), maxChunk)
		for n < len(b) && !isBoundary(b[n]) {
			n--
		}
		out = append(out, wholePiece(copyChunk(b[:n])))
		b = b[n:]
	}
	return out
}

// copyChunk makes an indexed chunk of a copy of b, off the heap if it is large.
func copyChunk(b []byte) *chunk {
	if len(b) < offHeapMin {
		return newChunk(append([]byte(nil), b...))
	}
	region, err := newRegion(len(b))
	if err != nil {
		return newChunk(append([]byte(nil), b...))
	}
	copy(region, b)
	c := newChunk(region)
	releaseWith(c, region)
	return c
}

func wholePiece(c *chunk) piece {
	return piece{c: c, n: uint32(len(c.data)), counts: c.marks[len(c.marks)-1]}
}

// MarkSaved makes the text as it is now the one that Modified compares with.
func (s *Store) MarkSaved() { s.SetSaved(s.Snapshot()) }

// SetSaved makes t the text that Modified compares with.
func (s *Store) SetSaved(t Text) {
	s.saved = t
	s.comparedAt = -1
}

// Saved is the text that Modified compares with.
func (s *Store) Saved() Text { return s.saved }

// Modified reports whether the text differs from the saved one, line ends
// included. Parts that both share are not compared byte by byte.
func (s *Store) Modified() bool {
	if s.tree.root.m != s.saved.root.m {
		return true
	}
	if s.comparedAt != s.version {
		s.equal, s.comparedAt = Equal(s.View(), s.saved), s.version
	}
	return !s.equal
}
