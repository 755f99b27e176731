package changes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dragoman/internal/edit/attribute"
	"dragoman/internal/edit/changes"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// v is a version by the name of its content; "" is none.
func v(name string) *changes.Version {
	if name == "" {
		return nil
	}
	return &changes.Version{Hash: name, Size: 1, Mode: 0o644}
}

func step(run, path, before, after string) changes.Step {
	return changes.Step{
		Path: path, Before: v(before), After: v(after), At: now,
		Owner: attribute.Verdict{Kind: attribute.Agent, Certainty: attribute.Inferred, Run: run},
	}
}

func moved(run, from, path, before, after string) changes.Step {
	s := step(run, path, before, after)
	s.From = from
	return s
}

// text says what a fold came to in a line a file.
func text(files []changes.File) string {
	var b strings.Builder
	name := func(v *changes.Version) string {
		if v == nil {
			return "-"
		}
		return v.Hash
	}
	for _, f := range files {
		fmt.Fprintf(&b, "%s %s", f.Kind, f.Path)
		if f.From != "" {
			fmt.Fprintf(&b, "<%s", f.From)
		}
		for _, p := range f.Pairs {
			fmt.Fprintf(&b, " %s>%s", name(p.Before), name(p.After))
		}
		if f.Mixed {
			b.WriteString(" mixed")
		}
		if f.OverwrittenBy != "" {
			b.WriteString(" by " + f.OverwrittenBy)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []changes.Step
		want  string
	}{
		{"nothing", nil, ""},
		{"steps that go on", []changes.Step{step("r", "f", "a", "b"), step("r", "f", "b", "c")}, "changed f a>c"},
		{"created", []changes.Step{step("r", "f", "", "b")}, "created f ->b"},
		{"deleted", []changes.Step{step("r", "f", "a", "")}, "deleted f a>-"},
		{"replaced by deleting and creating", []changes.Step{step("r", "f", "a", ""), step("r", "f", "", "b")}, "changed f a>b"},
		{"net nothing", []changes.Step{step("r", "f", "a", "b"), step("r", "f", "b", "a")}, ""},
		{"created and deleted", []changes.Step{step("r", "f", "", "b"), step("r", "f", "b", "")}, ""},
		{"somebody between", []changes.Step{step("r", "f", "a", "b"), step("", "f", "b", "c"), step("r", "f", "c", "d")}, "changed f a>b c>d mixed"},
		{"somebody between, unseen", []changes.Step{step("r", "f", "a", "b"), step("r", "f", "c", "d")}, "changed f a>b c>d mixed"},
		{"a pair that is nothing", []changes.Step{step("r", "f", "a", "b"), step("r", "f", "c", "d"), step("r", "f", "d", "c")}, "changed f a>b mixed"},
		{"a later run", []changes.Step{step("r", "f", "a", "b"), step("q", "f", "b", "c"), step("", "f", "c", "d")}, "changed f a>b by q"},
		{"an earlier run", []changes.Step{step("q", "f", "a", "b"), step("r", "f", "b", "c")}, "changed f b>c"},
		{"moved", []changes.Step{moved("r", "f", "g", "a", "a")}, "renamed g<f a>a"},
		{"moved and changed", []changes.Step{step("r", "f", "a", "b"), moved("r", "f", "g", "b", "b"), step("r", "g", "b", "c")}, "renamed g<f a>c"},
		{"moved and back", []changes.Step{moved("r", "f", "g", "a", "a"), moved("r", "g", "f", "a", "a")}, ""},
		{"created and moved", []changes.Step{step("r", "f", "", "a"), moved("r", "f", "g", "a", "a")}, "created g ->a"},
		{"moved and deleted", []changes.Step{moved("r", "f", "g", "a", "a"), step("r", "g", "a", "")}, "deleted f a>-"},
		{"unknown bytes", []changes.Step{{Path: "f", Before: &changes.Version{Size: 9}, After: &changes.Version{Size: 9}, Owner: attribute.Verdict{Run: "r"}}}, "changed f >"},
		{"another run's", []changes.Step{step("q", "f", "a", "b")}, ""},
	} {
		if got := text(changes.Fold(c.steps, "r")); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLeastCertainStepCounts(t *testing.T) {
	maybe := step("", "f", "b", "c")
	maybe.Owner = attribute.Verdict{Certainty: attribute.Ambiguous, Runs: []string{"q", "r"}}
	files := changes.Fold([]changes.Step{step("r", "f", "a", "b"), maybe}, "r")
	if len(files) != 1 || files[0].Certainty != attribute.Ambiguous {
		t.Errorf("%+v", files)
	}
	if got := text(changes.Fold([]changes.Step{maybe}, "q")); got != "changed f b>c" {
		t.Errorf("the other candidate: %q", got)
	}
}

func TestWhyNot(t *testing.T) {
	s := step("r", "f", "a", "b")
	s.Before.Why = "too large"
	if files := changes.Fold([]changes.Step{s}, "r"); files[0].Why() != "too large" {
		t.Errorf("%q", files[0].Why())
	}
}

// Whatever runs write to one file in whatever order: a run's pairs, applied to
// the contents that they were made on, are exactly its steps.
func TestPairsKeepForeignChangesOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SampledFrom([]string{"", "a", "b", "c"})
		is := content.Draw(t, "start")
		var steps []changes.Step
		mine, others := 0, false
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			run, next := rapid.SampledFrom([]string{"r", "r", "q", ""}).Draw(t, "run"), content.Draw(t, "content")
			if next == is {
				continue
			}
			if run == "r" {
				mine++
			} else if mine > 0 {
				others = true
			}
			steps = append(steps, step(run, "f", is, next))
			is = next
		}
		files := changes.Fold(steps, "r")
		if len(files) > 1 {
			t.Fatalf("%q", text(files))
		}
		for _, f := range files {
			for _, p := range f.Pairs {
				if changes.Same(p.Before, p.After) {
					t.Fatalf("a pair is nothing: %q", text(files))
				}
			}
			if f.Mixed && !others {
				t.Fatalf("mixed without others: %q", text(files))
			}
		}
		if mine == 0 && len(files) > 0 {
			t.Fatalf("%q of nothing", text(files))
		}
		if !others && mine > 0 {
			first, last := (*changes.Version)(nil), (*changes.Version)(nil)
			for i := range steps {
				if steps[i].Owner.Run == "r" {
					first = steps[i].Before
					break
				}
			}
			last = steps[len(steps)-1].After
			if changes.Same(first, last) != (len(files) == 0) {
				t.Fatalf("%q", text(files))
			}
		}
	})
}

func TestLedgerOverStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "changes")
	l, err := changes.Open(path, now)
	if err != nil {
		t.Fatal(err)
	}
	l.Begin(changes.Turn{Run: "r1", Session: "s", At: now, HeadBefore: "h1"})
	l.Begin(changes.Turn{Run: "r2", Session: "s", At: now})
	odd := step("", "f\xff", "a", "b")
	odd.Owner = attribute.Verdict{Certainty: attribute.Ambiguous, Runs: []string{"r1", "r2"}}
	l.Add(odd)
	l.Add(step("r2", "g", "a", "b"))
	l.End("r1", "h2", true)
	owner := attribute.Verdict{Kind: attribute.Agent, Certainty: attribute.Reported, Run: "r1", Session: "s", Call: "c"}
	call := attribute.Call{ID: "c", Paths: []string{"f\xff", "g"}}
	if got := l.Correct(owner, call, now.Add(time.Second)); got != nil {
		t.Errorf("a call that began later corrected %v", got)
	}
	if got := l.Correct(owner, attribute.Call{Paths: []string{"f\xff"}}, now); !reflect.DeepEqual(got, []string{"r1", "r2"}) {
		t.Errorf("moved %v", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	torn, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.WriteString(`{"step":{"bef`); err != nil {
		t.Fatal(err)
	}
	torn.Close()

	l, err = changes.Open(path, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(l.Files("r1")); got != "changed f\xff a>b" {
		t.Errorf("%q", got)
	}
	if got := text(l.Files(l.Runs("s")...)); got != "changed f\xff a>b; changed g a>b" {
		t.Errorf("%q", got)
	}
	if turn, ok := l.Turn("r1"); !ok || !turn.Complete || turn.HeadBefore != "h1" || turn.HeadAfter != "h2" {
		t.Errorf("%+v", turn)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	l, err = changes.Open(path, now.Add(changes.MaxAge+time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if files := l.Files("r1", "r2"); len(files) != 0 || l.Runs("s") != nil {
		t.Errorf("old ones are remembered: %q", text(files))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
