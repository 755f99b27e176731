package text

import (
	"runtime"
	"sort"
)

// blockSize is the distance between two marks of a chunk's index, in bytes.
const (
	blockShift = 11
	blockSize  = 1 << blockShift
)

// plainMax is the longest piece of a chunk without index, in bytes.
const plainMax = 4 << 10

// maxChunk is the most bytes that one chunk holds, so that 32 bits count them.
const maxChunk = 1 << 31

// A chunk is a run of bytes in the store's form that never change once a text
// refers to them.
//
// data may lie in memory that is unmapped when the chunk is collected: every
// function that reads it keeps the chunk alive until it has done so.
type chunk struct {
	data []byte
	// marks[i] are the counts of data[:i*blockSize]; nil: no index, and no
	// piece of this chunk is longer than plainMax.
	marks []counts
}

// newChunk makes an indexed chunk over data, which it owns from now on.
func newChunk(data []byte) *chunk {
	return &chunk{data: data, marks: buildMarks(data)}
}

func buildMarks(data []byte) []counts {
	marks := make([]counts, 0, len(data)>>blockShift+2)
	var sum counts
	marks = append(marks, sum)
	for at := 0; at < len(data); at += blockSize {
		sum = sum.plus(scan(data[at:min(at+blockSize, len(data))]))
		marks = append(marks, sum)
	}
	return marks
}

// count gives the counts of data[from:to].
func (c *chunk) count(from, to uint32) counts {
	defer runtime.KeepAlive(c)
	if c.marks == nil || to-from <= blockSize/2 {
		return scan(c.data[from:to])
	}
	return c.prefix(to).minus(c.prefix(from))
}

// prefix gives the counts of data[:at] of an indexed chunk.
func (c *chunk) prefix(at uint32) counts {
	b := at >> blockShift
	low := c.marks[b]
	start := b << blockShift
	if at == start {
		return low
	}
	high := c.marks[b+1]
	if high == low {
		return low
	}
	end := min(start+blockSize, uint32(len(c.data)))
	if at-start <= end-at {
		return low.plus(scan(c.data[start:at]))
	}
	return high.minus(scan(c.data[at:end]))
}

// afterLine gives the offset in data just after the k-th line end (k from 1)
// of data[from:to], which has at least k.
func (c *chunk) afterLine(from, to uint32, k int) uint32 {
	defer runtime.KeepAlive(c)
	if c.marks == nil || to-from <= blockSize {
		return from + uint32(nthLineEnd(c.data[from:to], k, c.mixed()))
	}
	target := c.prefix(from).lines + uint32(k)
	first := int(from >> blockShift)
	// The last mark with fewer line ends than target, not before from's block.
	i := first + sort.Search(c.blocks(from, to), func(i int) bool { return c.marks[first+i].lines >= target }) - 1
	start, k := from, k
	if i > first {
		start, k = uint32(i)<<blockShift, int(target-c.marks[i].lines)
	}
	end := min(to, uint32(i+1)<<blockShift)
	return start + uint32(nthLineEnd(c.data[start:end], k, c.mixed()))
}

// blocks is the number of marks from the one before from up to the one before
// to.
func (c *chunk) blocks(from, to uint32) int {
	return int(to>>blockShift) - int(from>>blockShift) + 1
}

// mixed reports whether CRLF may be in the chunk.
func (c *chunk) mixed() bool {
	return c.marks == nil || c.marks[len(c.marks)-1].crlf > 0
}

// afterUnits gives the offset in data at which data[from:…] has k units, and
// whether that is between two characters. data[from:to] has at least k.
func (c *chunk) afterUnits(from, to uint32, k int, u Unit) (uint32, bool) {
	defer runtime.KeepAlive(c)
	start := from
	if c.marks != nil && to-from > blockSize {
		target := unitsOf(int(from), c.prefix(from), u) + k
		first := int(from >> blockShift)
		i := first + sort.Search(c.blocks(from, to), func(i int) bool {
			return unitsOf((first+i)<<blockShift, c.marks[first+i], u) > target
		}) - 1
		if i > first {
			start = uint32(i) << blockShift
			k = target - unitsOf(int(start), c.marks[i], u)
		}
	}
	return walkUnits(c.data, start, to, k, u)
}

// walkUnits goes k units on from start, which may be inside a character whose
// units are counted already.
func walkUnits(data []byte, start, to uint32, k int, u Unit) (uint32, bool) {
	at := start
	for at < to && !isBoundary(data[at]) {
		at++
	}
	for k > 0 && at < to {
		b := data[at]
		if b < 0x80 || b == CRLF {
			at++
			k--
			continue
		}
		n, units := uint32(2), 1
		if b >= 0xF0 {
			n = 4
			if u == UTF16 {
				units = 2
			}
		} else if b >= 0xE0 {
			n = 3
		}
		if units > k {
			return at, false
		}
		k -= units
		at += n
	}
	return at, k == 0
}

// unitsOf converts a prefix of n bytes with counts c to units.
func unitsOf(n int, c counts, u Unit) int {
	switch u {
	case UTF16:
		return n - int(c.cont) + int(c.supp)
	case UTF32:
		return n - int(c.cont)
	default:
		return n
	}
}
