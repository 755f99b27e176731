package text

import (
	"fmt"
	"runtime"
)

// A Unit is what a Position's character counts.
type Unit int

// The three units of core.md §3.
const (
	UTF8 Unit = iota
	UTF16
	UTF32
)

// String is the unit's name on the wire.
func (u Unit) String() string {
	switch u {
	case UTF16:
		return "utf-16"
	case UTF32:
		return "utf-32"
	default:
		return "utf-8"
	}
}

func (m Metrics) units(u Unit) int {
	switch u {
	case UTF16:
		return m.UTF16()
	case UTF32:
		return m.UTF32()
	default:
		return m.Bytes
	}
}

// A Position is a place between two characters of a line, both 0-based.
// Character never counts the line end.
type Position struct {
	Line, Character int
}

// String is line:character.
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Character) }

// Less orders positions by place.
func (p Position) Less(q Position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Character < q.Character
}

// A PositionError says that a position is outside the text or inside a
// character (bad_index, core.md §5).
type PositionError struct {
	Position Position
	Unit     Unit
	// Reason is "line", "character" or "inside".
	Reason string
}

// Error names the position and what is wrong with it.
func (e *PositionError) Error() string {
	what := map[string]string{
		"line":      "is outside the text",
		"character": "is outside its line",
		"inside":    "is inside a character",
	}[e.Reason]
	return fmt.Sprintf("position %s (%s) %s", e.Position, e.Unit, what)
}

// Offset converts a position to an offset. The error is a *PositionError.
func (t Text) Offset(p Position, u Unit) (int, error) {
	if p.Line < 0 || p.Line > t.root.m.Lines {
		return 0, &PositionError{p, u, "line"}
	}
	if p.Character < 0 {
		return 0, &PositionError{p, u, "character"}
	}
	start, r := t.lineStart(p.Line)
	if p.Character == 0 {
		return start, nil
	}
	if off, ok := r.near(start, p.Character, u); ok {
		return off, nil
	}
	end := t.LineEnd(p.Line)
	if u == UTF8 {
		off := start + p.Character
		if off > end {
			return 0, &PositionError{p, u, "character"}
		}
		if off < end && !isBoundary(t.ByteAt(off)) {
			return 0, &PositionError{p, u, "inside"}
		}
		return off, nil
	}
	target := t.prefix(start).units(u) + p.Character
	if target > t.root.m.units(u) {
		return 0, &PositionError{p, u, "character"}
	}
	off, exact := t.seekUnits(target, u)
	if off > end || off == end && !exact {
		return 0, &PositionError{p, u, "character"}
	}
	if !exact {
		return 0, &PositionError{p, u, "inside"}
	}
	return off, nil
}

// nearMax is how many bytes near looks at, at most.
const nearMax = 4 << 10

// near finds the offset of character n of the line that starts at start, if
// all before it and the byte after lie in piece r. It decides most cases without
// a second way down the tree; false: it can't tell.
func (r run) near(start, n int, u Unit) (int, bool) {
	if r.p.c == nil {
		return 0, false
	}
	from := r.p.off + uint32(start-r.at)
	rest := int(r.p.off + r.p.n - from)
	if n >= rest || n > nearMax {
		return 0, false
	}
	b := r.p.c.data[from : int(from)+n+1]
	ok := indexLineEnd(b[:n]) < 0 && isBoundary(b[n]) && (u == UTF8 || isASCII(b[:n]))
	runtime.KeepAlive(r.p.c)
	return start + n, ok
}

// seekUnits gives the offset before which the text has k units; if k splits a
// character, the offset before that and false.
func (t Text) seekUnits(k int, u Unit) (int, bool) {
	n, at := t.root.n, 0
	for n.kids != nil {
		i := 0
		for i < len(n.kids)-1 && n.kids[i].m.units(u) < k {
			k -= n.kids[i].m.units(u)
			at += n.kids[i].m.Bytes
			i++
		}
		n = n.kids[i].n
	}
	for i := range n.pieces {
		p := &n.pieces[i]
		units := unitsOf(int(p.n), p.counts, u)
		if units >= k {
			off, exact := p.c.afterUnits(p.off, p.off+p.n, k, u)
			return at + int(off-p.off), exact
		}
		k -= units
		at += int(p.n)
	}
	return at, k == 0
}

// Position converts an offset, which lies in the text and between characters.
func (t Text) Position(off int, u Unit) Position {
	m := t.prefix(off)
	start := t.LineStart(m.Lines)
	if u == UTF8 || start == off {
		return Position{m.Lines, off - start}
	}
	return Position{m.Lines, m.units(u) - t.prefix(start).units(u)}
}

// Advance is the position after s, which is in the store's form, was put at p.
func Advance(p Position, s []byte, u Unit) Position {
	c, ascii := tally(s)
	if c.lines > 0 {
		last := len(s)
		for !IsLineEnd(s[last-1]) {
			last--
		}
		p = Position{Line: p.Line + int(c.lines)}
		s = s[last:]
	}
	if u == UTF8 || ascii {
		return Position{p.Line, p.Character + len(s)}
	}
	return Position{p.Line, p.Character + unitsOf(len(s), scan(s), u)}
}
