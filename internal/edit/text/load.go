package text

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// segmentSize is what one read of a load takes; a multiple of blockSize.
	segmentSize = 1 << 20
	// offHeapMin is the size from which text lies off the Go heap.
	offHeapMin = 1 << 20
	// readers is how many reads of one load run at a time.
	readers = 2
)

// ErrNotUTF8 says that the bytes to load aren't UTF-8.
var ErrNotUTF8 = errors.New("text is not UTF-8")

// Load reads size bytes from off on, which must be UTF-8, with the line ends as
// on disk. Fewer bytes than that are io.ErrUnexpectedEOF. Reads may run at the
// same time.
func Load(r io.ReaderAt, off, size int64) (Text, error) {
	var ps []piece
	for size > 0 {
		n := min(size, maxChunk)
		c, used, err := loadChunk(r, off, int(n), n == size)
		if err != nil {
			return Text{}, err
		}
		if len(c.data) > 0 {
			ps = append(ps, wholePiece(c))
		}
		off, size = off+int64(used), size-int64(used)
	}
	return fromPieces(ps), nil
}

func fromPieces(ps []piece) Text {
	t := tree{root: link{n: &node{}}}
	t.replace(0, 0, ps)
	return Text{t.root}
}

// segment is what was found in one read.
type segment struct {
	// n is the length after CR LF was put together.
	n int
	// head and tail are the bytes of a character cut at the start and the end.
	head, tail int
}

// loading is one chunk on its way in.
type loading struct {
	region   []byte
	segments []segment
	marks    []counts
	next     atomic.Int64
	bad      atomic.Bool
}

// loadChunk reads n bytes and reports how many of them the chunk holds: all if
// it is the last, else up to where a character or line end may be cut.
func loadChunk(r io.ReaderAt, off int64, n int, last bool) (*chunk, int, error) {
	region, owned, err := allocate(n)
	if err != nil {
		return nil, 0, err
	}
	free := func(err error) (*chunk, int, error) {
		freeRegion(owned)
		return nil, 0, err
	}
	l := &loading{region: region}
	l.segments = make([]segment, (n+segmentSize-1)/segmentSize)
	l.marks = make([]counts, (n+blockSize-1)/blockSize+1)
	if err := l.read(r, off); err != nil {
		return free(err)
	}
	used := n
	if !last {
		used = l.cut()
	}
	data, ok := l.join()
	if l.bad.Load() || !ok {
		return free(ErrNotUTF8)
	}
	c := &chunk{data: data}
	if len(data) == n {
		c.marks = l.sumMarks()
	} else {
		c.marks = buildMarks(data)
		trimRegion(owned, len(data))
	}
	releaseWith(c, owned)
	return c, used, nil
}

// allocate gives n bytes, and the same as owned if they lie off the heap.
func allocate(n int) (b, owned []byte, err error) {
	if n < offHeapMin {
		return make([]byte, n), nil, nil
	}
	b, err = newRegion(n)
	return b, b, err
}

func (l *loading) read(r io.ReaderAt, off int64) error {
	workers := min(readers, runtime.GOMAXPROCS(0), len(l.segments))
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(l.next.Add(1)) - 1
				if i >= len(l.segments) || l.bad.Load() {
					return
				}
				errs[w] = l.readSegment(r, off, i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (l *loading) bytes(i int) []byte {
	return l.region[i*segmentSize : min((i+1)*segmentSize, len(l.region))]
}

func (l *loading) readSegment(r io.ReaderAt, off int64, i int) error {
	b := l.bytes(i)
	if n, err := r.ReadAt(b, off+int64(i)*segmentSize); n < len(b) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	ascii := true
	for at, k := 0, i*segmentSize/blockSize; at < len(b); at, k = at+blockSize, k+1 {
		c, plain := tally(b[at:min(at+blockSize, len(b))])
		ascii = ascii && plain
		l.marks[k+1] = c
	}
	s := &l.segments[i]
	if !ascii {
		s.head, s.tail = cutChars(b)
		if !utf8.Valid(b[s.head : len(b)-s.tail]) {
			l.bad.Store(true)
			return nil
		}
	}
	s.n = len(FromDisk(b))
	return nil
}

// cutChars gives the lengths of what may belong to characters that start
// before b and end after it.
func cutChars(b []byte) (head, tail int) {
	for head < len(b) && head < utf8.UTFMax-1 && !isBoundary(b[head]) {
		head++
	}
	for k := 1; k < utf8.UTFMax && k <= len(b)-head; k++ {
		if c := b[len(b)-k]; isBoundary(c) {
			if c >= 0xC0 && !utf8.FullRune(b[len(b)-k:]) {
				tail = k
			}
			break
		}
	}
	return head, tail
}

// cut drops from the last segment what may go on in the next chunk.
func (l *loading) cut() int {
	s := &l.segments[len(l.segments)-1]
	b := l.bytes(len(l.segments) - 1)
	drop := s.tail
	if s.tail == 0 && s.n > 0 && b[s.n-1] == '\r' {
		drop = 1
	}
	s.n -= drop
	s.tail = 0
	return len(l.region) - drop
}

// join moves the segments together, joins what was cut between them, and
// reports whether those characters are whole.
func (l *loading) join() ([]byte, bool) {
	to := 0
	tail := 0
	for i, s := range l.segments {
		b := l.bytes(i)[:s.n]
		if tail+s.head > 0 {
			var cut [2 * utf8.UTFMax]byte
			n := copy(cut[:], l.region[to-tail:to])
			n += copy(cut[n:], b[:s.head])
			if !utf8.Valid(cut[:n]) {
				return nil, false
			}
		}
		if to > 0 && len(b) > 0 && l.region[to-1] == '\r' && b[0] == '\n' {
			l.region[to-1] = CRLF
			b = b[1:]
		}
		if start := i * segmentSize; to == start && s.n == len(b) {
			to += len(b)
		} else {
			to += copy(l.region[to:], b)
		}
		tail = s.tail
	}
	return l.region[:to], tail == 0
}

// sumMarks turns the counts of the blocks into an index.
func (l *loading) sumMarks() []counts {
	var sum counts
	for i := range l.marks {
		sum = sum.plus(l.marks[i])
		l.marks[i] = sum
	}
	return l.marks
}
