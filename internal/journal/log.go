package journal

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"

	"dragoman/internal/redact"
)

// headBytes come before each entry: length and checksum.
const headBytes = 8

const segmentSuffix = ".seg"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Log is the entries of one session, numbered from 0.
type Log struct {
	j   *Journal
	dir string

	// next is the index of the next entry; it is handed out under append.
	append sync.Mutex
	next   int64

	// io guards what is below: the files.
	io       sync.Mutex
	segments []int64 // first indexes
	file     *os.File
	room     int64 // bytes preallocated in file
	size     int64 // bytes used of file
	written  int64 // entries that readers may see
	dirty    bool
	gone     bool
	fault    error

	// buf is the writer's alone: entries on their way to the file.
	buf      []byte
	buffered int64
}

func openLog(j *Journal, dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &Log{j: j, dir: dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), segmentSuffix); ok {
			if first, err := strconv.ParseInt(name, 10, 64); err == nil {
				l.segments = append(l.segments, first)
			}
		}
	}
	sort.Slice(l.segments, func(i, k int) bool { return l.segments[i] < l.segments[k] })
	return l, l.repair()
}

// repair finds the end of the last segment and cuts off what is torn.
func (l *Log) repair() error {
	if len(l.segments) == 0 {
		return nil
	}
	first := l.segments[len(l.segments)-1]
	f, err := os.OpenFile(l.segment(first), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	count, end := int64(0), int64(0)
	err = readSegment(f, func(entry []byte) bool {
		count++
		end += headBytes + int64(len(entry))
		return true
	})
	if err == nil {
		err = f.Truncate(end)
	}
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size, l.room = f, end, end
	l.next = first + count
	l.written = l.next
	return nil
}

func (l *Log) segment(first int64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%016d%s", first, segmentSuffix))
}

// Len is the number of entries, those that wait for the writer included.
func (l *Log) Len() int64 {
	l.append.Lock()
	defer l.append.Unlock()
	return l.next
}

// Append adds the entry that make gives for its index, one JSON value, and
// returns the index. The entry goes to disk soon; Sync tells when. It waits
// while the writer is far behind.
func (l *Log) Append(make func(index int64) []byte) (int64, error) {
	l.append.Lock()
	defer l.append.Unlock()
	index := l.next
	entry := make(index)
	if len(entry) > MaxEntryBytes {
		return 0, ErrTooBig
	}
	if err := l.j.put(task{log: l, index: index, entry: entry}); err != nil {
		return 0, err
	}
	l.next++
	return index, nil
}

// Sync waits until everything appended before is on the disk, or tells why it
// never will be.
func (l *Log) Sync(ctx context.Context) error {
	ack := make(chan error, 1)
	if err := l.j.put(task{log: l, ack: ack}); err != nil {
		return err
	}
	select {
	case err := <-ack:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add puts an entry into the writer's buffer, redacted.
func (l *Log) add(_ int64, r *redact.Redactor, entry []byte) {
	start := len(l.buf)
	l.buf = append(l.buf, make([]byte, headBytes)...)
	l.buf = appendClean(l.buf, r, entry)
	body := l.buf[start+headBytes:]
	binary.LittleEndian.PutUint32(l.buf[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(l.buf[start+4:], crc32.Checksum(body, castagnoli))
	l.buffered++
	if len(l.buf) >= SegmentBytes/2 {
		l.flush()
	}
}

// flush writes the buffer, into a new segment where the last one is full.
func (l *Log) flush() {
	l.io.Lock()
	defer l.io.Unlock()
	buf, count := l.buf, l.buffered
	l.buf, l.buffered = l.buf[:0], 0
	if cap(l.buf) > SegmentBytes {
		l.buf = nil
	}
	if l.gone || l.fault != nil || len(buf) == 0 {
		return
	}
	if l.fault = l.roomFor(int64(len(buf))); l.fault != nil {
		return
	}
	if _, err := l.file.WriteAt(buf, l.size); err != nil {
		l.fault = err
		return
	}
	l.size += int64(len(buf))
	l.written += count
	l.dirty = true
}

// roomFor makes sure that the open segment takes n bytes more.
func (l *Log) roomFor(n int64) error {
	if l.file != nil && (l.size == 0 || l.size+n <= SegmentBytes) {
		if l.size+n <= l.room {
			return nil
		}
		l.room = max(SegmentBytes, l.size+n)
		return preallocate(l.file, l.room)
	}
	if l.file != nil {
		if err := errors.Join(l.sync(), l.file.Truncate(l.size), l.file.Sync(), l.file.Close()); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(l.segment(l.written), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	l.segments = append(l.segments, l.written)
	l.file, l.size, l.room = f, 0, max(SegmentBytes, n)
	if err := preallocate(f, l.room); err != nil {
		return err
	}
	return errors.Join(f.Sync(), syncDir(l.dir))
}

// sync puts what was written on the disk.
func (l *Log) sync() error {
	if l.fault != nil {
		return l.fault
	}
	if !l.dirty || l.file == nil {
		return nil
	}
	if err := datasync(l.file); err != nil {
		l.fault = err
		return err
	}
	l.dirty = false
	return nil
}

func (l *Log) closeFile() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	if l.gone {
		return f.Close()
	}
	return errors.Join(f.Truncate(l.size), f.Close())
}

// Read gives the entries from index on, in order, until yield returns false.
// Entries are valid during the call alone. What was appended before is seen.
func (l *Log) Read(ctx context.Context, from int64, yield func(index int64, entry []byte) bool) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	l.io.Lock()
	segments, end := append([]int64(nil), l.segments...), l.written
	l.io.Unlock()
	start := sort.Search(len(segments), func(i int) bool { return segments[i] > from }) - 1
	for _, first := range segments[max(start, 0):] {
		more, err := l.readFrom(ctx, first, from, end, yield)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (l *Log) readFrom(ctx context.Context, first, from, end int64, yield func(int64, []byte) bool) (more bool, err error) {
	f, err := os.Open(l.segment(first))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // removed meanwhile
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	index, more := first, true
	err = readSegment(f, func(entry []byte) bool {
		if index >= end || ctx.Err() != nil {
			more = false
			return false
		}
		if index >= from {
			more = yield(index, entry)
		}
		index++
		return more
	})
	return more && index < end, errors.Join(err, ctx.Err())
}

// settle waits until what was appended is in the file.
func (l *Log) settle(ctx context.Context) error {
	l.io.Lock()
	behind := l.written
	l.io.Unlock()
	if behind >= l.Len() {
		return nil
	}
	return l.Sync(ctx)
}

// readSegment gives the whole entries of a segment; it ends at zeros, at the
// end of the file or at what is torn.
func readSegment(f io.Reader, yield func(entry []byte) bool) error {
	r := bufio.NewReaderSize(f, 64<<10)
	var head [headBytes]byte
	var entry []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return torn(err)
		}
		n := binary.LittleEndian.Uint32(head[:])
		if n == 0 || n > 2*MaxEntryBytes {
			return nil
		}
		if uint32(cap(entry)) < n {
			entry = make([]byte, n)
		}
		entry = entry[:n]
		if _, err := io.ReadFull(r, entry); err != nil {
			return torn(err)
		}
		if crc32.Checksum(entry, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
			return nil
		}
		if !yield(entry) {
			return nil
		}
	}
}

// torn is nil for an end in the middle, which isn't an error here.
func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
