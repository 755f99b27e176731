package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"testing"

	"dragoman/wire/core"
)

// pending are operations that are declared and not served yet; the core
// answers unknown_op to them.
var pending = []string{
	"agent.authenticate", "agent.explainPolicy", "agent.getPolicy", "agent.setPolicy",
}

// TestEveryOperationIsBound builds a whole core: what is declared is bound,
// and nothing else (core.md §7).
func TestEveryOperationIsBound(t *testing.T) {
	e := &Env{Stdio: Stdio{In: nil, Out: io.Discard, Err: io.Discard}, Environ: []string{"PATH=" + os.Getenv("PATH")}}
	roots, err := realRoots([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := buildCore(context.Background(), e, roots, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	var declared []string
	for _, d := range core.Ops() {
		declared = append(declared, d.Describe().Op)
	}
	slices.Sort(declared)
	bound := b.mux.Names()
	for _, name := range declared {
		if !slices.Contains(bound, name) && !slices.Contains(pending, name) {
			t.Errorf("%s is declared and not bound", name)
		}
	}
	for _, name := range bound {
		if !slices.Contains(declared, name) {
			t.Errorf("%s is bound and not declared", name)
		}
	}
}
