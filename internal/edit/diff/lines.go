package diff

import (
	"bytes"

	"dragoman/internal/edit/text"
)

// compareBlock is how much of two texts is compared at a time, in bytes.
const compareBlock = 64 << 10

// Lines gives the changes from a to b, by lines.
func Lines(a, b text.Text) []Change {
	head := a.LineOf(commonPrefix(a, b))
	start := a.LineStart(head)
	aEnd, bEnd := commonSuffix(a, b, start)
	ids := map[string]int{}
	left, right := number(ids, a, start, aEnd), number(ids, b, start, bEnd)
	changes := sequences(left, right)
	for i := range changes {
		c := &changes[i]
		c.OldStart, c.OldEnd = c.OldStart+head, c.OldEnd+head
		c.NewStart, c.NewEnd = c.NewStart+head, c.NewEnd+head
	}
	return changes
}

// commonPrefix gives how many bytes a and b share at the start.
func commonPrefix(a, b text.Text) int {
	n := min(a.Len(), b.Len())
	var x, y []byte
	for at := 0; at < n; at += compareBlock {
		end := min(at+compareBlock, n)
		x, y = a.Append(x[:0], at, end), b.Append(y[:0], at, end)
		if !bytes.Equal(x, y) {
			return at + samePrefix(x, y)
		}
	}
	return n
}

// commonSuffix gives the ends of what differs after start: both at the start
// of lines from which on a and b are the same.
func commonSuffix(a, b text.Text, start int) (int, int) {
	n := min(a.Len(), b.Len()) - start
	same := n
	var x, y []byte
	for at := 0; at < n; at += compareBlock {
		k := min(compareBlock, n-at)
		x = a.Append(x[:0], a.Len()-at-k, a.Len()-at)
		y = b.Append(y[:0], b.Len()-at-k, b.Len()-at)
		if !bytes.Equal(x, y) {
			same = at + sameSuffix(x, y)
			break
		}
	}
	aEnd := a.Len() - same
	if same > 0 && (aEnd > start && !lineStart(a, aEnd) || b.Len()-same > start && !lineStart(b, b.Len()-same)) {
		line := a.LineOf(aEnd)
		if line < a.LineCount()-1 {
			same = a.Len() - a.LineStart(line+1)
		} else {
			same = 0
		}
	}
	return a.Len() - same, b.Len() - same
}

func lineStart(t text.Text, off int) bool {
	return off == 0 || text.IsLineEnd(t.ByteAt(off-1))
}

func samePrefix(x, y []byte) int {
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}

func sameSuffix(x, y []byte) int {
	n := 0
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// number gives each line of t[start:end] the number of its content in ids.
func number(ids map[string]int, t text.Text, start, end int) []int {
	var out []int
	eachLine(t, start, end, func(line []byte) {
		id, ok := ids[string(line)]
		if !ok {
			id = len(ids)
			ids[string(line)] = id
		}
		out = append(out, id)
	})
	return out
}

// eachLine yields the lines of t[start:end] with their ends. A line is valid
// during the call only. Text after the last line end is a line too.
func eachLine(t text.Text, start, end int, yield func([]byte)) {
	var rest []byte
	for b := range t.Chunks(start, end) {
		for len(b) > 0 {
			j := lineEnd(b)
			if j < 0 {
				rest = append(rest, b...)
				break
			}
			line := b[:j+1]
			if len(rest) > 0 {
				rest = append(rest, line...)
				line = rest
			}
			yield(line)
			rest, b = rest[:0], b[j+1:]
		}
	}
	if len(rest) > 0 {
		yield(rest)
	}
}

// lineEnd gives the index of the first line end in b, or -1.
func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.IndexByte(b, text.CRLF)
	}
	if j := bytes.IndexByte(b[:i], text.CRLF); j >= 0 {
		return j
	}
	return i
}
