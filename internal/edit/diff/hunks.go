package diff

import (
	"fmt"
	"strings"

	"dragoman/internal/edit/text"
)

// ContextLines is the number of unchanged lines around a hunk's changes.
const ContextLines = 3

// MaxHunkBytes is how much text the hunks of one comparison hold, in bytes
// (core.md §6).
const MaxHunkBytes = 1 << 20

// A Line is one line of a hunk.
type Line struct {
	// Op is ' ', '+' or '-'.
	Op byte
	// Text is the line without its end.
	Text string
	// NoEOL: the line is the last one and has no line end.
	NoEOL bool
}

// A Hunk is a run of changes with the lines around them, 1-based as in unified
// diffs.
type Hunk struct {
	OldStart, OldLines, NewStart, NewLines int
	Lines                                  []Line
}

// Hunks compares two texts. truncated says that hunks after MaxHunkBytes of
// text were left out.
func Hunks(a, b text.Text) (hunks []Hunk, truncated bool) {
	changes := Lines(a, b)
	size := 0
	for i := 0; i < len(changes); {
		j := i + 1
		for j < len(changes) && changes[j].OldStart-changes[j-1].OldEnd <= 2*ContextLines {
			j++
		}
		h, n := hunk(a, b, changes[i:j], MaxHunkBytes-size)
		if n < 0 {
			return hunks, true
		}
		hunks, size, i = append(hunks, h), size+n, j
	}
	return hunks, false
}

// hunk makes one hunk and gives the bytes that it holds; -1 if over room.
func hunk(a, b text.Text, changes []Change, room int) (Hunk, int) {
	first, last := changes[0], changes[len(changes)-1]
	oldFrom := max(first.OldStart-ContextLines, 0)
	newFrom := first.NewStart - (first.OldStart - oldFrom)
	oldTo := min(last.OldEnd+ContextLines, lines(a))
	size := lineOffset(a, oldTo) - lineOffset(a, oldFrom)
	for _, c := range changes {
		size += lineOffset(b, c.NewEnd) - lineOffset(b, c.NewStart)
	}
	if size > room {
		return Hunk{}, -1
	}
	h := Hunk{OldLines: oldTo - oldFrom}
	at := oldFrom
	for _, c := range changes {
		h.append(' ', a, at, c.OldStart)
		h.append('-', a, c.OldStart, c.OldEnd)
		h.append('+', b, c.NewStart, c.NewEnd)
		at = c.OldEnd
	}
	h.append(' ', a, at, oldTo)
	for _, l := range h.Lines {
		if l.Op != '-' {
			h.NewLines++
		}
	}
	h.OldStart, h.NewStart = unifiedStart(oldFrom, h.OldLines), unifiedStart(newFrom, h.NewLines)
	return h, size
}

// unifiedStart is a first line as unified diffs count it: the line before if
// there is none.
func unifiedStart(from, n int) int {
	if n == 0 {
		return from
	}
	return from + 1
}

// lines is the number of lines that hold something or end.
func lines(t text.Text) int {
	if t.Len() == 0 || t.FinalNewline() {
		return t.LineCount() - 1
	}
	return t.LineCount()
}

func (h *Hunk) append(op byte, t text.Text, from, to int) {
	for i := from; i < to; i++ {
		start, end := t.LineStart(i), t.LineEnd(i)
		h.Lines = append(h.Lines, Line{op, string(t.Append(nil, start, end)), i == t.LineCount()-1})
	}
}

// Unified writes hunks as a unified diff without file names.
func Unified(hunks []Hunk) string {
	var out strings.Builder
	for _, h := range hunks {
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", unifiedRange(h.OldStart, h.OldLines), unifiedRange(h.NewStart, h.NewLines))
		for _, l := range h.Lines {
			out.WriteByte(l.Op)
			out.WriteString(l.Text)
			out.WriteByte('\n')
			if l.NoEOL {
				out.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	return out.String()
}

func unifiedRange(start, n int) string {
	if n == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, n)
}
