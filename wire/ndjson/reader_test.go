package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll reads every line as text; one that is too long as "!size".
func readAll(t testing.TB, r *Reader) []string {
	t.Helper()
	var lines []string
	for {
		line, err := r.Next()
		var long *LineTooLongError
		switch {
		case err == nil:
			lines = append(lines, string(line))
		case errors.As(err, &long):
			lines = append(lines, fmt.Sprintf("!%d", long.Size))
		case err == io.EOF:
			return lines
		default:
			t.Fatal(err)
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 70000)
	tests := []struct {
		name, in string
		limit    int
		want     []string
	}{
		{name: "lines", in: "a\nb\n", want: []string{"a", "b"}},
		{name: "no last LF", in: "a\nb", want: []string{"a", "b"}},
		{name: "CR", in: "a\r\nb\r\r\nc\rd\n", want: []string{"a", "b\r", "c\rd"}},
		{name: "empty lines", in: "\n\r\n\na\n\n\r\n", want: []string{"a"}},
		{name: "nothing", in: ""},
		{name: "only CR", in: "\r"},
		{name: "other separators", in: "a\u2028b\u0085c\vd\fe\n", want: []string{"a\u2028b\u0085c\vd\fe"}},
		{name: "at the limit", in: "abcd\r\nefgh\nijkl", limit: 4, want: []string{"abcd", "efgh", "ijkl"}},
		{name: "over the limit", in: "abcde\nf\n\nghijk\r\nlmnop", limit: 4, want: []string{"!5", "f", "!5", "!5"}},
		{name: "limit and CR", in: "abcd\rx\nab\n", limit: 4, want: []string{"!6", "ab"}},
		{name: "far over the limit", in: long + "\na\n" + long + long, limit: 100, want: []string{"!70000", "a", "!140000"}},
		{name: "large lines", in: long + "\na\n" + long + long + "\nb", want: []string{long, "a", long + long, "b"}},
		{name: "BOM inside", in: "a\n\ufeffb\n", want: []string{"a", "\ufeffb"}},
	}
	for _, tt := range tests {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r },
			"bytes": iotest.OneByteReader,
			"half":  iotest.HalfReader,
			"data with EOF": func(r io.Reader) io.Reader {
				return iotest.DataErrReader(r)
			},
		} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				r := NewReader(wrap(strings.NewReader(tt.in)), ReaderOptions{MaxLineBytes: tt.limit})
				if got := readAll(t, r); !equalLines(got, tt.want) {
					t.Fatalf("got %.200q, want %.200q", got, tt.want)
				}
				if _, err := r.Next(); err != io.EOF {
					t.Fatalf("after the end: %v", err)
				}
			})
		}
	}
}

func equalLines(a, b []string) bool {
	return strings.Join(a, "\n") == strings.Join(b, "\n") && len(a) == len(b)
}

func TestReaderState(t *testing.T) {
	r := NewReader(strings.NewReader("a\n\n\r\nb\n\nc"), ReaderOptions{})
	for i, want := range []struct {
		line       string
		number     int64
		terminated bool
		buffered   bool
	}{{"a", 1, true, true}, {"b", 4, true, false}, {"c", 6, false, false}} {
		line, err := r.Next()
		if err != nil || string(line) != want.line || r.Line() != want.number || r.Terminated() != want.terminated {
			t.Fatalf("%d: got %q, %v, line %d, %v", i, line, err, r.Line(), r.Terminated())
		}
		if r.Buffered() != want.buffered || string(line) != want.line {
			t.Fatalf("%d: buffered %v, line %q", i, r.Buffered(), line)
		}
	}
}

func TestReaderDropsBOM(t *testing.T) {
	for _, in := range []string{"\ufeffa\n\ufeffb", "a\n\ufeffb"} {
		for _, src := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			got := readAll(t, NewReader(src, ReaderOptions{DropBOM: true}))
			if !equalLines(got, []string{"a", "\ufeffb"}) {
				t.Errorf("%q: got %q", in, got)
			}
		}
	}
	for _, in := range []string{"\xef", "\xef\xbb", "\xef\n\xbb"} {
		got := readAll(t, NewReader(iotest.OneByteReader(strings.NewReader(in)), ReaderOptions{DropBOM: true}))
		if !equalLines(got, strings.Split(in, "\n")) {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

func TestReaderTooLong(t *testing.T) {
	body := make([]byte, 100_000)
	for i := range body {
		body[i] = byte('a' + i%23)
	}
	for _, src := range []io.Reader{bytes.NewReader(body), iotest.OneByteReader(bytes.NewReader(body))} {
		r := NewReader(io.MultiReader(src, strings.NewReader("\r\nnext\n")), ReaderOptions{MaxLineBytes: 5000})
		_, err := r.Next()
		var long *LineTooLongError
		if !errors.As(err, &long) || long.Limit != 5000 || long.Size != 100_000 ||
			!bytes.Equal(long.Head, body[:keptEndBytes]) || !bytes.Equal(long.Tail[len(long.Tail)-4000:], body[96_000:]) {
			t.Fatalf("got %v", err)
		}
		if line, err := r.Next(); string(line) != "next" || err != nil || r.TooLong() != 1 || r.Line() != 2 {
			t.Fatalf("got %q, %v", line, err)
		}
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), ReaderOptions{})
	if line, err := r.Next(); string(line) != "a" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	for range 2 {
		if _, err := r.Next(); err != broken {
			t.Fatalf("got %v", err)
		}
	}
	r = NewReader(nothing{}, ReaderOptions{})
	if _, err := r.Next(); err != io.ErrNoProgress {
		t.Fatalf("got %v", err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

// pattern is an endless stream of lines of size bytes; it costs no memory.
type pattern struct{ size, at int }

func (p *pattern) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	for i := p.size - p.at; i < len(b); i += p.size + 1 {
		b[i] = '\n'
	}
	p.at = (p.at + len(b)) % (p.size + 1)
	return len(b), nil
}

func TestReaderGivesLargeBuffersBack(t *testing.T) {
	r := NewReader(io.MultiReader(io.LimitReader(&pattern{size: 9 << 20}, 9<<20+1), strings.NewReader("small\nlast")), ReaderOptions{})
	if line, err := r.Next(); len(line) != 9<<20 || err != nil {
		t.Fatalf("got %d bytes, %v", len(line), err)
	}
	if line, err := r.Next(); string(line) != "small" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	if len(r.buf) > maxKeptBytes {
		t.Errorf("%d bytes are kept", len(r.buf))
	}
	if line, err := r.Next(); string(line) != "last" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
}

func TestReaderAllocatesNothing(t *testing.T) {
	for _, size := range []int{100, 2 << 10, 64 << 10} {
		r := NewReader(&pattern{size: size}, ReaderOptions{})
		for range 100 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = r.Next() }); n > 0 {
			t.Errorf("%d bytes: %v allocations a line", size, n)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\r\n\nbc\n\r\n\xef\xbb\xbfd"), []byte{1, 2}, 3)
	f.Fuzz(func(t *testing.T, in, cuts []byte, limit int) {
		limit = max(1, limit%64)
		whole := readAll(t, NewReader(bytes.NewReader(in), ReaderOptions{MaxLineBytes: limit}))
		split := readAll(t, NewReader(&cutReader{in, cuts}, ReaderOptions{MaxLineBytes: limit}))
		if !equalLines(whole, split) {
			t.Fatalf("whole %q, split %q", whole, split)
		}
		if want := model(in, limit); !equalLines(whole, want) {
			t.Fatalf("got %q, want %q", whole, want)
		}
	})
}

// model is the plainest reading of the rules.
func model(in []byte, limit int) []string {
	var lines []string
	for _, l := range strings.Split(string(in), "\n") {
		l = strings.TrimSuffix(l, "\r")
		switch {
		case len(l) > limit:
			lines = append(lines, fmt.Sprintf("!%d", len(l)))
		case l != "":
			lines = append(lines, l)
		}
	}
	return lines
}

// cutReader gives as many bytes a read as cuts say.
type cutReader struct{ in, cuts []byte }

func (c *cutReader) Read(b []byte) (int, error) {
	n := 1
	if len(c.cuts) > 0 {
		n, c.cuts = int(c.cuts[0])+1, c.cuts[1:]
	}
	n = copy(b[:min(n, len(b))], c.in)
	c.in = c.in[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
