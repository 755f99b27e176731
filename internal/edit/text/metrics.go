package text

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// CRLF is the byte that stands for a CR LF line end in the store's form of a
// text. UTF-8 never contains it.
const CRLF = 0xFF

// Metrics are the counts of a run of text.
type Metrics struct {
	// Bytes is the length in the store's form, in which each line end is one
	// byte; it is the UTF-8 length of the wire's form too.
	Bytes int
	// Lines is the number of line ends of either kind.
	Lines int
	// CRLF is the number of line ends that are CR LF.
	CRLF int
	// continuation counts UTF-8 continuation bytes, supplementary the
	// characters of four bytes: from these follow the other units.
	continuation, supplementary int
}

// UTF32 is the number of code points.
func (m Metrics) UTF32() int { return m.Bytes - m.continuation }

// UTF16 is the number of UTF-16 code units.
func (m Metrics) UTF16() int { return m.Bytes - m.continuation + m.supplementary }

// DiskBytes is the length in UTF-8 with every line end as on disk.
func (m Metrics) DiskBytes() int { return m.Bytes + m.CRLF }

func (m *Metrics) add(o Metrics) {
	m.Bytes += o.Bytes
	m.Lines += o.Lines
	m.CRLF += o.CRLF
	m.continuation += o.continuation
	m.supplementary += o.supplementary
}

func (m *Metrics) addCounts(n uint32, c counts) {
	m.Bytes += int(n)
	m.Lines += int(c.lines)
	m.CRLF += int(c.crlf)
	m.continuation += int(c.cont)
	m.supplementary += int(c.supp)
}

// counts are the metrics of a run inside a chunk, without its length.
type counts struct {
	lines, crlf, cont, supp uint32
}

func (c counts) plus(o counts) counts {
	return counts{c.lines + o.lines, c.crlf + o.crlf, c.cont + o.cont, c.supp + o.supp}
}

func (c counts) minus(o counts) counts {
	return counts{c.lines - o.lines, c.crlf - o.crlf, c.cont - o.cont, c.supp - o.supp}
}

const highBits = 0x8080808080808080

// isASCII reports whether no byte of b has its high bit set.
func isASCII(b []byte) bool {
	for len(b) >= 32 {
		w := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if w&highBits != 0 {
			return false
		}
		b = b[32:]
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// scan counts b, which is in the store's form.
func scan(b []byte) counts {
	c, _ := tally(b)
	return c
}

// tally counts b and reports whether it is all ASCII.
func tally(b []byte) (counts, bool) {
	c := counts{lines: uint32(bytes.Count(b, lineFeed))}
	if isASCII(b) {
		return c, true
	}
	for len(b) >= 8 {
		c.addWord(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) > 0 {
		var rest [8]byte
		copy(rest[:], b)
		c.addWord(binary.LittleEndian.Uint64(rest[:]))
	}
	c.lines += c.crlf
	return c, false
}

// addWord counts what isn't ASCII in eight bytes at once: in the high bit of
// each byte it works out whether that byte is 10xxxxxx, 1111xxxx or 11111111.
func (c *counts) addWord(w uint64) {
	if w&highBits == 0 {
		return
	}
	c.cont += uint32(bits.OnesCount64(w &^ (w << 1) & highBits))
	four := w & (w << 1) & (w << 2) & (w << 3)
	if four&highBits == 0 {
		return
	}
	all := uint32(bits.OnesCount64(four & (four << 4) & highBits))
	c.crlf += all
	c.supp += uint32(bits.OnesCount64(four&highBits)) - all
}

var lineFeed, crlfByte = []byte{'\n'}, []byte{CRLF}

// indexLineEnd is the index of the first line end in b, or -1.
func indexLineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.IndexByte(b, CRLF)
	}
	if j := bytes.IndexByte(b[:i], CRLF); j >= 0 {
		return j
	}
	return i
}

// countLineEnds counts the line ends of b; mixed: CRLF may be among them.
func countLineEnds(b []byte, mixed bool) int {
	n := bytes.Count(b, lineFeed)
	if mixed {
		n += bytes.Count(b, crlfByte)
	}
	return n
}

// nthLineEnd is the index just after the k-th line end in b, k from 1. It
// halves b by counting, which is faster than going from one to the next.
func nthLineEnd(b []byte, k int, mixed bool) int {
	at := 0
	for end := len(b); end-at > 256; {
		half := at + (end-at)/2
		if n := countLineEnds(b[at:half], mixed); n < k {
			at, k = half, k-n
		} else {
			end = half
		}
	}
	for ; k > 0; k-- {
		if mixed {
			at += indexLineEnd(b[at:]) + 1
		} else {
			at += bytes.IndexByte(b[at:], '\n') + 1
		}
	}
	return at
}

// isBoundary reports whether c can be the first byte of a character or line end.
func isBoundary(c byte) bool { return c&0xC0 != 0x80 }
