package solo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"dragoman/client"
	"dragoman/internal/fixture"
	"dragoman/internal/lane"
	"dragoman/internal/lane/acp"
	"dragoman/internal/lane/lanetest"
	"dragoman/internal/session"
	"dragoman/internal/solo"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// A bench is the sessions of a core over the fixture agent, and what they
// tell. Its runs are the least that the core's are.
type bench struct {
	*solo.Agents
	t       *testing.T
	mux     *op.Mux
	runs    sync.WaitGroup
	mu      sync.Mutex
	cancels map[string]context.CancelFunc
	ctx     context.Context
	starter *lanetest.Starter
	events  chan client.Event
}

func newBench(t *testing.T) *bench {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	b := &bench{t: t, ctx: ctx, mux: op.NewMux(), cancels: make(map[string]context.CancelFunc), events: make(chan client.Event, 256)}
	b.starter = lanetest.PipeStarter(func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		if fixture.Run(ctx, p.In, p.Out, fixture.Config{Version: "1"}) != nil {
			return lane.ExitStatus{Code: 1}
		}
		return lane.ExitStatus{}
	})
	b.Agents = solo.Bind(b.mux, solo.Config{
		Opener: &session.Opener{Drivers: map[string]lane.Driver{"acp": acp.Driver{Version: "1"}}, TempDir: t.TempDir(), Starter: b.starter},
		Root:   t.TempDir(),
		Agents: func(context.Context) []core.AgentListed { return []core.AgentListed{{ID: "fixture", Installed: true}} },
		Spec: func(_ context.Context, id string) ([]byte, []string, bool) {
			return []byte(`{"id":"fixture","lane":"acp","command":{"program":"fixture"}}`), nil, id == "fixture"
		},
		Events: b,
	})
	t.Cleanup(func() {
		for _, cancel := range b.cancels {
			cancel()
		}
		b.runs.Wait()
		for range 2 {
			if err := b.Close(ctx); err != nil {
				t.Error(err)
			}
		}
		if n := b.starter.Running(); n > 0 {
			t.Errorf("%d agents run after Close", n)
		}
		stop()
	})
	return b
}

// call calls an operation; a streaming one tells its run.
func (b *bench) call(name, params string, started *op.Started) error {
	b.t.Helper()
	row, ok := b.mux.Lookup(name)
	if !ok {
		b.t.Fatalf("%s is not bound", name)
	}
	decoded, err := row.Decode([]byte(params))
	if err != nil {
		return err
	}
	if !row.Desc.Streaming {
		_, err := row.Call(b.ctx, op.Call{}, decoded)
		return err
	}
	job, err := row.Start(b.ctx, op.Call{}, decoded)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ctx, cancel := context.WithCancel(b.ctx)
	r := run{bench: b, id: fmt.Sprintf("r%d", len(b.cancels))}
	b.cancels[r.id] = cancel
	if started != nil {
		started.Run = r.id
	}
	b.runs.Go(func() {
		result, err := job.Do(ctx, r)
		end := core.RunEndedParams{Run: r.id, Op: name, OK: err == nil}
		end.Error, _ = op.AsError(err)
		if err == nil {
			end.Error = nil
			if end.Result, err = json.Marshal(result); err != nil {
				b.t.Error(err)
			}
		}
		b.Emit(core.RunEnded.With(end))
	})
	return nil
}

// Emit takes the events (op.Emitter).
func (b *bench) Emit(m op.Message) {
	raw, err := json.Marshal(m.Params)
	if err != nil {
		b.t.Error(err)
	}
	b.events <- client.Event{Name: m.Event, Params: raw}
}

// run is the bench's op.Run.
type run struct {
	*bench
	id string
}

func (r run) ID() string                    { return r.id }
func (r run) Bulk(m op.Message, _ op.Mark)  { r.Emit(m) }
func (r run) Progress(_, _ int64, _ string) {}
func (r run) Running()                      {}
func (r run) SetSession(string)             {}

// until reads events up to one of that name.
func (b *bench) until(name string) client.Event {
	b.t.Helper()
	for {
		select {
		case e := <-b.events:
			if e.Name == name {
				return e
			}
		case <-b.ctx.Done():
			b.t.Fatalf("no %s came", name)
		}
	}
}

// ended is the end of the run that comes next.
func (b *bench) ended() core.RunEndedParams {
	b.t.Helper()
	var p core.RunEndedParams
	if err := json.Unmarshal(b.until("run.ended").Params, &p); err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) open() string {
	b.t.Helper()
	if err := b.call("agent.open", `{"agent":"fixture"}`, nil); err != nil {
		b.t.Fatal(err)
	}
	end := b.ended()
	var opened core.AgentOpenResult
	if err := json.Unmarshal(end.Result, &opened); err != nil || opened.Session == "" || opened.Agent != "fixture" {
		b.t.Fatalf("got %+v and %v", end, err)
	}
	return opened.Session
}

func code(err error) op.Code {
	var e *op.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestTurn(t *testing.T) {
	b := newBench(t)
	id := b.open()
	if err := b.call("agent.send", `{"session":"`+id+`","text":"hello"}`, nil); err != nil {
		t.Fatal(err)
	}
	var first core.AgentTextParams
	if err := json.Unmarshal(b.until("agent.message").Params, &first); err != nil || first.Text != "echo:" || first.Run == nil || first.Turn != 1 || first.Session != id {
		t.Errorf("got %+v and %v", first, err)
	}
	end := b.ended()
	var sent core.AgentSendResult
	if err := json.Unmarshal(end.Result, &sent); err != nil || !end.OK || sent.StopReason != "end_turn" || sent.Session != id {
		t.Errorf("got %+v and %v", end, err)
	}
}

func TestSendOpensASession(t *testing.T) {
	b := newBench(t)
	if err := b.call("agent.send", `{"agent":"fixture","text":"hello"}`, nil); err != nil {
		t.Fatal(err)
	}
	if end := b.ended(); !end.OK {
		t.Errorf("got %+v", end)
	}
}

func TestPermission(t *testing.T) {
	for _, tt := range []struct{ answer, want string }{
		{`"option":"OPTION"`, "granted"},
		{`"cancelled":true`, ""},
	} {
		b := newBench(t)
		id := b.open()
		if err := b.call("agent.send", `{"session":"`+id+`","text":"permission"}`, nil); err != nil {
			t.Fatal(err)
		}
		var q core.PermissionRequest
		if err := json.Unmarshal(b.until("agent.permission").Params, &q); err != nil || len(q.Options) == 0 || q.Run == nil {
			t.Fatalf("got %+v and %v", q, err)
		}
		if err := b.call("agent.permit", `{"request":"`+q.Request+`","option":"nonsense"}`, nil); code(err) != op.CodeBadRequest {
			t.Errorf("an option that wasn't offered: %v", err)
		}
		answer := strings.Replace(tt.answer, "OPTION", q.Options[0].OptionID, 1)
		if err := b.call("agent.permit", `{"request":"`+q.Request+`",`+answer+`}`, nil); err != nil {
			t.Fatal(err)
		}
		if err := b.call("agent.permit", `{"request":"`+q.Request+`",`+answer+`}`, nil); code(err) != op.CodeConflict {
			t.Errorf("a second answer: %v", err)
		}
		if tt.want != "" && !strings.Contains(string(b.until("agent.message").Params), tt.want) {
			t.Error("the answer didn't reach the agent")
		}
		b.ended()
	}
}

func TestCancel(t *testing.T) {
	for _, by := range []string{"run.cancel", "agent.cancel"} {
		b := newBench(t)
		id := b.open()
		var started op.Started
		if err := b.call("agent.send", `{"session":"`+id+`","text":"wait-for-cancel"}`, &started); err != nil {
			t.Fatal(err)
		}
		b.until("agent.message")
		if err := b.call("agent.send", `{"session":"`+id+`","text":"x"}`, nil); code(err) != op.CodeConflict {
			t.Errorf("a second turn: %v", err)
		}
		if by == "agent.cancel" {
			if err := b.call(by, `{"session":"`+id+`","run":"other"}`, nil); err != nil {
				t.Fatal(err)
			}
			if err := b.call(by, `{"session":"`+id+`"}`, nil); err != nil {
				t.Fatal(err)
			}
		} else {
			b.mu.Lock()
			b.cancels[started.Run]()
			b.mu.Unlock()
		}
		if end := b.ended(); !end.OK || !strings.Contains(string(end.Result), `"cancelled"`) {
			t.Errorf("%s: got %+v", by, end)
		}
	}
}

func TestClose(t *testing.T) {
	b := newBench(t)
	id := b.open()
	if err := b.call("agent.close", `{"session":"`+id+`"}`, nil); err != nil {
		t.Fatal(err)
	}
	if end := b.ended(); !end.OK {
		t.Errorf("got %+v", end)
	}
	if err := b.call("agent.send", `{"session":"`+id+`","text":"x"}`, nil); code(err) != op.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

func TestErrors(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name, params string
		want         op.Code
	}{
		{"agent.open", `{}`, op.CodeBadRequest},
		{"agent.close", `{"session":"s9"}`, op.CodeNotFound},
		{"agent.cancel", `{"session":"s9"}`, op.CodeNotFound},
		{"agent.permit", `{"request":"q","cancelled":true}`, op.CodeNotFound},
		{"agent.send", `{"agent":"fixture","text":"x","context":[{"path":"p"}]}`, op.CodeUnsupported},
	} {
		if err := b.call(tt.name, tt.params, nil); code(err) != tt.want {
			t.Errorf("%s %s: got %v, want %s", tt.name, tt.params, err, tt.want)
		}
	}
	for params, want := range map[string]op.Code{
		`{"agent":"nobody"}`: op.CodeNotFound,
		`{"spec":{"id":"x","lane":"acp","command":{"program":"` + lanetest.MissingProgram + `"}}}`: op.CodeAgent,
		`{"spec":{"id":"x","lane":"nonsense","command":{"program":"x"}}}`:                          op.CodeBadRequest,
	} {
		if err := b.call("agent.open", params, nil); err != nil {
			t.Fatal(err)
		}
		if end := b.ended(); end.OK || end.Error == nil || end.Error.Code != want {
			t.Errorf("%s: got %+v", params, end.Error)
		}
	}
}

// A close ends what runs, and nothing opens after it.
func TestCloseEndsTurns(t *testing.T) {
	b := newBench(t)
	id := b.open()
	if err := b.call("agent.send", `{"session":"`+id+`","text":"wait-for-cancel"}`, nil); err != nil {
		t.Fatal(err)
	}
	b.until("agent.message")
	if err := b.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	if end := b.ended(); end.OK || end.Error.Code != op.CodeAgent {
		t.Errorf("got %+v", end)
	}
	if err := b.call("agent.open", `{"agent":"fixture"}`, nil); err != nil {
		t.Fatal(err)
	}
	if end := b.ended(); end.OK || end.Error.Code != op.CodeBusy {
		t.Errorf("after Close: got %+v", end)
	}
}
