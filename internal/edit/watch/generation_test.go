package watch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestGeneration(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	w := New(Options{Sink: &sink{}})
	defer w.Close()
	if _, ok := w.Generation(ctx, root); ok {
		t.Error("a folder that nobody watches has a generation")
	}
	if err := w.Add(ctx, root); err != nil {
		t.Fatal(err)
	}
	await := func(what string, is func(n uint64, ok bool) bool) uint64 {
		t.Helper()
		for {
			n, ok := w.Generation(ctx, root)
			if is(n, ok) {
				return n
			}
			if ctx.Err() != nil {
				t.Fatalf("%s doesn't come", what)
			}
			time.Sleep(time.Millisecond)
		}
	}
	first := await("the folder's first reading", func(_ uint64, ok bool) bool { return ok })
	if n, ok := w.Generation(ctx, filepath.Join(root, "sub")); !ok || n != first {
		t.Errorf("of a folder in it %d %v, want %d", n, ok, first)
	}
	if err := os.WriteFile(filepath.Join(root, "sub", "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	second := await("the change", func(n uint64, ok bool) bool { return ok && n != first })
	end, err := w.Expect(ctx, filepath.Join(root, "sub", "f"))
	if err != nil {
		t.Fatal(err)
	}
	end("us")
	// One's own change counts at once.
	if n, ok := w.Generation(ctx, root); !ok || n == second {
		t.Errorf("after an expected change %d %v", n, ok)
	}
	if _, ok := w.Generation(ctx, filepath.Dir(root)); ok {
		t.Error("a folder above has a generation")
	}
}
