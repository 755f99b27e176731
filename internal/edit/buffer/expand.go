package buffer

import (
	"dragoman/internal/edit/match"
	"dragoman/internal/edit/text"
)

// Expander gives, for a match of p in t, what takes its place: with verbatim
// for a literal query; else with $1, ${name} and $$ expanded. Matches have to
// come in order.
func Expander(t text.Text, p *match.Pattern, with string, o match.Options) func(start, end int) string {
	if !o.Regex {
		return func(int, int) string { return with }
	}
	x := &expander{text: t, pattern: p, with: []byte(with), from: 1}
	return x.expand
}

// expander finds submatches line by line, or in the whole text where matches
// may cross lines.
type expander struct {
	text    text.Text
	pattern *match.Pattern
	with    []byte
	// [from,to) is the part of the text in part; found are its submatches.
	from, to int
	part     []byte
	found    [][]int
}

func (x *expander) expand(start, end int) string {
	if start < x.from || end > x.to {
		x.load(start)
	}
	re := x.pattern.Regexp()
	for len(x.found) > 0 && x.found[0][0]+x.from < start {
		x.found = x.found[1:]
	}
	if len(x.found) > 0 && x.found[0][0]+x.from == start && x.found[0][1]+x.from == end {
		return string(re.Expand(nil, x.with, x.part, x.found[0]))
	}
	// A whole word that the plain expression passes over.
	one := x.part[start-x.from : end-x.from]
	if m := re.FindSubmatchIndex(one); m != nil {
		return string(re.Expand(nil, x.with, one, m))
	}
	return string(re.Expand(nil, x.with, one, []int{0, len(one)}))
}

func (x *expander) load(at int) {
	x.from, x.to = 0, x.text.Len()
	if x.pattern.PerLine() {
		line := x.text.LineOf(at)
		x.from, x.to = x.text.LineStart(line), x.text.LineEnd(line)
	}
	x.part = x.text.AppendWire(nil, x.from, x.to)
	x.found = x.pattern.Regexp().FindAllSubmatchIndex(x.part, -1)
}
