package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// model is a text as plain bytes in the store's form: slow and obvious.
type model []byte

func (m model) replace(start, end int, with []byte) model {
	out := append(model(nil), m[:start]...)
	out = append(out, with...)
	return append(out, m[end:]...)
}

func (m model) wire() string {
	b := append([]byte(nil), m...)
	ToWire(b)
	return string(b)
}

func (m model) boundaries() []int {
	out := []int{}
	for i := range m {
		if isBoundary(m[i]) {
			out = append(out, i)
		}
	}
	return append(out, len(m))
}

func (m model) position(off int, u Unit) Position {
	before := m[:off].wire()
	line := strings.Count(before, "\n")
	last := before[strings.LastIndexByte(before, '\n')+1:]
	switch u {
	case UTF16:
		return Position{line, len(utf16.Encode([]rune(last)))}
	case UTF32:
		return Position{line, utf8.RuneCountInString(last)}
	default:
		return Position{line, len(last)}
	}
}

// alphabet has every kind of character that counts differently.
var alphabet = []string{"a", "b", " ", "\n", "\xff", "\r", "é", "ß", "€", "語", "😀", "\u2028", "word", "long run of plain text "}

func genText(maxParts int) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		parts := rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, maxParts).Draw(t, "parts")
		times := rapid.SampledFrom([]int{1, 1, 1, 3, 200}).Draw(t, "times")
		return bytes.Repeat([]byte(strings.Join(parts, "")), times)
	})
}

func fromStoreForm(b []byte) Text {
	if len(b) == 0 {
		return Text{}
	}
	return fromPieces([]piece{wholePiece(copyChunk(b))})
}

func (m model) check(t *rapid.T, got Text) {
	if b := got.Append(nil, 0, got.Len()); !bytes.Equal(b, m) {
		t.Fatalf("text is %q, want %q", b, []byte(m))
	}
	if got.String() != m.wire() {
		t.Fatalf("wire's form differs")
	}
	want := Metrics{Bytes: len(m)}
	want.addCounts(0, scan(m))
	if got.Metrics() != want {
		t.Fatalf("metrics %+v, want %+v", got.Metrics(), want)
	}
	bounds := m.boundaries()
	for range 5 {
		off := rapid.SampledFrom(bounds).Draw(t, "off")
		for _, u := range []Unit{UTF8, UTF16, UTF32} {
			pos := m.position(off, u)
			if p := got.Position(off, u); p != pos {
				t.Fatalf("position of %d in %s is %v, want %v", off, u, p, pos)
			}
			if o, err := got.Offset(pos, u); err != nil || o != off {
				t.Fatalf("offset of %v in %s is %d, %v, want %d", pos, u, o, err, off)
			}
		}
	}
}

// TestStoreAgainstModel does random edits, undos, redos and snapshots on a
// store and on plain bytes, and compares everything that can be asked.
func TestStoreAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := model(genText(60).Draw(t, "text"))
		s := NewStore(fromStoreForm(m), 0)
		saved := m
		undo, redo := []model{}, []model{}
		kept := map[*Text]model{}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				m.check(t, s.View())
				if got, want := s.Modified(), !bytes.Equal(saved, m); got != want {
					t.Fatalf("modified is %v, want %v", got, want)
				}
			},
			"edit": func(t *rapid.T) {
				before := m
				edits, after := genEdits(t, m)
				if err := s.Apply(edits, Step{}); err != nil {
					t.Fatal(err)
				}
				m = after
				if len(edits) > 0 {
					undo, redo = append(undo, before), nil
				}
			},
			"undo": func(t *rapid.T) {
				done, ok := s.Undo()
				if ok != (len(undo) > 0) {
					t.Fatalf("undo says %v with %d steps", ok, len(undo))
				}
				if !ok {
					return
				}
				before := m
				m, undo, redo = undo[len(undo)-1], undo[:len(undo)-1], append(redo, m)
				checkSpans(t, done.Spans, before, m)
			},
			"redo": func(t *rapid.T) {
				done, ok := s.Redo()
				if ok != (len(redo) > 0) {
					t.Fatalf("redo says %v with %d steps", ok, len(redo))
				}
				if !ok {
					return
				}
				before := m
				m, redo, undo = redo[len(redo)-1], redo[:len(redo)-1], append(undo, m)
				checkSpans(t, done.Spans, before, m)
			},
			"save": func(*rapid.T) { s.MarkSaved(); saved = m },
			"snapshot": func(*rapid.T) {
				text := s.Snapshot()
				kept[&text] = m
			},
		})
		for text, was := range kept {
			was.check(t, *text)
		}
	})
}

// genEdits draws sorted edits that may touch, and the text after them. Edits
// that change nothing are left out.
func genEdits(t *rapid.T, m model) ([]Edit, model) {
	bounds := m.boundaries()
	n := rapid.IntRange(1, 4).Draw(t, "edits")
	cuts := rapid.SliceOfN(rapid.SampledFrom(bounds), 2*n, 2*n).Draw(t, "cuts")
	for i := range cuts {
		for j := i; j > 0 && cuts[j-1] > cuts[j]; j-- {
			cuts[j-1], cuts[j] = cuts[j], cuts[j-1]
		}
	}
	var edits []Edit
	after := m
	for i := 0; i < n; i++ {
		e := Edit{Start: cuts[2*i], End: cuts[2*i+1], Text: genText(5).Draw(t, "ins")}
		if e.Start == e.End && len(e.Text) == 0 {
			continue
		}
		edits = append(edits, e)
	}
	for i := len(edits) - 1; i >= 0; i-- {
		after = after.replace(edits[i].Start, edits[i].End, edits[i].Text)
	}
	return edits, after
}

// checkSpans requires that spans, filled from after, turn before into after.
func checkSpans(t *rapid.T, spans []Span, before, after model) {
	got := before
	delta := 0
	for _, s := range spans {
		at := s.Start + delta
		got = got.replace(at, s.End+delta, after[at:at+s.New])
		delta += s.New - (s.End - s.Start)
	}
	if !bytes.Equal(got, after) {
		t.Fatalf("spans %v turn %q into %q, want %q", spans, before, got, after)
	}
}

// TestJoinedStepsAreUndoneAtOnce joins random edits to one step.
func TestJoinedStepsAreUndoneAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := model(genText(60).Draw(t, "text"))
		s := NewStore(fromStoreForm(m), 0)
		first := m
		changed := false
		for range rapid.IntRange(1, 8).Draw(t, "calls") {
			edits, after := genEdits(t, m)
			if len(edits) == 0 {
				continue
			}
			if err := s.Apply(edits, Step{Join: changed}); err != nil {
				t.Fatal(err)
			}
			m, changed = after, true
		}
		if !changed {
			return
		}
		done, _ := s.Undo()
		checkSpans(t, done.Spans, m, first)
		first.check(t, s.View())
		if s.CanUndo() {
			t.Fatal("more than one step")
		}
		done, _ = s.Redo()
		checkSpans(t, done.Spans, first, m)
		m.check(t, s.View())
	})
}

// TestLoadAgainstModel loads random bytes and writes them back.
func TestLoadAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := genText(40).Draw(t, "text")
		var disk []byte
		disk = appendDisk(disk, b)
		disk = bytes.Repeat(disk, rapid.SampledFrom([]int{1, 1, 700}).Draw(t, "times"))
		text, err := Load(bytes.NewReader(disk), 0, int64(len(disk)))
		if err != nil {
			t.Fatal(err)
		}
		want := FromDisk(append([]byte(nil), disk...))
		model(want).check(t, text)
		var out bytes.Buffer
		if _, err := text.WriteTo(&out); err != nil || !bytes.Equal(out.Bytes(), disk) {
			t.Fatalf("written text differs: %v", err)
		}
		var build Builder
		for rest := disk; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "part")
			build.Write(rest[:n])
			rest = rest[n:]
		}
		if !Equal(build.Text(), text) {
			t.Fatal("the builder's text differs")
		}
	})
}
