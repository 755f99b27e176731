package budget

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBudget(t *testing.T) {
	max := int64(5)
	b := New(&max)
	if fits, cut := b.Text("éa"); fits != "éa" || cut {
		t.Errorf("Text = %q, %v", fits, cut)
	}
	if !b.Fit(1) || b.Fit(2) {
		t.Error("one byte of two fits, two of one don't")
	}
	if fits, cut := b.Text("é"); fits != "" || !cut {
		t.Errorf("a character that doesn't fit = %q, %v", fits, cut)
	}
	if fits, cut := b.Text("a"); fits != "" || !cut {
		t.Errorf("after a cut = %q, %v", fits, cut)
	}
	if fits, cut := b.Text(""); fits != "" || cut {
		t.Errorf("nothing is never cut: %q, %v", fits, cut)
	}
	c := New(&max)
	if c.Whole(6) || c.Whole(1) {
		t.Error("something fits after the first that didn't")
	}
	zero := int64(0)
	z := New(&zero)
	if _, cut := z.Text("a"); !cut {
		t.Error("a budget of 0 took a byte")
	}
	none := New(nil)
	if fits, cut := none.Text(strings.Repeat("x", 1<<20)); cut || len(fits) != 1<<20 || !none.Whole(1<<30) {
		t.Error("a budget without a limit cut something")
	}
}

// TestTextIsAPrefix: whatever the pieces, what fits is the longest prefix of
// whole characters within the limit.
func TestTextIsAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		max := rapid.Int64Range(0, 64).Draw(t, "max")
		pieces := rapid.SliceOf(rapid.String()).Draw(t, "pieces")
		b := New(&max)
		got, anyCut := "", false
		for _, p := range pieces {
			fits, cut := b.Text(p)
			got, anyCut = got+fits, anyCut || cut
		}
		all := strings.Join(pieces, "")
		want := all
		if int64(len(all)) > max {
			want = all[:max]
			for !utf8.ValidString(want) {
				want = want[:len(want)-1]
			}
		}
		if got != want || anyCut != (len(want) < len(all)) {
			t.Fatalf("got %q, cut %v; want %q of %q", got, anyCut, want, all)
		}
	})
}
