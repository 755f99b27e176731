package match

import (
	"encoding/binary"
	"regexp/syntax"
)

// A transition is the number of the next state, with marks in its high bits.
type transition uint32

const (
	unknown transition = 1 << 31
	// matched: a match ends (or, backwards, starts) before the character.
	matched transition = 1 << 30
	// dead: nothing can match any more.
	dead transition = 1 << 29

	special = unknown | matched | dead
)

// maxTransitions bounds an automaton's table; when it is full, it starts anew.
const maxTransitions = 1 << 20

// A threads is one state: the instructions that go on, the most wanted first,
// not yet led through assertions; those depend on the next character.
type threads struct {
	insts  []uint32
	before category
	// seeking: at each character a new match may start.
	seeking bool
}

// An automaton is built while it is used. It isn't safe for concurrent use.
type automaton struct {
	p *program
	// longest wants the longest match, not the one that the expression's order
	// prefers: so for the backward search.
	longest bool
	states  []threads
	// table has a row a state: a column a class, the last one for the edge.
	table   []transition
	columns int
	known   map[string]transition

	// for closure
	visited []uint32
	stamp   uint32
	stack   []uint32
	list    []uint32
	key     []byte
}

func newAutomaton(p *program, longest bool) *automaton {
	a := &automaton{p: p, longest: longest, columns: p.edge() + 1, visited: make([]uint32, len(p.inst))}
	a.reset()
	return a
}

func (a *automaton) reset() {
	a.states = a.states[:0]
	a.table = a.table[:0]
	a.known = map[string]transition{}
}

// seek is the state in which a match may start anywhere from here on.
func (a *automaton) seek(before category) transition {
	return a.intern(threads{before: before, seeking: true})
}

// anchored is the state in which a match starts here.
func (a *automaton) anchored(before category) transition {
	return a.intern(threads{insts: []uint32{a.p.start}, before: before})
}

// intern gives the number of a state times columns: the start of its row.
func (a *automaton) intern(t threads) transition {
	a.key = a.key[:0]
	a.key = append(a.key, byte(t.before), 0)
	if t.seeking {
		a.key[1] = 1
	}
	for _, i := range t.insts {
		a.key = binary.AppendUvarint(a.key, uint64(i))
	}
	if s, ok := a.known[string(a.key)]; ok {
		return s
	}
	row := transition(len(a.table))
	a.states = append(a.states, threads{append([]uint32(nil), t.insts...), t.before, t.seeking})
	for range a.columns {
		a.table = append(a.table, unknown)
	}
	a.known[string(a.key)] = row
	return row
}

// next computes the transition from row by class, and keeps it. If the table
// is full it starts anew; the result then still holds.
func (a *automaton) next(row transition, class int) transition {
	state := a.states[int(row)/a.columns]
	to, hit := a.step(state, class)
	full := len(a.table) > maxTransitions
	if full {
		a.reset()
	}
	t := dead
	if len(to.insts) > 0 || to.seeking {
		t = a.intern(to)
	}
	if hit {
		t |= matched
	}
	if !full {
		a.table[int(row)+class] = t
	}
	return t
}

// step leads every thread through the assertions that hold before a character
// of class, then over it. hit: a match is complete before that character.
func (a *automaton) step(state threads, class int) (to threads, hit bool) {
	after := a.p.category(class)
	a.closure(state, emptyOps(state.before, after))
	to = threads{before: after, seeking: state.seeking}
	for _, i := range a.list {
		in := &a.p.inst[i]
		if in.Op == syntax.InstMatch {
			hit = true
			if !a.longest {
				to.seeking = false
				break
			}
			continue
		}
		if class != a.p.edge() && consumes(in, a.p.example[class]) && !contains(to.insts, in.Out) {
			to.insts = append(to.insts, in.Out)
		}
	}
	if class == a.p.edge() {
		to.seeking = false
	}
	return to, hit
}

func contains(list []uint32, x uint32) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// closure puts into a.list what state's threads reach without a character, the
// most wanted first.
func (a *automaton) closure(state threads, ops syntax.EmptyOp) {
	a.list = a.list[:0]
	a.stamp++
	for _, i := range state.insts {
		a.follow(i, ops)
	}
	if state.seeking {
		a.follow(a.p.start, ops)
	}
}

func (a *automaton) follow(i uint32, ops syntax.EmptyOp) {
	a.stack = append(a.stack[:0], i)
	for len(a.stack) > 0 {
		i := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.visited[i] == a.stamp {
			continue
		}
		a.visited[i] = a.stamp
		in := &a.p.inst[i]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, in.Arg, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^ops == 0 {
				a.stack = append(a.stack, in.Out)
			}
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, in.Out)
		case syntax.InstFail:
		default:
			a.list = append(a.list, i)
		}
	}
}
