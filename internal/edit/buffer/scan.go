package buffer

import (
	"context"

	"dragoman/internal/edit/match"
	"dragoman/internal/edit/text"
)

// scanWindow is how much text is searched between two looks at the context, in
// bytes.
const scanWindow = 1 << 20

// Scan yields the matches of p in t that start at from or later, in order, as
// offsets. It reads the text in windows, except for a regular expression that
// may match a line end, which needs it whole. It returns ctx's error.
func Scan(ctx context.Context, t text.Text, p *match.Pattern, from int, yield func(start, end int) bool) error {
	switch {
	case !p.PerLine():
		return scanWhole(ctx, t, p, from, yield)
	case p.Literal():
		return scanLiteral(ctx, t, p, from, yield)
	}
	var buf []byte
	for at := from; at <= t.Len(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		start, end := t.LineStart(t.LineOf(at)), t.LineEnd(t.LineOf(min(at+scanWindow, t.Len())))
		buf = t.AppendWire(buf[:0], start, end)
		more := true
		p.EachFrom(buf, at-start, func(s, e int) bool {
			more = yield(start+s, start+e)
			return more
		})
		if !more {
			return nil
		}
		at = end + 1
	}
	return nil
}

func scanWhole(ctx context.Context, t text.Text, p *match.Pattern, from int, yield func(start, end int) bool) error {
	n := 0
	p.EachFrom(t.AppendWire(nil, 0, t.Len()), from, func(s, e int) bool {
		n++
		return (n%1024 != 0 || ctx.Err() == nil) && yield(s, e)
	})
	return ctx.Err()
}

// scanLiteral searches in windows that overlap, so that a line may be as long
// as it likes.
func scanLiteral(ctx context.Context, t text.Text, p *match.Pattern, from int, yield func(start, end int) bool) error {
	var buf []byte
	overlap := p.MinWindow()
	for at := from; at <= t.Len(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		start, stop := boundaryBefore(t, at-4), at+scanWindow
		end := boundaryBefore(t, stop+overlap)
		buf = t.AppendWire(buf[:0], start, end)
		more, next := true, stop
		p.EachFrom(buf, at-start, func(s, e int) bool {
			if start+s >= stop {
				return false
			}
			more, next = yield(start+s, start+e), max(stop, start+e)
			return more
		})
		if !more {
			return nil
		}
		at = boundaryAfter(t, next)
	}
	return nil
}

// boundaryBefore moves off into the text and back to a character's start.
func boundaryBefore(t text.Text, off int) int {
	off = min(max(off, 0), t.Len())
	for !t.Boundary(off) {
		off--
	}
	return off
}

// boundaryAfter moves off on to a character's start.
func boundaryAfter(t text.Text, off int) int {
	for off < t.Len() && !t.Boundary(off) {
		off++
	}
	return off
}

// lastBefore gives the last match that starts before limit, or -1.
func lastBefore(ctx context.Context, t text.Text, p *match.Pattern, limit int) (start, end int, err error) {
	start = -1
	take := func(s, e int) bool {
		if s >= limit {
			return false
		}
		start, end = s, e
		return true
	}
	if !p.PerLine() {
		err = Scan(ctx, t, p, 0, take)
		return start, end, err
	}
	for stop := limit; stop > 0 && start < 0; {
		from := t.LineStart(t.LineOf(boundaryBefore(t, stop-1-scanWindow)))
		limit = stop
		if err := Scan(ctx, t, p, from, take); err != nil {
			return -1, 0, err
		}
		stop = from
	}
	return start, end, nil
}
