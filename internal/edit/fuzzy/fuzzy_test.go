package fuzzy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBestFirst(t *testing.T) {
	for _, c := range []struct {
		query string
		paths []string
		want  string
	}{
		{"main", []string{"domain/x.go", "cmd/main.go", "m/a/i/n"}, "cmd/main.go"},
		{"fb", []string{"flub.go", "foo_bar.go", "xfxb.go"}, "foo_bar.go"},
		{"FB", []string{"foobar.go", "fooBar.go"}, "fooBar.go"},
		{"buf go", []string{"buf/x.go", "x/buffer.go"}, "x/buffer.go"},
		{"a", []string{"bbba", "a"}, "a"},
		{"src/ma", []string{"src/main.go", "main/src.go"}, "src/main.go"},
		{"ä", []string{"a.go", "Änd.go"}, "Änd.go"},
		{"readme", []string{"docs/readme/x.md", "README.md"}, "README.md"},
	} {
		hits, total, err := Rank(t.Context(), c.paths, c.query, 10)
		if err != nil || len(hits) == 0 || c.paths[hits[0].Index] != c.want || total < len(hits) {
			t.Errorf("%q: %+v %v", c.query, hits, err)
		}
	}
	if hits, total, _ := Rank(t.Context(), []string{"abc"}, "cb", 10); len(hits) != 0 || total != 0 {
		t.Error(hits, total)
	}
}

func TestPositionsAreCodePoints(t *testing.T) {
	hits, _, err := Rank(t.Context(), []string{"ööö/xay"}, "xy", 1)
	if err != nil || !slices.Equal(hits[0].Positions, []int{4, 6}) {
		t.Error(hits, err)
	}
}

func TestEmptyQueryAndCancel(t *testing.T) {
	hits, total, err := Rank(t.Context(), []string{"a", "b", "c"}, " ", 2)
	if err != nil || total != 3 || len(hits) != 2 || hits[1].Index != 1 {
		t.Error(hits, total, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Rank(ctx, []string{"a"}, "a", 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLimitKeepsTheBest(t *testing.T) {
	var paths []string
	for i := range 5000 {
		paths = append(paths, fmt.Sprintf("dir%d/some/file%d.go", i%7, i))
	}
	all, total, err := Rank(t.Context(), paths, "fil1go", len(paths))
	if err != nil {
		t.Fatal(err)
	}
	few, sameTotal, err := Rank(t.Context(), paths, "fil1go", 20)
	if err != nil || total != sameTotal || len(few) != 20 {
		t.Fatal(total, sameTotal, len(few), err)
	}
	for i := range few {
		if few[i].Index != all[i].Index {
			t.Errorf("place %d: %v, want %v", i, few[i], all[i])
		}
	}
}

func TestHitsAreSubsequences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[abAB/_.ä]{0,12}`)
		paths := rapid.SliceOfN(text, 1, 8).Draw(t, "paths")
		query := []rune(rapid.StringMatching(`[abäB/]{1,4}`).Draw(t, "query"))
		hits, total, err := Rank(context.Background(), paths, string(query), 10)
		if err != nil || total != len(hits) {
			t.Fatal(total, len(hits), err)
		}
		want := 0
		for _, p := range paths {
			q := 0
			for _, r := range p {
				if q < len(query) && fold(r) == fold(query[q]) {
					q++
				}
			}
			if q == len(query) {
				want++
			}
		}
		if total != want {
			t.Fatalf("%d hits, want %d", total, want)
		}
		for _, h := range hits {
			path := []rune(paths[h.Index])
			for i, at := range h.Positions {
				if fold(path[at]) != fold(query[i]) || i > 0 && at <= h.Positions[i-1] {
					t.Fatalf("%q in %q at %v", string(query), string(path), h.Positions)
				}
			}
		}
	})
}

func BenchmarkRank(b *testing.B) {
	var paths []string
	for i := range 100_000 {
		paths = append(paths, fmt.Sprintf("internal/package%d/sub_folder/SomeFile%d_test.go", i%300, i))
	}
	for b.Loop() {
		if _, _, err := Rank(context.Background(), paths, "pkgfile42", 100); err != nil {
			b.Fatal(err)
		}
	}
}
