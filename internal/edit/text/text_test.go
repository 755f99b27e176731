package text

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t testing.TB, s string) Text {
	t.Helper()
	text, err := Load(strings.NewReader(s), 0, int64(len(s)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestLinesEndAtLFAndCRLFOnly(t *testing.T) {
	text := load(t, "a\u2028b\u0085c\vd\re\nf\r\n\r\r\ng")
	if got, want := text.String(), "a\u2028b\u0085c\vd\re\nf\n\r\ng"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := text.LineCount(); got != 4 {
		t.Errorf("%d lines, want 4", got)
	}
	if got := text.Metrics().CRLF; got != 2 {
		t.Errorf("%d CR LF, want 2", got)
	}
}

func TestOffsetErrors(t *testing.T) {
	text := load(t, "ab\r\n😀é\n")
	tests := []struct {
		p      Position
		u      Unit
		reason string
	}{
		{Position{-1, 0}, UTF8, "line"},
		{Position{3, 0}, UTF8, "line"},
		{Position{0, -1}, UTF8, "character"},
		{Position{0, 3}, UTF8, "character"},
		{Position{0, 3}, UTF16, "character"},
		{Position{0, 3}, UTF32, "character"},
		{Position{1, 1}, UTF8, "inside"},
		{Position{1, 5}, UTF8, "inside"},
		{Position{1, 1}, UTF16, "inside"},
		{Position{1, 4}, UTF16, "character"},
		{Position{1, 3}, UTF32, "character"},
		{Position{2, 1}, UTF32, "character"},
		{Position{2, 1}, UTF16, "character"},
		{Position{0, 1 << 40}, UTF16, "character"},
	}
	for _, tt := range tests {
		_, err := text.Offset(tt.p, tt.u)
		var bad *PositionError
		if !errors.As(err, &bad) || bad.Reason != tt.reason {
			t.Errorf("%v in %s: got %v, want %s", tt.p, tt.u, err, tt.reason)
		}
	}
	if off, err := text.Offset(Position{2, 0}, UTF16); err != nil || off != text.Len() {
		t.Errorf("the end is %d, %v", off, err)
	}
}

func TestLoadRefusesWhatIsNotUTF8(t *testing.T) {
	long := strings.Repeat("x", segmentSize-1)
	tests := map[string]string{
		"lone byte":                 "a\xffb",
		"cut at the end":            "a\xe2\x82",
		"cut at a segment":          long + "\xe2" + long,
		"continuation at a segment": long + "x\x82" + long,
		"surrogate":                 "\xed\xa0\x80",
		"overlong":                  "\xc0\x80",
	}
	for name, s := range tests {
		if _, err := Load(strings.NewReader(s), 0, int64(len(s))); !errors.Is(err, ErrNotUTF8) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(strings.NewReader("abc"), 0, 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short file: %v", err)
	}
}

func TestLoadJoinsWhatSegmentsCut(t *testing.T) {
	for cut := range 5 {
		for _, mid := range []string{"😀", "\r\n", "€", "\r\r\n", "\n"} {
			s := strings.Repeat("x", segmentSize-cut) + mid + strings.Repeat("y\n", segmentSize/2)
			text := load(t, s)
			if got, want := text.String(), strings.ReplaceAll(s, "\r\n", "\n"); got != want {
				t.Fatalf("cut %d, %q: text differs", cut, mid)
			}
			var out bytes.Buffer
			if _, err := text.WriteTo(&out); err != nil || out.String() != s {
				t.Fatalf("cut %d, %q: written text differs", cut, mid)
			}
		}
	}
}

func TestApplyRefusesBadEdits(t *testing.T) {
	s := NewStore(load(t, "aé\n"), 0)
	tests := map[string][]Edit{
		"overlap":        {{Start: 0, End: 1}, {Start: 0, End: 3}},
		"unsorted":       {{Start: 3, End: 3}, {Start: 0, End: 1}},
		"outside":        {{Start: 0, End: 9}},
		"backwards":      {{Start: 3, End: 1}},
		"in a character": {{Start: 2, End: 3}},
	}
	for name, edits := range tests {
		if err := s.Apply(edits, Step{}); !errors.Is(err, ErrEditOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.CanUndo() || s.View().String() != "aé\n" {
		t.Error("a refused edit changed the store")
	}
}

func TestUndoKeepsItsBudget(t *testing.T) {
	const budget = 1000 * stepCost
	s := NewStore(load(t, "ab"), budget)
	for range 5000 {
		if err := s.Apply([]Edit{{Start: 1, End: 1, Text: []byte("x")}}, Step{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.UndoBytes(); got > budget {
		t.Errorf("%d bytes of steps, budget %d", got, budget)
	}
	n := 0
	for {
		if _, ok := s.Undo(); !ok {
			break
		}
		n++
	}
	if n == 0 || n > 1000 {
		t.Errorf("%d steps were undone", n)
	}
	if got, want := s.View().Len(), 2+5000-n; got != want {
		t.Errorf("%d bytes are left, want %d", got, want)
	}
}

func TestMarksComeBackWithTheirStep(t *testing.T) {
	s := NewStore(load(t, "a"), 0)
	if err := s.Apply(nil, Step{Mark: "format"}); err != nil {
		t.Fatal(err)
	}
	if done, ok := s.Undo(); !ok || done.Mark != "format" || len(done.Spans) != 0 {
		t.Errorf("undo gave %+v, %v", done, ok)
	}
	if done, ok := s.Redo(); !ok || done.Mark != "format" {
		t.Errorf("redo gave %+v, %v", done, ok)
	}
}

// TestSnapshotsOutliveTheStore collects garbage while snapshots are read: what
// they show must stay mapped, and be unmapped later without harm.
func TestSnapshotsOutliveTheStore(t *testing.T) {
	line := strings.Repeat("0123456789abcde\n", 1<<10)
	for range 4 {
		s := NewStore(load(t, strings.Repeat(line, 200)), 0)
		snapshot := s.Snapshot()
		for i := range 500 {
			if err := s.Apply([]Edit{{Start: i * 6000, End: i*6000 + 5, Text: []byte("é")}}, Step{}); err != nil {
				t.Fatal(err)
			}
		}
		s = nil
		runtime.GC()
		n := 0
		for b := range snapshot.Chunks(0, snapshot.Len()) {
			runtime.GC()
			n += bytes.Count(b, []byte("0123456789abcde\n"))
		}
		if n != 200<<10 {
			t.Fatalf("%d lines", n)
		}
	}
	runtime.GC()
}

// TestReadersSeeNoEdit reads snapshots while the owner edits; the race
// detector watches.
func TestReadersSeeNoEdit(t *testing.T) {
	s := NewStore(load(t, strings.Repeat("abc\n", 5000)), 0)
	done := make(chan string, 50)
	for i := range 50 {
		snapshot := s.Snapshot()
		want := 20000 + i*3
		go func() {
			if got := len(snapshot.String()); got != want {
				done <- "a snapshot changed"
				return
			}
			done <- ""
		}()
		if err := s.Apply([]Edit{{Start: i * 100, End: i * 100, Text: []byte("é!")}}, Step{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		if msg := <-done; msg != "" {
			t.Error(msg)
		}
	}
}

func TestNoEditCopiesASharedTree(t *testing.T) {
	s := NewStore(load(t, strings.Repeat("abc\n", 5000)), 0)
	for i := range 2000 {
		if err := s.Apply([]Edit{{Start: i * 9, End: i * 9, Text: []byte("x")}}, Step{}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Snapshot()
	if err := s.Apply([]Edit{{Start: 1000, End: 1000, Text: []byte("y")}}, Step{}); err != nil {
		t.Fatal(err)
	}
	if Equal(before, s.View()) {
		t.Error("the edit is in the snapshot")
	}
	if _, ok := s.Undo(); !ok || !Equal(before, s.View()) {
		t.Error("undo doesn't lead back")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("a\r\nb\n\r\r\n"), 2, "é\n")
	f.Add([]byte("\xff\xfe"), 0, "")
	f.Fuzz(func(t *testing.T, b []byte, at int, ins string) {
		text, err := Load(bytes.NewReader(b), 0, int64(len(b)))
		if (err == nil) != utf8.Valid(b) {
			t.Fatalf("valid UTF-8: %v, error %v", utf8.Valid(b), err)
		}
		if err != nil || !utf8.ValidString(ins) || at < 0 || at > text.Len() || !text.Boundary(at) {
			return
		}
		s := NewStore(text, 0)
		if err := s.Apply([]Edit{{Start: at, End: at, Text: FromWire(ins, '\n')}}, Step{}); err != nil {
			t.Fatal(err)
		}
		before := text.AppendDisk(nil, 0, at)
		after := text.AppendDisk(nil, at, text.Len())
		want := string(before) + strings.ReplaceAll(ins, "\r\n", "\n") + string(after)
		var out bytes.Buffer
		if _, err := s.View().WriteTo(&out); err != nil || out.String() != want {
			t.Fatalf("got %q, want %q", out.String(), want)
		}
	})
}
