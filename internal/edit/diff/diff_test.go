package diff

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dragoman/internal/edit/text"
)

func make3(t interface{ Fatal(...any) }, s string) text.Text {
	out, err := text.Load(strings.NewReader(s), 0, int64(len(s)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func disk(t text.Text) string { return string(t.AppendDisk(nil, 0, t.Len())) }

func apply(t interface{ Fatal(...any) }, a text.Text, edits []text.Edit) text.Text {
	s := text.NewStore(a, 0)
	if err := s.Apply(edits, text.Step{}); err != nil {
		t.Fatal(err)
	}
	return s.Snapshot()
}

var genLines = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a\n", "b\n", "c\n", "é\n", "ê\n", "a\r\n", "\n", "long line\n", "x", "\r",
	}), 0, 14).Draw(t, "lines"), "")
})

func TestEditsLeadFromOneToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genLines.Draw(t, "a"), genLines.Draw(t, "b")
		from, to := make3(t, a), make3(t, b)
		if got := disk(apply(t, from, Edits(from, to))); got != b {
			t.Fatalf("%q to %q gives %q", a, b, got)
		}
	})
}

// lcs is the length of the longest common subsequence, by the plain table.
func lcs(a, b []int) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		prev := 0
		for j, y := range b {
			old := row[j+1]
			if x == y {
				row[j+1] = prev + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			prev = old
		}
	}
	return row[len(b)]
}

func TestChangesAreTheFewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 40)
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		kept := len(a)
		for _, c := range sequences(a, b) {
			kept -= c.OldEnd - c.OldStart
		}
		if want := lcs(a, b); kept != want {
			t.Fatalf("%d lines kept, %d could be", kept, want)
		}
	})
}

func TestLittleInCommonEndsSoon(t *testing.T) {
	var a, b []int
	seed := uint32(7)
	for range 60000 {
		seed = seed*1664525 + 1013904223
		a = append(a, int(seed>>20))
		seed = seed*1664525 + 1013904223
		b = append(b, int(seed>>20))
	}
	x, y := 0, 0
	for _, c := range sequences(a, b) {
		if c.OldStart-x != c.NewStart-y {
			t.Fatal("what lies between two changes isn't as long in both")
		}
		for i := range c.OldStart - x {
			if a[x+i] != b[y+i] {
				t.Fatal("a line that isn't common counts as such")
			}
		}
		x, y = c.OldEnd, c.NewEnd
	}
}

func TestMerge3(t *testing.T) {
	tests := []struct {
		name, base, ours, theirs, want string
	}{
		{"only theirs", "a\nb\nc\n", "a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n"},
		{"only ours", "a\nb\nc\n", "a\nX\nc\n", "a\nb\nc\n", "a\nX\nc\n"},
		{"apart", "a\nb\nc\nd\ne\n", "X\na\nb\nc\nd\ne\n", "a\nb\nc\nd\nY\n", "X\na\nb\nc\nd\nY\n"},
		{"equal", "a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", "a\nX\nc\n"},
		{"overlap", "a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", "conflict"},
		{"touch", "a\nb\nc\nd\n", "a\nX\nc\nd\n", "a\nb\nY\nd\n", "conflict"},
		{"one line between", "a\nb\nc\nd\n", "X\nb\nc\nd\n", "a\nb\nY\nd\n", "X\nb\nY\nd\n"},
		{"insertions at one place", "a\nb\n", "a\nX\nb\n", "a\nY\nb\n", "conflict"},
		{"deleted by both", "a\nb\nc\n", "a\nc\n", "a\nc\n", "a\nc\n"},
		{"line ends only", "a\nb\nc\n", "a\nb\nX\n", "a\r\nb\nc\n", "a\r\nb\nX\n"},
		{"last line without end", "a\nb\nc", "X\nb\nc", "a\nb\nc\n", "X\nb\nc\n"},
	}
	for _, tt := range tests {
		base, ours, theirs := make3(t, tt.base), make3(t, tt.ours), make3(t, tt.theirs)
		got := "conflict"
		if edits, ok := Merge3(base, ours, theirs); ok {
			got = disk(apply(t, ours, edits))
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestMergeIsSymmetric merges both ways: clean or not must agree, and so must
// the text.
func TestMergeIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := make3(t, genLines.Draw(t, "base")), make3(t, genLines.Draw(t, "ours")), make3(t, genLines.Draw(t, "theirs"))
		e1, ok1 := Merge3(base, ours, theirs)
		e2, ok2 := Merge3(base, theirs, ours)
		if ok1 != ok2 {
			t.Fatalf("clean one way: %v, the other: %v", ok1, ok2)
		}
		if !ok1 {
			return
		}
		if x, y := disk(apply(t, ours, e1)), disk(apply(t, theirs, e2)); x != y {
			t.Fatalf("%q one way, %q the other", x, y)
		}
	})
}

// TestUnifiedIsWhatPatchReads gives our diff to patch.
func TestUnifiedIsWhatPatchReads(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Log("no patch here: the hunks are checked against their own counts only")
	}
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		a := strings.ReplaceAll(genLines.Draw(t, "a"), "\r", "")
		b := strings.ReplaceAll(genLines.Draw(t, "b"), "\r", "")
		hunks, truncated := Hunks(make3(t, a), make3(t, b))
		if truncated {
			t.Fatal("truncated")
		}
		for _, h := range hunks {
			n := 0
			for _, l := range h.Lines {
				if l.Op != '+' {
					n++
				}
			}
			if n != h.OldLines {
				t.Fatalf("%d old lines, header says %d", n, h.OldLines)
			}
		}
		if patch == "" || len(hunks) == 0 || a == "" {
			return
		}
		name := filepath.Join(dir, "file")
		if err := os.WriteFile(name, []byte(a), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patch, "--quiet", name)
		cmd.Stdin = strings.NewReader("--- a\n+++ b\n" + Unified(hunks))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s\n%s", err, out, Unified(hunks))
		}
		got, _ := os.ReadFile(name)
		if string(got) != b {
			t.Fatalf("patch made %q of %q, want %q", got, a, b)
		}
	})
}

func TestHunksAreBounded(t *testing.T) {
	a := make3(t, "a\n")
	b := make3(t, "b\n"+strings.Repeat(strings.Repeat("x", 1000)+"\n", 2000))
	if hunks, truncated := Hunks(a, b); !truncated || len(hunks) != 0 {
		t.Errorf("%d hunks, truncated %v", len(hunks), truncated)
	}
}
