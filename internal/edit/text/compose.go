package text

// A composer turns replacements that were done one after the other into
// disjoint spans of the text before all of them.
type composer struct {
	spans []Span
}

// add notes that at off, in the text as the spans so far have made it, n bytes
// became k.
func (c *composer) add(off, n, k int) {
	if n == 0 && k == 0 {
		return
	}
	// delta is what the spans before off have shifted it by.
	i, delta := 0, 0
	for i < len(c.spans) {
		s := c.spans[i]
		if s.Start+delta+s.New >= off {
			break
		}
		delta += s.New - (s.End - s.Start)
		i++
	}
	merged := Span{Start: off - delta, End: off - delta + n, New: k}
	j, end := i, off+n
	for j < len(c.spans) {
		s := c.spans[j]
		at := s.Start + delta
		if at > end {
			break
		}
		// The part of this span that lies before off, and after off+n, stays.
		merged.New += max(off-at, 0) + max(at+s.New-end, 0)
		merged.Start = min(merged.Start, s.Start)
		delta += s.New - (s.End - s.Start)
		merged.End = max(s.End, end-delta)
		j++
	}
	rest := append([]Span{merged}, c.spans[j:]...)
	c.spans = append(c.spans[:i], rest...)
}

// Compose turns replacements done one after the other into disjoint, sorted
// spans of the text before the first.
func Compose(done []Span) []Span {
	var c composer
	for _, s := range done {
		c.add(s.Start, s.End-s.Start, s.New)
	}
	return c.spans
}
