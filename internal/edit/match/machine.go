package match

import "unicode/utf8"

// A machine searches with a pattern's two automata. One goroutine at a time.
type machine struct {
	forward, backward *automaton
}

func newMachine(p *Pattern) *machine {
	return &machine{newAutomaton(p.forward, false), newAutomaton(p.backward, true)}
}

// find gives the leftmost match that starts at or after at and ends at or
// before stop, or -1. What stands before at and after stop decides about
// assertions only.
func (m *machine) find(text []byte, at, stop int) (start, end int) {
	end = m.end(text, at, stop)
	if end < 0 {
		return -1, -1
	}
	return m.start(text, at, end), end
}

// end gives the end of the leftmost match, or -1.
func (m *machine) end(text []byte, at, stop int) int {
	a := m.forward
	row, end := a.seek(before(text, at)), -1
	table, ascii := a.table, &a.p.ascii
	for i := at; i < stop; {
		class, n := 0, 1
		if c := text[i]; c < utf8.RuneSelf {
			class = int(ascii[c])
		} else {
			var r rune
			r, n = utf8.DecodeRune(text[i:])
			class = int(a.p.classOf(r))
		}
		t := table[int(row)+class]
		if t&special != 0 {
			if t == unknown {
				t = a.next(row, class)
				table = a.table
			}
			if t&matched != 0 {
				end = i
			}
			if t&dead != 0 {
				return end
			}
			t &^= special
		}
		row = t
		i += n
	}
	if a.peek(row, a.classAt(text, stop))&matched != 0 {
		end = stop
	}
	return end
}

// start gives the first start of a match that ends at end and starts at or
// after at. There is one.
func (m *machine) start(text []byte, at, end int) int {
	a := m.backward
	row, start := a.anchored(after(text, end)), end
	for i := end; i > at; {
		r, n := utf8.DecodeLastRune(text[at:i])
		class := int(a.p.classOf(r))
		t := a.peek(row, class)
		if t&matched != 0 {
			start = i
		}
		if t&dead != 0 {
			return start
		}
		row = t &^ special
		i -= n
	}
	class := a.p.edge()
	if at > 0 {
		r, _ := utf8.DecodeLastRune(text[:at])
		class = int(a.p.classOf(r))
	}
	if a.peek(row, class)&matched != 0 {
		start = at
	}
	return start
}

// peek gives a transition, computed if need be.
func (a *automaton) peek(row transition, class int) transition {
	t := a.table[int(row)+class]
	if t == unknown {
		t = a.next(row, class)
	}
	return t
}

func (a *automaton) classAt(text []byte, i int) int {
	if i >= len(text) {
		return a.p.edge()
	}
	r, _ := utf8.DecodeRune(text[i:])
	return int(a.p.classOf(r))
}

// before gives the category of the character that ends at i.
func before(text []byte, i int) category {
	if i == 0 {
		return atEdge
	}
	r, _ := utf8.DecodeLastRune(text[:i])
	return categoryOf(r)
}

// after gives the category of the character that starts at i.
func after(text []byte, i int) category {
	if i >= len(text) {
		return atEdge
	}
	r, _ := utf8.DecodeRune(text[i:])
	return categoryOf(r)
}
