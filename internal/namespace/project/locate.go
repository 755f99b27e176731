package project

import (
	"bytes"
	"unicode/utf8"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Limits of the text that goes with a match, in bytes.
const (
	maxLine    = 1000
	lineBefore = 200
)

// A place is a position in all units.
type place struct {
	line int64
	cols [op.Units]int64
}

func (p place) in(u op.Unit) core.Position { return core.Position{Line: p.line, Character: p.cols[u]} }

// A found match, ready for every unit.
type found struct {
	start, end    place
	text          string
	textStart     [op.Units]int64
	before, after []string
	truncated     bool
}

func (f *found) in(u op.Unit) core.SearchMatch {
	return core.SearchMatch{
		Range: core.Range{Start: f.start.in(u), End: f.end.in(u)}, Text: f.text, TextStart: f.textStart[u],
		Before: f.before, After: f.after, Truncated: f.truncated,
	}
}

// A locator gives the places of rising offsets of a text in one pass.
type locator struct {
	text []byte
	// off is the offset that at is the place of; start that of its line.
	off, start int
	at         place
}

// to moves on to an offset.
func (l *locator) to(off int) place {
	part := l.text[l.off:off]
	if n := bytes.Count(part, lineFeed); n > 0 {
		last := bytes.LastIndexByte(part, '\n')
		l.at = place{line: l.at.line + int64(n)}
		l.start = l.off + last + 1
		part = part[last+1:]
	}
	l.at.add(part)
	l.off = off
	return l.at
}

func (p *place) add(part []byte) {
	runes, wide := int64(0), int64(0)
	for i := 0; i < len(part); {
		if part[i] < utf8.RuneSelf {
			i++
			runes++
			continue
		}
		_, n := utf8.DecodeRune(part[i:])
		if n == 4 {
			wide++
		}
		i += n
		runes++
	}
	p.cols[op.UTF8] += int64(len(part))
	p.cols[op.UTF16] += runes + wide
	p.cols[op.UTF32] += runes
}

// match makes what is told of a match.
func (l *locator) match(start, end, context int) found {
	f := found{start: l.to(start)}
	lineStart, lineEnd := l.start, endOfLine(l.text, start)
	from := lineStart
	if lineEnd-lineStart > maxLine {
		from = boundary(l.text, max(lineStart, start-lineBefore))
	}
	to := boundary(l.text, min(lineEnd, from+maxLine))
	f.text, f.truncated = string(l.text[from:to]), from > lineStart || to < lineEnd
	if from > lineStart {
		back := place{}
		back.add(l.text[from:start])
		for u := range f.textStart {
			f.textStart[u] = f.start.cols[u] - back.cols[u]
		}
	}
	f.before = linesBefore(l.text, lineStart, context)
	f.end = l.to(end)
	f.after = linesAfter(l.text, endOfLine(l.text, end), context)
	return f
}

func endOfLine(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// boundary moves back to the start of a character.
func boundary(text []byte, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

func clip(line []byte) string { return string(line[:boundary(line, min(len(line), maxLine))]) }

func linesBefore(text []byte, lineStart, n int) (out []string) {
	from := lineStart
	for i := 0; i < n && from > 0; i++ {
		from = bytes.LastIndexByte(text[:from-1], '\n') + 1
	}
	for from < lineStart {
		end := endOfLine(text, from)
		out = append(out, clip(text[from:end]))
		from = end + 1
	}
	return out
}

func linesAfter(text []byte, lineEnd, n int) (out []string) {
	for i := 0; i < n && lineEnd+1 < len(text); i++ {
		end := endOfLine(text, lineEnd+1)
		out = append(out, clip(text[lineEnd+1:end]))
		lineEnd = end
	}
	return out
}
