package core

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/hub"
	"dragoman/internal/run"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// bindRuns binds exec.run to a stand-in whose argv says what it does.
func bindRuns(w *world) {
	core.ExecRun.Stream(w.mux, func(_ context.Context, _ op.Call, p core.ExecRunParams) (op.Work[core.ExecRunResult], error) {
		if p.Argv[0] == "missing" {
			return op.Work[core.ExecRunResult]{}, op.NotFound("program", p.Argv[0])
		}
		return op.Work[core.ExecRunResult]{Do: func(ctx context.Context, r op.Run) (core.ExecRunResult, error) {
			return standIn(ctx, r, p.Argv)
		}}, nil
	})
}

func standIn(ctx context.Context, r op.Run, argv []string) (core.ExecRunResult, error) {
	zero := 0
	result := core.ExecRunResult{ExitCode: &zero, Survivors: []int{}}
	switch argv[0] {
	case "echo":
		at := int64(0)
		for _, a := range argv[1:] {
			offset := at
			at += int64(len(a))
			r.Bulk(core.ExecOutput.With(core.ExecOutputParams{
				Run: r.ID(), Stream: core.Stdout, Offset: &offset, Text: &a,
			}), op.Mark{Stream: "stdout", Next: at})
		}
		r.Progress(1, 2, "half")
	case "wait":
		<-ctx.Done()
		return result, ctx.Err()
	case "stubborn":
		<-ctx.Done()
	case "fail":
		return result, op.Fail(op.CodeIO, "no").With("errno", "EIO")
	case "huge":
		result.Signal = strings.Repeat("x", 64<<20)
	}
	return result, nil
}

func attachQuiet(t *testing.T, w *world) *peer {
	t.Helper()
	p := w.dial(control)
	p.hello(`{"events":["run.*"]}`)
	return p
}

func TestRunLine(t *testing.T) {
	w := newWorld(t, bindRuns)
	p := attachQuiet(t, w)
	p.send(`{"id":1,"op":"exec.run","params":{"argv":["echo","a","bc"]}}`)
	p.want(
		`{"id":1,"ok":true,"result":{"run":"r1"}}`,
		`{"event":"run.started","seq":2,"params":{"run":"r1","op":"exec.run","client":"c1"}}`,
		`{"event":"exec.output","params":{"run":"r1","stream":"stdout","offset":0,"text":"a"}}`,
		`{"event":"exec.output","params":{"run":"r1","stream":"stdout","offset":1,"text":"bc"}}`,
		`{"event":"run.progress","seq":3,"params":{"run":"r1","done":1,"total":2,"text":"half"}}`,
		`{"event":"run.ended","seq":4,"params":{"run":"r1","op":"exec.run","ok":true,"result":{"exitCode":0,"timedOut":false,"truncated":false,"bytes":0,"survivors":[]}}}`,
	)
	p.send(`{"id":2,"op":"run.get","params":{"run":"r1"}}`)
	p.want(`{"id":2,"ok":true,"result":{"run":"r1","op":"exec.run","state":"ended","client":"c1","startedAt":"…Z","result":{"exitCode":0,…}}}`)
	p.send(`{"id":3,"op":"exec.run","params":{"argv":["missing"]}}`)
	p.want(`{"id":3,"ok":false,"error":{"code":"not_found","message":"…","data":{"what":"program"}}}`)
	p.send(`{"id":4,"op":"run.get","params":{"run":"r9"}}`)
	p.want(`{"id":4,"ok":false,"error":{"code":"not_found","message":"…","data":{"what":"run"}}}`)
}

func TestRunEnds(t *testing.T) {
	ended := func(run, rest string) string {
		return `{"event":"run.ended","seq":…,"params":{"run":"` + run + `","op":"exec.run",` + rest + `}}`
	}
	tests := []struct{ argv, cancel, want string }{
		{"fail", "", `"ok":false,"error":{"code":"io_error","message":"no","data":{"errno":"EIO"}}`},
		{"wait", "ending", `"ok":false,"error":{"code":"cancelled","message":"it was cancelled"}`},
		{"stubborn", "ending", `"ok":true,"result":…`},
		{"huge", "", `"ok":false,"error":{"code":"too_large","message":"…","data":{"limit":…,"size":…}}`},
	}
	w := newWorld(t, bindRuns)
	p := attachQuiet(t, w)
	for i, tt := range tests {
		run := fmt.Sprintf("r%d", i+1)
		p.send(`{"id":1,"op":"exec.run","params":{"argv":["` + tt.argv + `"]}}`)
		p.want(`{"id":1,"ok":true,"result":{"run":"`+run+`"}}`, `{"event":"run.started",…}`)
		if tt.cancel != "" {
			p.send(`{"id":2,"op":"run.cancel","params":{"run":"` + run + `"}}`)
			a, b := p.line(), p.line()
			if strings.HasPrefix(b, `{"id"`) {
				a, b = b, a
			}
			if !like(`{"id":2,"ok":true,"result":{"state":"ending"}}`, a) || !like(ended(run, tt.want), b) {
				t.Fatalf("%s: got %s\n%s", tt.argv, a, b)
			}
			p.send(`{"id":3,"op":"run.cancel","params":{"run":"` + run + `"}}`)
			p.want(`{"id":3,"ok":true,"result":{"state":"ended"}}`)
			continue
		}
		p.want(ended(run, tt.want))
	}
	if s := w.log.take(); !strings.Contains(s, "undeclared") && s != "" {
		t.Errorf("logged %s", s)
	}
}

func TestRunOfAClientEndsWithIt(t *testing.T) {
	w := newWorld(t, bindRuns)
	other := attachQuiet(t, w)
	p := w.dial(control)
	p.hello(`{"events":[]}`)
	p.send(`{"id":1,"op":"exec.run","params":{"argv":["wait"],"scope":"client"}}`,
		`{"id":2,"op":"exec.run","params":{"argv":["wait"]}}`)
	for range 4 {
		p.line()
	}
	other.want(`{"event":"run.started",…}`, `{"event":"run.started",…}`)
	p.conn.Close()
	other.want(`{"event":"run.ended",…"ok":false,"error":{"code":"cancelled","message":"…","data":{"reason":"detached"}}}}`)
	other.send(`{"id":1,"op":"run.list"}`)
	other.want(`{"id":1,"ok":true,"result":{"runs":[…"state":"ended"…"state":"running"…]}}`)
}

func TestOpenRunsAreToldAfterRestart(t *testing.T) {
	dir := t.TempDir()
	events := hub.New(hub.Options{})
	defer events.Close()
	old, err := run.Open(run.Options{Dir: dir, Name: "a", Events: events})
	if err != nil {
		t.Fatal(err)
	}
	block := op.Job{Do: func(ctx context.Context, _ op.Run) (any, error) { <-ctx.Done(); return nil, ctx.Err() }}
	r, err := old.Prepare(op.Desc{Op: "exec.run"}, op.Call{Client: "c1"}, "", block)
	if err != nil {
		t.Fatal(err)
	}
	r.Begin()
	// What kill -9 leaves: the ledger, its lock free.
	leftovers := copyLedger(t, dir)
	if err := old.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	leftovers()

	w := newWorld(t, bindRuns, func(_ *Options, _ *hub.Options, ro *run.Options) { ro.Dir, ro.Name = dir, "a" })
	p := w.dial(control)
	hello := p.hello(`{"core":"k0","since":41,"events":["run.*"]}`)
	if hello.Gap == nil || hello.Gap.Reason != core.GapRestarted {
		t.Errorf("gap %+v", hello.Gap)
	}
	p.want(`{"event":"run.ended","seq":1,"params":{"run":"r1","op":"exec.run","ok":false,"error":{"code":"cancelled","message":"…","data":{"reason":"core_restarted"}}}}`)
	p.send(`{"id":1,"op":"exec.run","params":{"argv":["echo"]}}`)
	if got := p.line(); got == `{"id":1,"ok":true,"result":{"run":"r1"}}` {
		t.Error("a run id came again")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "a-*.log")); len(left) != 1 {
		t.Errorf("ledgers %v", left)
	}
	for range 3 {
		p.line() // started, progress, ended
	}
}

// TestEndsOfRunsAtEOF holds that a client that has closed its input still
// hears how its runs ended.
func TestEndsOfRunsAtEOF(t *testing.T) {
	w := newWorld(t, bindRuns)
	p := w.dial(Peer{Access: op.Access{Role: op.Control}, AtEOF: func() { _ = w.runs.Close(context.Background()) }})
	p.hello(`{"events":[]}`)
	p.send(`{"id":1,"op":"exec.run","params":{"argv":["wait"]}}`)
	if err := p.conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	p.want(`{"id":1,"ok":true,"result":{"run":"r1"}}`, `{"event":"run.started",…}`,
		`{"event":"run.ended",…"ok":false,"error":{"code":"cancelled","message":"…","data":{"reason":"shutdown"}}}}`)
	if _, err := p.r.ReadByte(); err == nil {
		t.Error("something follows")
	}
}
