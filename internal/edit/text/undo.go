package text

import "unsafe"

// DefaultUndoBudget is the memory that a store's undo and redo steps may take,
// in bytes (core.md §6, buffer.undo).
const DefaultUndoBudget = 64 << 20

const (
	stepCost  = int(unsafe.Sizeof(step{}))
	moreCost  = int(unsafe.Sizeof(steps{}))
	opCost    = int(unsafe.Sizeof(op{}))
	pieceCost = int(unsafe.Sizeof(piece{}))
)

// A step undoes one change. Most changes insert a little text, so that alone is
// held inline: taking n bytes out at off undoes it. All else is in more.
type step struct {
	off, n int
	more   *steps
}

// steps is a step of several operations, or of one that puts text back. They
// are in the order in which the change was made: undone from the last on.
type steps struct {
	ops  []op
	mark any
	cost int
}

// An op puts ins in place of n bytes at off.
type op struct {
	off, n int
	ins    []piece
}

// history is the linear undo stack of a store.
type history struct {
	undo, redo stack
	budget     int
	cost       int

	current step
	open    bool
	join    bool
	mark    any
	// target is the stack that the open step goes to.
	target *stack
}

// begin opens a step. A new change ends what could be redone.
func (h *history) begin(s Step) {
	for h.redo.len() > 0 {
		h.pop(&h.redo)
	}
	h.open, h.mark, h.target = false, s.Mark, &h.undo
	h.current = step{}
	if s.Join && h.undo.len() > 0 {
		h.current = h.pop(&h.undo)
		h.open = true
	}
	if s.Mark != nil {
		h.widen()
		h.current.more.mark = s.Mark
	}
}

func (s step) cost() int {
	if s.more != nil {
		return stepCost + s.more.cost
	}
	return stepCost
}

func (h *history) pop(from *stack) step {
	s := from.pop()
	h.cost -= s.cost()
	return s
}

// widen turns the current step into one of several operations.
func (h *history) widen() {
	if h.current.more != nil {
		return
	}
	m := &steps{cost: moreCost}
	if h.open {
		m.ops = append(m.ops, op{off: h.current.off, n: h.current.n})
		m.cost += opCost
	}
	h.current = step{more: m}
	h.open = true
}

// record notes that at off n bytes stand where removed stood.
func (h *history) record(off, n int, removed []piece) {
	if len(removed) == 0 && h.current.more == nil {
		if !h.open {
			h.current, h.open = step{off: off, n: n}, true
			return
		}
		if off == h.current.off+h.current.n {
			h.current.n += n
			return
		}
	}
	h.widen()
	m := h.current.more
	m.ops = append(m.ops, op{off: off, n: n, ins: append([]piece(nil), removed...)})
	m.cost += opCost + len(removed)*pieceCost
}

// end closes the step and keeps the budget.
func (h *history) end() {
	if !h.open {
		return
	}
	h.target.push(h.current)
	h.cost += h.current.cost()
	h.current, h.open = step{}, false
	for h.cost > h.budget && h.undo.len() > 1 {
		h.cost -= h.undo.drop().cost()
	}
}

// An Undone says what undoing or redoing a step did.
type Undone struct {
	// Spans are sorted and refer to the text before.
	Spans []Span
	// Mark is the step's mark.
	Mark any
}

// Undo takes the last step back; false: there is none.
func (s *Store) Undo() (Undone, bool) {
	if s.history.undo.len() == 0 {
		return Undone{}, false
	}
	return s.revert(s.history.pop(&s.history.undo), &s.history.redo), true
}

// Redo does the last step that was undone again; false: there is none.
func (s *Store) Redo() (Undone, bool) {
	if s.history.redo.len() == 0 {
		return Undone{}, false
	}
	return s.revert(s.history.pop(&s.history.redo), &s.history.undo), true
}

// CanUndo reports whether there is a step to undo.
func (s *Store) CanUndo() bool { return s.history.undo.len() > 0 }

// CanRedo reports whether a step was undone that can be done again.
func (s *Store) CanRedo() bool { return s.history.redo.len() > 0 }

// UndoBytes is the memory that the steps are reckoned to take.
func (s *Store) UndoBytes() int { return s.history.cost }

func (s *Store) revert(st step, to *stack) Undone {
	h := &s.history
	h.current, h.open, h.target = step{}, false, to
	var spans composer
	var done Undone
	if st.more == nil {
		s.change(st.off, st.off+st.n, nil, 0)
		spans.add(st.off, st.n, 0)
	} else {
		if st.more.mark != nil {
			h.widen()
			h.current.more.mark = st.more.mark
			done.Mark = st.more.mark
		}
		for i := len(st.more.ops) - 1; i >= 0; i-- {
			o := st.more.ops[i]
			n := 0
			for _, p := range o.ins {
				n += int(p.n)
			}
			s.change(o.off, o.off+o.n, o.ins, n)
			spans.add(o.off, o.n, n)
		}
	}
	h.end()
	done.Spans = spans.spans
	return done
}
