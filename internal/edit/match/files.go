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

// A Folder is some files of one folder: all of them, or a part, so that several
// goroutines share the work.
type Folder struct {
	// Path is for the one who gets the results; Names are what Open takes.
	Path  string
	Names []string
	// Open opens a file by its name. A Read of it that gives less than it was
	// asked for is taken for the end, as with regular files.
	Open func(name string) (io.ReadCloser, error)
	// Close, if set, is called once the files were searched or given up.
	Close func()
}

// A Found is one file with matches, or one that couldn't be searched.
type Found struct {
	// Path is the folder's, Name the file's in it.
	Path, Name string
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

// Run searches the files of every folder that comes in, until folders is closed
// or ctx ends, and returns the number of files that were searched. All its
// goroutines have ended then. After the end of ctx it takes no more folders: who
// sends them watches ctx too.
func (s *Scan) Run(ctx context.Context, folders <-chan Folder) (searched int, err error) {
	workers := s.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	counts := make([]int, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { counts[i] = s.work(ctx, folders) })
	}
	wg.Wait()
	for _, n := range counts {
		searched += n
	}
	return searched, ctx.Err()
}

func (s *Scan) work(ctx context.Context, folders <-chan Folder) (searched int) {
	var buf []byte
	for {
		f, ok := take(ctx, folders)
		if !ok {
			return searched
		}
		var n int
		n, buf = s.folder(ctx, f, buf)
		searched += n
	}
}

// take waits for a folder. Those that wait already are taken after the end of
// ctx too, so that they are closed.
func take(ctx context.Context, folders <-chan Folder) (Folder, bool) {
	select {
	case f, ok := <-folders:
		return f, ok
	default:
	}
	select {
	case <-ctx.Done():
		return Folder{}, false
	case f, ok := <-folders:
		return f, ok
	}
}

// folder searches the files of one folder.
func (s *Scan) folder(ctx context.Context, f Folder, buf []byte) (searched int, rest []byte) {
	if f.Close != nil {
		defer f.Close()
	}
	for _, name := range f.Names {
		if ctx.Err() != nil {
			return searched, buf
		}
		var found Found
		found, buf = s.file(ctx, f, name, buf)
		if ctx.Err() != nil {
			return searched, buf
		}
		if found.Err == nil {
			searched++
		}
		if found.Err != nil || len(found.Matches) > 0 {
			found.Path, found.Name = f.Path, name
			s.Report(found)
		}
	}
	return searched, buf
}

// file searches one file, and gives the buffer that it used back.
func (s *Scan) file(ctx context.Context, f Folder, name string, buf []byte) (Found, []byte) {
	raw, buf, err := s.read(f, name, buf)
	if err != nil {
		return Found{Err: err}, buf
	}
	if s.hopeless(raw) {
		return Found{}, buf
	}
	text, err := s.Decode(raw)
	if err != nil {
		return Found{Err: err}, buf
	}
	out := Found{Raw: raw, Text: text}
	out.Matches, out.More = s.matches(ctx, text)
	return out, buf
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
func (s *Scan) read(from Folder, name string, buf []byte) (raw, rest []byte, err error) {
	limit := s.FileLimit
	if limit == 0 {
		limit = DefaultFileLimit
	}
	f, err := from.Open(name)
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
