// Package budget bounds the output of one turn (maxOutputBytes; sidecar.md
// §3).
package budget

import "unicode/utf8"

// A Budget is what is left of a turn's output, in bytes. The zero value has
// no limit. It isn't safe for concurrent use.
type Budget struct {
	limited bool
	spent   bool
	left    int64
}

// New returns a Budget of *max bytes, or one without a limit for nil.
func New(max *int64) Budget {
	if max == nil {
		return Budget{}
	}
	return Budget{limited: true, left: *max}
}

// Text takes text and returns what fits, cut at the last whole character; cut
// tells whether something didn't. After a cut nothing fits any more. text is
// valid UTF-8.
func (b *Budget) Text(text string) (fits string, cut bool) {
	switch {
	case b.spent:
		return "", text != ""
	case !b.limited || int64(len(text)) <= b.left:
		b.left -= int64(len(text))
		return text, false
	}
	n := int(b.left)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	b.spent = true
	return text[:n], true
}

// Whole takes something of size bytes if all of it fits; else it takes
// nothing, and nothing fits any more.
func (b *Budget) Whole(size int) bool {
	if !b.Fit(size) {
		b.spent = true
		return false
	}
	return true
}

// Fit takes something of size bytes if all of it fits; else it takes nothing,
// and something smaller may still fit.
func (b *Budget) Fit(size int) bool {
	if b.spent || b.limited && int64(size) > b.left {
		return false
	}
	b.left -= int64(size)
	return true
}
