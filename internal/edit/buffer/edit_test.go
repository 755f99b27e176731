package buffer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dragoman/internal/edit/match"
	"dragoman/internal/edit/text"
)

func TestEditsReferToTheTextBefore(t *testing.T) {
	w := newWorld(t)
	w.write("f", "abc\r\ndef\n")
	b := w.openFile("f")
	res, err := w.set.Edit(EditParams{Buffer: b, Edits: []Edit{
		{span(1, 0, 1, 3), "XY\nZ"},
		{span(0, 3, 0, 3), "1"},
		{span(0, 0, 0, 3), ""},
		{span(0, 3, 0, 3), "2"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.text(b), "12\nXY\nZ\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := fmt.Sprint(res.Ranges), "[{1:0 2:1} {0:0 0:1} {0:0 0:0} {0:1 0:2}]"; got != want {
		t.Errorf("ranges %s, want %s", got, want)
	}
	w.mirror.check(b, w.text(b))
}

func TestEditRefusals(t *testing.T) {
	w := newWorld(t)
	w.write("f", "aé\nb")
	b := w.openFile("f")
	tests := []struct {
		name   string
		params EditParams
		code   Code
		reason string
	}{
		{"no buffer", EditParams{Buffer: "b99"}, NoBuffer, ""},
		{"outside", EditParams{Edits: []Edit{{span(5, 0, 5, 0), ""}}}, BadIndex, ""},
		{"in a character", EditParams{Edits: []Edit{{span(0, 2, 0, 3), ""}}}, BadIndex, ""},
		{"overlap", EditParams{Edits: []Edit{{span(0, 0, 0, 3), ""}, {span(0, 1, 1, 0), ""}}}, BadRequest, "overlap"},
		{"backwards", EditParams{Edits: []Edit{{span(1, 0, 0, 0), ""}}}, BadRequest, "backwards"},
		{"stale", EditParams{Revision: ptr(int64(7))}, Stale, ""},
		{"one of two bad", EditParams{Edits: []Edit{{span(0, 0, 0, 0), "x"}, {span(9, 0, 9, 0), ""}}}, BadIndex, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.params.Buffer == "" {
				tt.params.Buffer = b
			}
			_, err := w.set.Edit(tt.params)
			wantCode(t, err, tt.code, tt.reason)
		})
	}
	if w.text(b) != "aé\nb" || w.info(b).Revision != 0 {
		t.Error("a refused edit changed the buffer")
	}
}

func TestNoChangeNoRevision(t *testing.T) {
	w := newWorld(t)
	w.write("f", "a\r\nb\n")
	b := w.openFile("f")
	w.do(b, span(0, 0, 1, 1), "a\nb")
	if i := w.info(b); i.Revision != 0 || i.Modified || w.set.mustUndo(b) {
		t.Errorf("got %+v", i)
	}
}

// mustUndo reports whether undo changed something.
func (s *Set) mustUndo(b ID) bool {
	r, err := s.Undo(UndoParams{Buffer: b})
	return err == nil && r.Changed
}

func TestNewLineEndsFollowTheirLine(t *testing.T) {
	w := newWorld(t)
	tests := []struct{ file, ins, want string }{
		{"a\r\nb\n", "1\n2", "1\r\n2a\r\nb\n"},
		{"a\nb\r\n", "1\r\n2", "1\n2a\nb\r\n"},
		{"a", "1\n", "1\na"},
		{"", "1\n2", "1\n2"},
	}
	for i, tt := range tests {
		name := fmt.Sprint("f", i)
		w.write(name, tt.file)
		b := w.openFile(name)
		w.do(b, span(0, 0, 0, 0), tt.ins)
		if _, err := w.save(b); err != nil {
			t.Fatal(err)
		}
		if got := w.read(name); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.file, got, tt.want)
		}
	}
}

func TestCoalescing(t *testing.T) {
	w := newWorld(t)
	w.write("f", "")
	b := w.openFile("f")
	typed := func(s, key, client string) {
		t.Helper()
		end := at(0, len(w.text(b)))
		if _, err := w.set.Edit(EditParams{
			Buffer: b, Edits: []Edit{{Range{end, end}, s}}, Coalesce: key,
			Origin: Origin{Kind: "client", Client: client},
		}); err != nil {
			t.Fatal(err)
		}
	}
	typed("a", "k", "c1")
	w.clock = w.clock.Add(900 * time.Millisecond)
	typed("b", "k", "c1")
	w.clock = w.clock.Add(1100 * time.Millisecond)
	typed("c", "k", "c1")
	typed("d", "k", "c2")
	typed("e", "", "c2")
	for _, want := range []string{"abcd", "abc", "ab", ""} {
		if !w.set.mustUndo(b) || w.text(b) != want {
			t.Fatalf("got %q, want %q", w.text(b), want)
		}
	}
	if w.set.mustUndo(b) || w.info(b).Modified {
		t.Error("something is left to undo")
	}
}

func TestRunsAreOneStepUntilSomebodyEdits(t *testing.T) {
	w := newWorld(t)
	w.write("f", "x\n")
	b := w.openFile("f")
	agent := Origin{Kind: "agent", Run: "r1"}
	by := func(o Origin, s string) {
		t.Helper()
		if _, err := w.set.Edit(EditParams{Buffer: b, Edits: []Edit{{span(0, 0, 0, 0), s}}, Origin: o}); err != nil {
			t.Fatal(err)
		}
	}
	by(agent, "a")
	w.clock = w.clock.Add(time.Hour)
	by(agent, "b")
	by(Origin{Kind: "client"}, "c")
	by(agent, "d")
	for _, want := range []string{"cbax\n", "bax\n", "x\n"} {
		if !w.set.mustUndo(b) || w.text(b) != want {
			t.Fatalf("got %q, want %q", w.text(b), want)
		}
	}
}

func TestFindBothWays(t *testing.T) {
	w := newWorld(t)
	w.write("f", "foo bar\nFOO foo\n")
	b := w.openFile("f")
	tests := []struct {
		query     string
		options   match.Options
		from      *text.Position
		backwards bool
		want      string
	}{
		{"foo", match.Options{}, nil, false, "{true {0:0 0:3} false}"},
		{"foo", match.Options{}, ptr(at(0, 1)), false, "{true {1:4 1:7} false}"},
		{"foo", match.Options{}, ptr(at(1, 5)), false, "{true {0:0 0:3} true}"},
		{"foo", match.Options{}, ptr(at(1, 4)), true, "{true {0:0 0:3} false}"},
		{"foo", match.Options{}, ptr(at(0, 0)), true, "{true {1:4 1:7} true}"},
		{"foo", match.Options{IgnoreCase: true}, ptr(at(1, 4)), true, "{true {1:0 1:3} false}"},
		{"$", match.Options{Regex: true}, ptr(at(0, 7)), false, "{true {0:7 0:7} false}"},
		{"^", match.Options{Regex: true}, ptr(at(2, 0)), true, "{true {1:0 1:0} false}"},
		{"nope", match.Options{}, nil, false, "{false {0:0 0:0} false}"},
		{`r\nF`, match.Options{Regex: true}, nil, true, "{true {0:6 1:1} false}"},
	}
	for _, tt := range tests {
		r, err := w.set.Find(context.Background(), FindParams{Buffer: b, Query: tt.query, Options: tt.options, From: tt.from, Backwards: tt.backwards})
		if got := fmt.Sprint(r); err != nil || got != tt.want {
			t.Errorf("%q from %v: got %s, %v, want %s", tt.query, tt.from, got, err, tt.want)
		}
	}
	_, err := w.set.Find(context.Background(), FindParams{Buffer: b, Query: "(", Options: match.Options{Regex: true}})
	wantCode(t, err, BadRequest, "syntax")
}

func TestReplaceAll(t *testing.T) {
	w := newWorld(t)
	tests := []struct {
		file, query, with string
		options           match.Options
		want              string
		count             int
	}{
		{"a.a\r\na", ".", "$1", match.Options{}, "a$1a\r\na", 1},
		{"ab ac\r\nad", `a(\w)`, "${1}x$$\n", match.Options{Regex: true}, "bx$\r\n cx$\r\n\r\ndx$\r\n", 3},
		{"foo food", "foo", "x", match.Options{WholeWord: true}, "x food", 1},
		{"one two", `(?P<w>\w+) (\w+)`, "$2 ${w}", match.Options{Regex: true}, "two one", 1},
		{"a\nb\n", `\n`, ",", match.Options{Regex: true}, "a,b,", 2},
		{"abc", "x", "y", match.Options{}, "abc", 0},
		{"aé", "", "-", match.Options{Regex: true}, "-a-é-", 3},
	}
	for i, tt := range tests {
		name := fmt.Sprint("f", i)
		w.write(name, tt.file)
		b := w.openFile(name)
		r, err := w.set.ReplaceAll(context.Background(), ReplaceParams{Buffer: b, Query: tt.query, With: tt.with, Options: tt.options})
		if err != nil || r.Count != tt.count {
			t.Errorf("%q: %+v, %v", tt.query, r, err)
		}
		if _, err := w.save(b); err != nil {
			t.Fatal(err)
		}
		if got := w.read(name); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.query, got, tt.want)
		}
		w.mirror.check(b, w.text(b))
	}
}

func TestScanOfWindowsFindsWhatTheWholeHas(t *testing.T) {
	long := strings.Repeat("ab ", 900000) + "needle " + strings.Repeat("x", 100) + "\n"
	s := strings.Repeat("line of text\n", 150000) + long + "needle\n" + strings.Repeat("é", 700000) + "needle"
	tt := Literal(s)
	for _, q := range []struct {
		query   string
		options match.Options
	}{
		{"needle", match.Options{}},
		{"needle", match.Options{WholeWord: true}},
		{`n[e]+dl\w`, match.Options{Regex: true}},
		{"éé", match.Options{}},
	} {
		p, err := match.Compile(q.query, q.options)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []int
		p.Each([]byte(s), func(start, _ int) bool { want = append(want, start); return true })
		if err := Scan(context.Background(), tt, p, 0, func(start, _ int) bool { got = append(got, start); return true }); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %d matches, want %d", q.query, len(got), len(want))
		}
		start, _, err := lastBefore(context.Background(), tt, p, tt.Len()+1)
		if err != nil || start != want[len(want)-1] && p.PerLine() && q.query != "éé" {
			t.Errorf("%q: the last is %d, %v, want %d", q.query, start, err, want[len(want)-1])
		}
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t)
	w.write("f", "one\ntwo\r\nééé\n")
	b := w.openFile("f")
	var got []string
	from := at(0, 0)
	for {
		r, err := w.set.Text(TextParams{Buffer: b, From: &from, MaxBytes: 5, Revision: ptr(int64(0))})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Text)
		if r.Next == nil {
			if !r.EOF {
				t.Error("the last page isn't the end")
			}
			break
		}
		from = *r.Next
		// Edits in between don't move the snapshot.
		w.do(b, span(0, 0, 0, 0), "x")
	}
	if want := []string{"one\n", "two\n", "éé", "é\n"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	w.clock = w.clock.Add(KeptFor)
	_, err := w.set.Text(TextParams{Buffer: b, Revision: ptr(int64(0))})
	wantCode(t, err, Stale, "")
	r, err := w.set.Text(TextParams{Buffer: b, Range: ptr(span(0, 1, 1, 2))})
	if err != nil || r.Text != "xxone\ntw" || r.Next != nil || r.EOF {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBigChangesAreResets(t *testing.T) {
	w := newWorld(t)
	info, err := w.set.NewScratch(NewParams{})
	if err != nil {
		t.Fatal(err)
	}
	w.do(info.Buffer, span(0, 0, 0, 0), strings.Repeat("x", MaxEventBytes+1))
	if got := w.info(info.Buffer); got.Revision != 1 || got.Bytes != MaxEventBytes+1 {
		t.Errorf("%+v", got)
	}
}

// TestClientsSeeTheText runs random operations and holds a mirror that knows
// only the events against the buffer, in all three units.
func TestClientsSeeTheText(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := worldIn(t, rt, dir)
		n++
		name := fmt.Sprint("f", n)
		part := rapid.SampledFrom([]string{"a", "b ", "\n", "\r\n", "é", "😀", "\r", "word"})
		content := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(part, 0, 20).Draw(t, "parts"), "")
		})
		w.write(name, content.Draw(rt, "file"))
		b := w.openFile(name)
		clean := w.read(name)
		position := func(t *rapid.T) text.Position {
			snap, _, _ := w.set.Snapshot(b)
			off := rapid.IntRange(0, snap.Len()).Draw(t, "off")
			return snap.Position(boundaryBefore(snap, off), text.UTF16)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {
				w.mirror.check(b, w.text(b))
				snap, _, _ := w.set.Snapshot(b)
				same := string(snap.AppendDisk(nil, 0, snap.Len())) == clean
				if i := w.info(b); i.Encoding == "utf-8" && !i.BOM && i.Modified == same && i.State == OK {
					rt.Fatalf("modified is %v; same as saved: %v", i.Modified, same)
				}
			},
			"edit": func(t *rapid.T) {
				var edits []Edit
				for range rapid.IntRange(1, 3).Draw(t, "n") {
					r := Range{position(t), position(t)}
					if r.End.Less(r.Start) {
						r.Start, r.End = r.End, r.Start
					}
					edits = append(edits, Edit{r, content.Draw(t, "text")})
				}
				_, err := w.set.Edit(EditParams{Buffer: b, Edits: edits, Unit: text.UTF16, Coalesce: rapid.SampledFrom([]string{"", "k"}).Draw(t, "key")})
				if err != nil && CodeOf(err) != BadRequest {
					rt.Fatal(err)
				}
			},
			"undo": func(*rapid.T) { w.set.mustUndo(b) },
			"redo": func(*rapid.T) { _, _ = w.set.Redo(UndoParams{Buffer: b}) },
			"replaceAll": func(t *rapid.T) {
				if _, err := w.set.ReplaceAll(context.Background(), ReplaceParams{
					Buffer: b, Query: rapid.SampledFrom([]string{"a", `\n`, "[é😀]", "^"}).Draw(t, "query"),
					With: "<$0>\n", Options: match.Options{Regex: true},
				}); err != nil {
					rt.Fatal(err)
				}
			},
			"format": func(t *rapid.T) {
				if _, err := w.set.SetFormat(FormatParams{
					Buffer: b, EOL: rapid.SampledFrom([]EOL{"", LF, CRLF}).Draw(t, "eol"),
					FinalNewline: rapid.SampledFrom([]*bool{nil, ptr(true), ptr(false)}).Draw(t, "final"),
				}); err != nil {
					rt.Fatal(err)
				}
			},
			"save": func(*rapid.T) {
				if w.info(b).State != OK {
					return
				}
				if _, err := w.save(b); err != nil {
					rt.Fatal(err)
				}
				clean = w.read(name)
			},
			"disk": func(t *rapid.T) {
				w.write(name, content.Draw(t, "disk"))
				if err := w.set.Look(context.Background(), b, Origin{}); err != nil {
					rt.Fatal(err)
				}
				if w.info(b).State == OK {
					clean = w.read(name)
				} else if _, err := w.set.Resolve(ResolveParams{Buffer: b, Take: rapid.SampledFrom([]Take{TakeBuffer, TakeDisk}).Draw(t, "take")}); err != nil {
					rt.Fatal(err)
				}
				clean = w.read(name)
			},
		})
		_ = w.logs.Close()
	})
}

// TestManyAtOnce edits, saves and searches from several goroutines; each edit
// names its revision and is tried again when that is stale.
func TestManyAtOnce(t *testing.T) {
	const clients, each = 4, 40
	w := newWorld(t)
	w.write("f", "start\n")
	b := w.openFile("f")
	errs := make(chan error, clients)
	for c := range clients {
		go func() {
			errs <- func() error {
				for i := 0; i < each; {
					info, err := w.set.Get(b)
					if err != nil {
						return err
					}
					_, err = w.set.Edit(EditParams{
						Buffer: b, Revision: &info.Revision, Origin: Origin{Client: fmt.Sprint(c)},
						Edits: []Edit{{span(info.LineCount-1, 0, info.LineCount-1, 0), fmt.Sprintf("%d\n", c)}},
					})
					if CodeOf(err) == Stale {
						continue
					}
					if err != nil {
						return err
					}
					i++
					if i%10 == 0 {
						if _, err := w.save(b); err != nil {
							return err
						}
						if _, err := w.set.Matches(context.Background(), MatchesParams{Buffer: b, Query: "start"}); err != nil {
							return err
						}
						if _, err := w.set.ReplaceAll(context.Background(), ReplaceParams{Buffer: b, Query: "start", With: "started"}); err != nil {
							return err
						}
					}
				}
				return nil
			}()
		}()
	}
	for range clients {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	got := w.text(b)
	w.mirror.check(b, got)
	for c := range clients {
		if n := strings.Count(got, fmt.Sprintf("%d\n", c)); n != each {
			t.Errorf("client %d has %d lines", c, n)
		}
	}
	if _, err := w.save(b); err != nil || w.read("f") != got {
		t.Errorf("saved %q, %v", w.read("f"), err)
	}
}
