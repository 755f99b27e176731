package diff

import (
	"dragoman/internal/edit/text"
)

// Edits gives the edits that turn a into b, sorted, each as short as a common
// start and end of its lines allow.
func Edits(a, b text.Text) []text.Edit {
	return editsOf(a, b, Lines(a, b))
}

func editsOf(a, b text.Text, changes []Change) []text.Edit {
	out := make([]text.Edit, 0, len(changes))
	for _, c := range changes {
		e := text.Edit{Start: lineOffset(a, c.OldStart), End: lineOffset(a, c.OldEnd)}
		e.Text = b.Append(nil, lineOffset(b, c.NewStart), lineOffset(b, c.NewEnd))
		out = append(out, Shorten(a, e))
	}
	return out
}

// lineOffset is the start of a line, or the end of the text after the last.
func lineOffset(t text.Text, line int) int {
	if line >= t.LineCount() {
		return t.Len()
	}
	return t.LineStart(line)
}

// Shorten cuts from an edit of t what it wouldn't change at its start and end.
func Shorten(t text.Text, e text.Edit) text.Edit {
	old := t.Append(nil, e.Start, e.End)
	n := samePrefix(old, e.Text)
	for n > 0 && (n < len(old) && !boundary(old[n]) || n < len(e.Text) && !boundary(e.Text[n])) {
		n--
	}
	old, e.Text, e.Start = old[n:], e.Text[n:], e.Start+n
	n = sameSuffix(old, e.Text)
	for n > 0 && !boundary(old[len(old)-n]) {
		n--
	}
	e.Text, e.End = e.Text[:len(e.Text)-n], e.End-n
	return e
}

// boundary reports whether c starts a character.
func boundary(c byte) bool { return c&0xC0 != 0x80 }

// Merge3 merges two texts that came from base: the edits of ours that bring in
// what theirs changed. ok is false if regions of both overlap or touch and
// aren't equal; then nothing is to be applied (documents.md rule 6).
func Merge3(base, ours, theirs text.Text) (edits []text.Edit, ok bool) {
	mine, other := Lines(base, ours), Lines(base, theirs)
	i, shift := 0, 0
	for j := 0; j < len(other); {
		c := other[j]
		for i < len(mine) && mine[i].OldEnd < c.OldStart {
			shift += grown(mine[i])
			i++
		}
		if i == len(mine) || mine[i].OldStart > c.OldEnd {
			edits = append(edits, place(ours, theirs, c, shift))
			j++
			continue
		}
		a, b := cluster(mine[i:], other[j:])
		if !sameCluster(ours, theirs, mine[i:i+a], other[j:j+b]) {
			return nil, false
		}
		for _, m := range mine[i : i+a] {
			shift += grown(m)
		}
		i, j = i+a, j+b
	}
	return edits, true
}

// grown is how many lines longer a change makes the text.
func grown(c Change) int { return (c.NewEnd - c.NewStart) - (c.OldEnd - c.OldStart) }

// place makes change c of base to theirs an edit of ours, which differs from
// base by shift lines before it.
func place(ours, theirs text.Text, c Change, shift int) text.Edit {
	return Shorten(ours, text.Edit{
		Start: lineOffset(ours, c.OldStart+shift),
		End:   lineOffset(ours, c.OldEnd+shift),
		Text:  theirs.Append(nil, lineOffset(theirs, c.NewStart), lineOffset(theirs, c.NewEnd)),
	})
}

// cluster gives how many changes of each side hang together by touching.
func cluster(mine, other []Change) (a, b int) {
	end := max(mine[0].OldEnd, other[0].OldEnd)
	a, b = 1, 1
	for {
		switch {
		case a < len(mine) && mine[a].OldStart <= end:
			end = max(end, mine[a].OldEnd)
			a++
		case b < len(other) && other[b].OldStart <= end:
			end = max(end, other[b].OldEnd)
			b++
		default:
			return a, b
		}
	}
}

// sameCluster reports whether both sides made the same of the same lines.
func sameCluster(ours, theirs text.Text, mine, other []Change) bool {
	if len(mine) != len(other) {
		return false
	}
	for i := range mine {
		m, o := mine[i], other[i]
		if m.OldStart != o.OldStart || m.OldEnd != o.OldEnd {
			return false
		}
		x := ours.Append(nil, lineOffset(ours, m.NewStart), lineOffset(ours, m.NewEnd))
		y := theirs.Append(nil, lineOffset(theirs, o.NewStart), lineOffset(theirs, o.NewEnd))
		if string(x) != string(y) {
			return false
		}
	}
	return true
}
