package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told keeps the events of a registry.
type told struct {
	mu     sync.Mutex
	events []op.Message
}

func (e *told) EmitFor(_ string, m op.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, m)
}

func (e *told) Bulk(string, string, op.Message, op.Mark) {}
func (e *told) EndRun(string)                            {}

// ends are the run.ended events by run.
func (e *told) ends() map[string][]core.RunEndedParams {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string][]core.RunEndedParams{}
	for _, m := range e.events {
		if p, ok := m.Params.(core.RunEndedParams); ok {
			out[p.Run] = append(out[p.Run], p)
		}
	}
	return out
}

func openTest(t interface{ Fatal(...any) }, dir, name string) (*Registry, *told) {
	e := &told{}
	g, err := Open(Options{Dir: dir, Name: name, Events: e})
	if err != nil {
		t.Fatal(err)
	}
	return g, e
}

// start begins a run that ends with its context or when end is closed.
func start(t interface{ Fatal(...any) }, g *Registry, end <-chan struct{}) *Run {
	r, err := g.Prepare(op.Desc{Op: "x.y"}, op.Call{Client: "c1"}, "", op.Job{
		Do: func(ctx context.Context, _ op.Run) (any, error) {
			select {
			case <-end:
				return struct{}{}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Begin()
	return r
}

// TestIDsAndEnds holds over random lives of cores that share a folder: no
// run id comes twice, each run ends once, and what a core left open is ended
// by the next one of its name.
func TestIDsAndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "run")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		seen := map[string]bool{}
		left := map[string]map[string]bool{"a": {}, "b": {}}
		for range rapid.IntRange(1, 6).Draw(t, "lives") {
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
			g, e := openTest(t, dir, name)
			for id, ends := range e.ends() {
				if !left[name][id] || len(ends) != 1 || ends[0].Error.Reason() != "core_restarted" {
					t.Fatalf("%s ended %+v; left were %v", id, ends, left[name])
				}
				delete(left[name], id)
			}
			if len(left[name]) > 0 {
				t.Fatalf("never ended: %v", left[name])
			}
			end := make(chan struct{})
			close(end)
			for range rapid.IntRange(0, 70).Draw(t, "runs") {
				r := start(t, g, end)
				<-r.Done()
				if seen[r.ID()] {
					t.Fatalf("%s came twice", r.ID())
				}
				seen[r.ID()] = true
			}
			var ledgers [][]byte
			killed := rapid.Bool().Draw(t, "killed")
			if killed {
				for range rapid.IntRange(0, 3).Draw(t, "open") {
					r := start(t, g, nil)
					seen[r.ID()], left[name][r.ID()] = true, true
				}
				ledgers = readLedgers(t, dir, name)
			}
			if err := g.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			for i, raw := range ledgers {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.log", name, i+1)), raw, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func readLedgers(t *rapid.T, dir, name string) (out [][]byte) {
	paths, _ := filepath.Glob(filepath.Join(dir, name+"-*.log"))
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, append(raw, `{"run":"r9`...)) // a torn line
	}
	return out
}

func TestTwoCoresAtOnce(t *testing.T) {
	dir := t.TempDir()
	first, _ := openTest(t, dir, "a")
	r := start(t, first, nil)
	second, e := openTest(t, dir, "a")
	if ends := e.ends(); len(ends) > 0 {
		t.Errorf("a living core's runs were ended: %v", ends)
	}
	if other := start(t, second, nil); other.ID() == r.ID() {
		t.Errorf("both have %s", r.ID())
	}
	for _, g := range []*Registry{first, second} {
		for range 2 {
			if err := g.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := first.Prepare(op.Desc{}, op.Call{}, "", op.Job{}); err == nil {
		t.Error("a closed registry takes runs")
	}
}

func TestEndedRunsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := openTest(t, "", "")
		end := make(chan struct{})
		close(end)
		r := start(t, g, end)
		<-r.Done()
		time.Sleep(DefaultKeep)
		if g.Get(r.ID()) == nil || len(g.List()) != 1 {
			t.Error("forgotten too soon")
		}
		time.Sleep(time.Second)
		if g.Get(r.ID()) != nil || len(g.List()) != 0 {
			t.Error("still known")
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestNothingFollowsTheEnd(t *testing.T) {
	g, e := openTest(t, "", "")
	var kept op.Run
	r, err := g.Prepare(op.Desc{Op: "x.y"}, op.Call{}, "", op.Job{Do: func(_ context.Context, r op.Run) (any, error) {
		kept = r
		panic("on purpose")
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.Begin()
	<-r.Done()
	kept.Progress(1, 1, "late")
	ends := e.ends()[r.ID()]
	if len(ends) != 1 || ends[0].OK || ends[0].Error.Code != op.CodeInternal {
		t.Errorf("ends %+v", ends)
	}
	if last := e.events[len(e.events)-1]; last.Event != core.RunEnded.Name {
		t.Errorf("the last event is %s", last.Event)
	}
	if r.Cancel("") != core.RunStateEnded {
		t.Error("an ended run was cancelled")
	}
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
