package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/client"
	"dragoman/wire/core"
)

// shellAgent edits the disk by itself, as command line agents do.
const shellAgent = `{"id":"shell","lane":"cli","command":{"program":"/bin/sh","args":["-c","sed -i s/two/TWO/ code.txt && echo new > new.txt && rm gone.txt && echo done"]},"promptChannel":"stdin"}`

// A watching is what one client saw.
type watching struct {
	mu     sync.Mutex
	events []client.Event
	more   chan struct{}
}

func (w *watching) take(e client.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// until waits for the end of a run and gives the names of what came before
// that is about it, in order.
func (w *watching) until(ctx context.Context, t *testing.T, run string) (names []string, result jsontext.Value) {
	t.Helper()
	for {
		w.mu.Lock()
		names = nil
		for _, e := range w.events {
			if !strings.Contains(string(e.Params), `"run":"`+run+`"`) {
				continue
			}
			names = append(names, e.Name)
			var end core.RunEndedParams
			if e.Name == core.RunEnded.Name && json.Unmarshal(e.Params, &end) == nil {
				w.mu.Unlock()
				if !end.OK {
					t.Fatalf("the run failed: %s", e.Params)
				}
				return names, end.Result
			}
		}
		w.mu.Unlock()
		select {
		case <-w.more:
		case <-ctx.Done():
			t.Fatalf("run %s didn't end; saw %q", run, names)
		}
	}
}

// TestAnAgentsTurnThroughTheCore has a real process edit files by itself under
// a person's unsaved text: two clients see the edits as the run's before the
// run ends, what it did outlives kill -9, and it is taken back (documents.md
// rules 3 to 6, 11, 12).
func TestAnAgentsTurnThroughTheCore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	c := newRealCore(t)
	for name, s := range map[string]string{"code.txt": "one\ntwo\nthree\nfour\nfive\n", "gone.txt": "kept\n"} {
		if err := os.WriteFile(filepath.Join(c.root, name), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.start()
	attach := func() (*client.Client, *watching) {
		w := &watching{more: make(chan struct{}, 1)}
		cl, err := client.New(ctx, client.Unix(c.socket), client.Options{Name: "test", OnEvent: w.take})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cl.Close() })
		return cl, w
	}
	one, sees := attach()
	two, seesToo := attach()

	code := c.open(ctx, one, "code.txt")
	end := core.Position{Line: 4}
	if _, err := core.BufferEdit.Call(ctx, one, core.BufferEditParams{Buffer: code.Buffer, Edits: []core.Edit{{Range: core.Range{Start: end, End: end}, Text: "mine "}}}); err != nil {
		t.Fatal(err)
	}
	opened, err := core.AgentOpen.Start(ctx, one, core.AgentOpenParams{Spec: jsontext.Value(shellAgent)})
	if err != nil {
		t.Fatal(err)
	}
	_, raw := sees.until(ctx, t, opened)
	var session core.AgentSession
	if err := json.Unmarshal(raw, &session); err != nil {
		t.Fatal(err)
	}
	turn, err := core.AgentSend.Start(ctx, one, core.AgentSendParams{Session: session.Session, Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*watching{sees, seesToo} {
		names, _ := w.until(ctx, t, turn)
		if all := strings.Join(names, " "); !strings.Contains(all, "buffer.changed") || !strings.Contains(all, "fs.changed") {
			t.Errorf("before the run's end came only %q", names)
		}
	}
	checkText(ctx, t, two, code.Buffer, "one\nTWO\nthree\nfour\nmine five\n")
	checkChanges(ctx, t, two, turn)

	before := one.Hello().Core
	// Unsaved text is the recovery log's; here the turn is at stake.
	if _, err := core.BufferSave.Call(ctx, one, core.BufferSaveParams{Buffer: code.Buffer}); err != nil {
		t.Fatal(err)
	}
	one.Close()
	two.Close()
	c.kill()
	c.start()
	again, seesAgain := attach()
	if again.Hello().Core == before {
		t.Fatal("the core wasn't restarted")
	}
	checkChanges(ctx, t, again, turn)
	back, err := core.AgentRevert.Start(ctx, again, core.AgentRevertParams{Run: turn})
	if err != nil {
		t.Fatal(err)
	}
	_, raw = seesAgain.until(ctx, t, back)
	var r core.AgentRevertResult
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Reverted) != 3 || len(r.Conflicts) != 0 {
		t.Errorf("%s, %v", raw, err)
	}
	for name, want := range map[string]string{"code.txt": "one\ntwo\nthree\nfour\nmine five\n", "gone.txt": "kept\n"} {
		if b, err := os.ReadFile(filepath.Join(c.root, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := os.Stat(filepath.Join(c.root, "new.txt")); !os.IsNotExist(err) {
		t.Errorf("new.txt is still there: %v", err)
	}
}

func checkText(ctx context.Context, t *testing.T, cl *client.Client, buffer, want string) {
	t.Helper()
	got, err := core.BufferText.Call(ctx, cl, core.BufferTextParams{Buffer: buffer})
	if err != nil || got.Text != want {
		t.Errorf("the buffer shows %q, %v; want %q", got.Text, err, want)
	}
}

func checkChanges(ctx context.Context, t *testing.T, cl *client.Client, run string) {
	t.Helper()
	r, err := core.AgentChanges.Call(ctx, cl, core.AgentChangesParams{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, f := range r.Files {
		kinds[filepath.Base(f.Path)] = f.Kind
		if !f.Revertible || f.Certainty != core.Inferred {
			t.Errorf("%+v", f)
		}
	}
	if !r.Complete || len(kinds) != 3 || kinds["code.txt"] != "changed" || kinds["new.txt"] != "created" || kinds["gone.txt"] != "deleted" {
		t.Errorf("%+v", r)
	}
}
