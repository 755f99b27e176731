package attribute_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dragoman/internal/edit/attribute"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestDecide(t *testing.T) {
	call := func(id string, ago time.Duration, paths ...string) attribute.Call {
		c := attribute.Call{ID: id, Paths: paths}
		if ago >= 0 {
			c.Ended = now.Add(-ago)
		}
		return c
	}
	const flying = -1
	turn := func(id, cwd string, calls ...attribute.Call) attribute.Run {
		return attribute.Run{ID: id, Session: "s-" + id, Kind: attribute.Agent, Folders: []string{cwd}, Calls: calls}
	}
	over := func(r attribute.Run) attribute.Run { r.Ended = now.Add(-time.Second); return r }
	under := func(r attribute.Run, parent string) attribute.Run {
		r.Parent, r.Kind = parent, attribute.Exec
		return r
	}
	reported := func(run, id string) attribute.Verdict {
		return attribute.Verdict{Kind: attribute.Agent, Certainty: attribute.Reported, Run: run, Session: "s-" + run, Call: id}
	}
	inferred := attribute.Verdict{Kind: attribute.Agent, Certainty: attribute.Inferred, Run: "r1", Session: "s-r1"}
	ambiguous := attribute.Verdict{Kind: attribute.Agent, Certainty: attribute.Ambiguous, Runs: []string{"r1", "r2"}}
	git := []attribute.GitOperation{{Run: "r9", Top: "/w"}}

	for _, c := range []struct {
		name string
		runs []attribute.Run
		git  []attribute.GitOperation
		want attribute.Verdict
	}{
		{"b: a call in flight", []attribute.Run{turn("r1", "/else", call("c1", flying, "/w/f"))}, nil, reported("r1", "c1")},
		{"b: a call on the folder", []attribute.Run{turn("r1", "/else", call("c1", flying, "/w"))}, nil, reported("r1", "c1")},
		{"b: ended two seconds ago", []attribute.Run{turn("r1", "/else", call("c1", 2*time.Second, "/w/f"))}, nil, reported("r1", "c1")},
		{"b: of a run that ended", []attribute.Run{over(turn("r1", "/w", call("c1", time.Second, "/w/f")))}, nil, reported("r1", "c1")},
		{"b before c", []attribute.Run{turn("r1", "/w", call("c1", flying, "/w/f"))}, git, reported("r1", "c1")},
		{"b before e", []attribute.Run{turn("r1", "/w"), turn("r2", "/w", call("c1", flying, "/w/f"))}, nil, reported("r2", "c1")},
		{"b: in flight before ended", []attribute.Run{turn("r1", "/w", call("c1", flying, "/w/f")), turn("r2", "/w", call("c2", 0, "/w/f"))}, nil, reported("r1", "c1")},
		{"b: calls of two runs", []attribute.Run{turn("r1", "/w", call("c1", flying, "/w/f")), turn("r2", "/w", call("c2", flying, "/w/f"))}, nil, ambiguous},
		{"b: too long ago", []attribute.Run{turn("r1", "/else", call("c1", 2*time.Second+1, "/w/f"))}, nil, attribute.Verdict{Kind: attribute.Disk}},
		{"b: another file with that start", []attribute.Run{turn("r1", "/else", call("c1", flying, "/w/fo"))}, nil, attribute.Verdict{Kind: attribute.Disk}},
		{"c: git", nil, git, attribute.Verdict{Kind: attribute.Git, Certainty: attribute.Exact, Run: "r9"}},
		{"c before d", []attribute.Run{turn("r1", "/w")}, git, attribute.Verdict{Kind: attribute.Git, Certainty: attribute.Exact, Run: "r9"}},
		{"c: git elsewhere", []attribute.Run{turn("r1", "/w")}, []attribute.GitOperation{{Top: "/wx"}}, inferred},
		{"d: one active run", []attribute.Run{turn("r1", "/w")}, nil, inferred},
		{"d: one covers, another doesn't", []attribute.Run{turn("r1", "/"), turn("r2", "/wx")}, nil, inferred},
		{"d: the other has ended", []attribute.Run{turn("r1", "/w"), over(turn("r2", "/w"))}, nil, inferred},
		{"d: a sub-agent counts for its parent", []attribute.Run{turn("r1", "/w"), under(turn("r2", "/w"), "r1"), under(turn("r3", "/w"), "r2")}, nil, inferred},
		{"e: several", []attribute.Run{turn("r2", "/w"), turn("r1", "/")}, nil, ambiguous},
		{"f: none", []attribute.Run{over(turn("r1", "/w"))}, nil, attribute.Verdict{Kind: attribute.Disk}},
	} {
		if got := attribute.Decide(attribute.Facts{Runs: c.runs, Git: c.git}, "/w/f", now); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestThrough(t *testing.T) {
	got := attribute.Through(attribute.Run{ID: "r1", Session: "s", Kind: attribute.Agent}, "c1")
	want := attribute.Verdict{Kind: attribute.Agent, Certainty: attribute.Exact, Run: "r1", Session: "s", Call: "c1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// facts draws what may be known.
func facts(t *rapid.T) attribute.Facts {
	folder := rapid.SampledFrom([]string{"/", "/w", "/w/a", "/w/a/f", "/x"})
	when := rapid.SampledFrom([]time.Time{{}, now, now.Add(-time.Second), now.Add(-time.Minute)})
	f := attribute.Facts{}
	for i := range rapid.IntRange(0, 4).Draw(t, "runs") {
		r := attribute.Run{
			ID: string(rune('a' + i)), Kind: rapid.SampledFrom([]attribute.Kind{attribute.Agent, attribute.Exec}).Draw(t, "kind"),
			Folders: rapid.SliceOfN(folder, 0, 2).Draw(t, "folders"), Ended: when.Draw(t, "ended"),
			Parent: rapid.SampledFrom([]string{"", "", "a", "b", "z"}).Draw(t, "parent"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			r.Calls = append(r.Calls, attribute.Call{ID: "c", Paths: rapid.SliceOfN(folder, 0, 2).Draw(t, "paths"), Ended: when.Draw(t, "call ended")})
		}
		f.Runs = append(f.Runs, r)
	}
	for range rapid.IntRange(0, 1).Draw(t, "git") {
		f.Git = append(f.Git, attribute.GitOperation{Top: folder.Draw(t, "top")})
	}
	return f
}

// Whatever is known: the verdict's members fit each other, the order in which
// runs are known matters to nothing but the kind and call of several, and nobody
// who doesn't touch the path gets it.
func TestVerdictsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts(t)
		v := attribute.Decide(f, "/w/a/f", now)
		switch v.Certainty {
		case attribute.Reported, attribute.Inferred:
			if v.Run == "" || v.Runs != nil {
				t.Fatalf("%+v", v)
			}
		case attribute.Ambiguous:
			if v.Run != "" || len(v.Runs) < 2 || !slices.IsSorted(v.Runs) {
				t.Fatalf("%+v", v)
			}
		case attribute.Exact:
			if v.Kind != attribute.Git || len(f.Git) == 0 {
				t.Fatalf("%+v", v)
			}
		case attribute.Unknown:
			if v.Kind != attribute.Disk || v.Run != "" {
				t.Fatalf("%+v", v)
			}
		}
		back := attribute.Facts{Runs: slices.Clone(f.Runs), Git: f.Git}
		slices.Reverse(back.Runs)
		w := attribute.Decide(back, "/w/a/f", now)
		if v.Certainty != w.Certainty || v.Run != w.Run || !slices.Equal(v.Runs, w.Runs) {
			t.Fatalf("%+v, backwards %+v", v, w)
		}
		if far := attribute.Decide(f, "/far", now); far.Certainty != attribute.Unknown {
			covered := slices.ContainsFunc(f.Runs, func(r attribute.Run) bool {
				return slices.Contains(r.Folders, "/") || slices.ContainsFunc(r.Calls, func(c attribute.Call) bool { return c.Names("/far") })
			}) || slices.ContainsFunc(f.Git, func(g attribute.GitOperation) bool { return g.Top == "/" })
			if !covered {
				t.Fatalf("%+v for a path that nobody touches", far)
			}
		}
	})
}
