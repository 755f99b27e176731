package match

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
)

// ErrTooLong says that a file is longer than a scan takes.
var ErrTooLong = errors.New("file is longer than the limit of the search")

// DefaultFileLimit is the longest file that a scan takes unless it says
// otherwise, in bytes.
const DefaultFileLimit = 256 << 20

// window is how many bytes are searched between two looks at the context.
const window = 4 << 20

// A Range is a match, in bytes of the text that was searched.
type Range struct {
	Start, End int
}

// A Found is one file with matches, or one that couldn't be searched.
type Found struct {
	Name string
	// Raw are the file's bytes, Text what was searched: UTF-8 with '\n' as line
	// end. Both are valid during the call only.
	Raw, Text []byte
	Matches   []Range
	// More: there were more matches than MaxPerFile.
	More bool
	// Err is why the file was skipped; then the rest is empty.
	Err error
}

// A Scan searches files in parallel.
type Scan struct {
	Pattern *Pattern
	// Open opens a file by the name that came in. A Read of it that gives less
	// than it was asked for is taken for the end, as with regular files.
	Open func(name string) (io.ReadCloser, error)
	// Decode turns a file's bytes into text: UTF-8 with '\n' as line end. Its
	// error makes the file a skipped one. It may return raw itself or change
	// it in place.
	Decode func(raw []byte) ([]byte, error)
	// Report gets each file with matches and each that was skipped. It is
	// called from several goroutines at once.
	Report func(Found)
	// Workers is the number of goroutines; 0: one a processor.
	Workers int
	// FileLimit is the longest file in bytes; 0: DefaultFileLimit.
	FileLimit int
	// MaxPerFile is the most matches of a file; 0: no limit.
	MaxPerFile int
}

// Run searches every name that comes in, in batches such as the files of one
// folder, until names is closed or ctx ends, and returns the number of files that were searched. All its goroutines have ended
// then. After the end of ctx it takes no more names: who sends them watches ctx
// too.
func (s *Scan) Run(ctx context.Context, names <-chan []string) (searched int, err error) {
	workers := s.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	counts := make([]int, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { counts[i] = s.work(ctx, names) })
	}
	wg.Wait()
	for _, n := range counts {
		searched += n
	}
	return searched, ctx.Err()
}

func (s *Scan) work(ctx context.Context, names <-chan []string) (searched int) {
	var buf []byte
	for {
		select {
		case <-ctx.Done():
			return searched
		case batch, ok := <-names:
			if !ok {
				return searched
			}
			for _, name := range batch {
				var found Found
				found, buf = s.file(ctx, name, buf)
				if ctx.Err() != nil {
					return searched
				}
				if found.Err == nil {
					searched++
				}
				if found.Err != nil || len(found.Matches) > 0 {
					s.Report(found)
				}
			}
		}
	}
}

// file searches one file, and gives the buffer that it used back.
func (s *Scan) file(ctx context.Context, name string, buf []byte) (Found, []byte) {
	raw, buf, err := s.read(name, buf)
	if err != nil {
		return Found{Name: name, Err: err}, buf
	}
	if s.hopeless(raw) {
		return Found{Name: name}, buf
	}
	text, err := s.Decode(raw)
	if err != nil {
		return Found{Name: name, Err: err}, buf
	}
	f := Found{Name: name, Raw: raw, Text: text}
	f.Matches, f.More = s.matches(ctx, text)
	return f, buf
}

// hopeless reports whether raw, in whatever encoding, can't match: it lacks an
// ASCII literal that each match holds. Only UTF-16 writes that otherwise, and
// that has NULs or a byte order mark.
func (s *Scan) hopeless(raw []byte) bool {
	required := s.Pattern.Required()
	if len(required) == 0 || s.Pattern.rare.in(raw) {
		return false
	}
	for _, c := range required {
		if c >= 0x80 || c == '\n' {
			return false
		}
	}
	return !bytes.HasPrefix(raw, []byte{0xFF, 0xFE}) && !bytes.HasPrefix(raw, []byte{0xFE, 0xFF}) &&
		bytes.IndexByte(raw[:min(len(raw), 8192)], 0) < 0
}

func (s *Scan) matches(ctx context.Context, text []byte) (out []Range, more bool) {
	for at := 0; at <= len(text) && !more && ctx.Err() == nil; {
		end := len(text)
		if s.Pattern.PerLine() && end-at > window {
			if i := bytes.IndexByte(text[at+window:], '\n'); i >= 0 {
				end = at + window + i
			}
		}
		s.Pattern.Each(text[at:end], func(from, to int) bool {
			if s.MaxPerFile > 0 && len(out) == s.MaxPerFile {
				more = true
				return false
			}
			out = append(out, Range{at + from, at + to})
			return len(out)%1024 != 0 || ctx.Err() == nil
		})
		at = end + 1
	}
	return out, more
}

// read reads a whole file into buf, which it makes larger where needed.
func (s *Scan) read(name string, buf []byte) (raw, rest []byte, err error) {
	limit := s.FileLimit
	if limit == 0 {
		limit = DefaultFileLimit
	}
	f, err := s.Open(name)
	if err != nil {
		return nil, buf, err
	}
	defer f.Close()
	if cap(buf) == 0 {
		buf = make([]byte, 0, 256<<10)
	}
	raw = buf[:0]
	for {
		if len(raw) == cap(raw) {
			raw = append(raw, 0)[:len(raw)]
		}
		room := cap(raw) - len(raw)
		n, err := f.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if n < room && err == nil {
			err = io.EOF
		}
		if len(raw) > limit {
			return nil, buf, ErrTooLong
		}
		if err == io.EOF {
			return raw, keep(buf, raw), nil
		}
		if err != nil {
			return nil, buf, err
		}
	}
}

// keepMax is the largest buffer that a worker keeps for the next file, in bytes.
const keepMax = 4 << 20

func keep(buf, raw []byte) []byte {
	if cap(raw) > keepMax {
		return buf
	}
	return raw
}
