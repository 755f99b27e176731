package text

import (
	"io"
	"iter"
	"runtime"
	"slices"
	"unicode/utf8"
)

// A Text is one immutable state of a text. The zero Text is empty.
type Text struct {
	root link
}

// Metrics gives the counts of the whole text.
func (t Text) Metrics() Metrics { return t.root.m }

// Len is the length in bytes, in the store's form.
func (t Text) Len() int { return t.root.m.Bytes }

// LineCount is the number of line ends plus one.
func (t Text) LineCount() int { return t.root.m.Lines + 1 }

// FinalNewline reports whether the text ends with a line end.
func (t Text) FinalNewline() bool {
	n := t.Len()
	return n > 0 && IsLineEnd(t.ByteAt(n-1))
}

// IsLineEnd reports whether c is a line end in the store's form.
func IsLineEnd(c byte) bool { return c == '\n' || c == CRLF }

// run is what a descent finds: a piece and the offset of its first byte.
type run struct {
	p  piece
	at int
}

// findByte gives the piece with the byte at off, or for off = Len the last one.
// before are the metrics of all that precedes the piece.
func (t Text) findByte(off int) (r run, before Metrics) {
	n := t.root.n
	if n == nil {
		return run{}, before
	}
	for n.kids != nil {
		i := 0
		for i < len(n.kids)-1 && before.Bytes+n.kids[i].m.Bytes <= off {
			before.add(n.kids[i].m)
			i++
		}
		n = n.kids[i].n
	}
	for i := range n.pieces {
		p := &n.pieces[i]
		if i == len(n.pieces)-1 || before.Bytes+int(p.n) > off {
			return run{*p, before.Bytes}, before
		}
		before.addCounts(p.n, p.counts)
	}
	return run{}, before
}

// prefix gives the metrics of the first off bytes.
func (t Text) prefix(off int) Metrics {
	if off >= t.Len() {
		return t.root.m
	}
	r, m := t.findByte(off)
	k := uint32(off - r.at)
	if k > 0 {
		m.addCounts(k, r.p.c.count(r.p.off, r.p.off+k))
	}
	return m
}

// ByteAt gives the byte at off, in the store's form; off < Len.
func (t Text) ByteAt(off int) byte {
	r, _ := t.findByte(off)
	b := r.p.c.data[int(r.p.off)+off-r.at]
	runtime.KeepAlive(r.p.c)
	return b
}

// Boundary reports whether off lies in the text and between two characters.
func (t Text) Boundary(off int) bool {
	if off <= 0 || off >= t.Len() {
		return off == 0 || off == t.Len()
	}
	return isBoundary(t.ByteAt(off))
}

// Chunks gives the bytes of [start,end) in order, in the store's form. A slice
// is valid only until the next one is asked for, and must not be changed.
func (t Text) Chunks(start, end int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if t.root.n != nil && start < end {
			walk(t.root.n, start, end, yield)
		}
	}
}

// walk yields the bytes [start,end) below n and reports whether to go on.
func walk(n *node, start, end int, yield func([]byte) bool) bool {
	for i := range n.kids {
		size := n.kids[i].m.Bytes
		if start < size && end > 0 && !walk(n.kids[i].n, max(start, 0), min(end, size), yield) {
			return false
		}
		start, end = start-size, end-size
		if end <= 0 {
			return true
		}
	}
	for i := range n.pieces {
		p := &n.pieces[i]
		size := int(p.n)
		if start < size && end > 0 {
			b := p.c.data[p.off : p.off+p.n]
			more := yield(b[max(start, 0):min(end, size):min(end, size)])
			runtime.KeepAlive(p.c)
			if !more {
				return false
			}
		}
		start, end = start-size, end-size
		if end <= 0 {
			return true
		}
	}
	return true
}

// Append appends [start,end) to dst in the store's form.
func (t Text) Append(dst []byte, start, end int) []byte {
	dst = slices.Grow(dst, max(end-start, 0))
	for b := range t.Chunks(start, end) {
		dst = append(dst, b...)
	}
	return dst
}

// AppendWire appends [start,end) to dst as the wire shows it: every line end
// is '\n'. The length is end-start.
func (t Text) AppendWire(dst []byte, start, end int) []byte {
	from := len(dst)
	dst = t.Append(dst, start, end)
	if t.root.m.CRLF > 0 {
		ToWire(dst[from:])
	}
	return dst
}

// AppendDisk appends [start,end) to dst with the line ends as on disk.
func (t Text) AppendDisk(dst []byte, start, end int) []byte {
	for b := range t.Chunks(start, end) {
		dst = appendDisk(dst, b)
	}
	return dst
}

// String is the whole text as the wire shows it.
func (t Text) String() string { return string(t.AppendWire(nil, 0, t.Len())) }

// WriteTo writes the text as UTF-8 with the line ends as on disk.
func (t Text) WriteTo(w io.Writer) (int64, error) {
	var done int64
	var buf []byte
	for b := range t.Chunks(0, t.Len()) {
		for len(b) > 0 {
			part := b[:min(len(b), 1<<20)]
			b = b[len(part):]
			if t.root.m.CRLF > 0 {
				buf = appendDisk(buf[:0], part)
				part = buf
			}
			n, err := w.Write(part)
			done += int64(n)
			if err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// LineStart gives the offset of the first byte of line, which exists.
func (t Text) LineStart(line int) int {
	off, _ := t.lineStart(line)
	return off
}

// lineStart gives a line's first offset, and the piece in which its end before
// it lies: the piece that goes on with the line, unless it ends there.
func (t Text) lineStart(line int) (int, run) {
	if line == 0 {
		r, _ := t.findByte(0)
		return 0, r
	}
	n, at, k := t.root.n, 0, line
	for n.kids != nil {
		i := 0
		for i < len(n.kids)-1 && n.kids[i].m.Lines < k {
			k -= n.kids[i].m.Lines
			at += n.kids[i].m.Bytes
			i++
		}
		n = n.kids[i].n
	}
	for i := range n.pieces {
		p := &n.pieces[i]
		if int(p.counts.lines) >= k {
			return at + int(p.c.afterLine(p.off, p.off+p.n, k)-p.off), run{*p, at}
		}
		k -= int(p.counts.lines)
		at += int(p.n)
	}
	return at, run{}
}

// LineEnd gives the offset of the line's end: of the byte that ends it, or Len.
func (t Text) LineEnd(line int) int {
	if line >= t.root.m.Lines {
		return t.Len()
	}
	return t.LineStart(line+1) - 1
}

// LineOf gives the line of offset off.
func (t Text) LineOf(off int) int { return t.prefix(off).Lines }

// RuneAt gives the character at off, a boundary before Len; a line end is '\n'.
func (t Text) RuneAt(off int) (rune, int) {
	var buf [utf8.UTFMax]byte
	b := t.Append(buf[:0], off, min(off+utf8.UTFMax, t.Len()))
	if IsLineEnd(b[0]) {
		return '\n', 1
	}
	return utf8.DecodeRune(b)
}

// RuneBefore gives the character that ends at off, a boundary after 0.
func (t Text) RuneBefore(off int) (rune, int) {
	var buf [utf8.UTFMax]byte
	b := t.Append(buf[:0], max(off-utf8.UTFMax, 0), off)
	if IsLineEnd(b[len(b)-1]) {
		return '\n', 1
	}
	return utf8.DecodeLastRune(b)
}
