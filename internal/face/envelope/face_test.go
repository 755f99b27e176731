package envelope

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"dragoman/client"
	"dragoman/envelope/host"
	"dragoman/wire/core"
	"dragoman/wire/envelope"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// A fakeCore answers a few operations of the real declarations. Events go to
// tell, in order, by one goroutine.
type fakeCore struct {
	events chan client.Event
	done   chan struct{}

	mu        sync.Mutex
	runs      int
	calls     []string
	cancelled map[string]chan struct{}
	permitted chan string
}

func newFakeCore() *fakeCore {
	return &fakeCore{
		events: make(chan client.Event, 1024), done: make(chan struct{}),
		cancelled: make(map[string]chan struct{}), permitted: make(chan string, 1),
	}
}

func (c *fakeCore) Done() <-chan struct{} { return c.done }

func (c *fakeCore) emit(name, params string) {
	c.events <- client.Event{Name: name, Params: jsontext.Value(params)}
}

func (c *fakeCore) Raw(_ context.Context, name string, params []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, name+" "+string(params))
	switch name {
	case "session.describe":
		var all core.SessionDescribeResult
		for _, d := range core.Ops() {
			all.Ops = append(all.Ops, d.Describe())
		}
		return json.Marshal(all)
	case "buffer.text":
		return params, nil
	case "agent.list":
		return []byte(`{"agents":[{"id":"a","installed":false},{"id":"b","installed":true}]}`), nil
	case "buffer.get":
		return nil, op.NoBuffer("b9")
	case "fs.stat":
		return nil, op.BadRequest("path", "missing")
	case "run.cancel":
		var p core.RunParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		if ch := c.cancelled[p.Run]; ch != nil {
			close(ch)
			delete(c.cancelled, p.Run)
		}
		return []byte(`{"state":"ending"}`), nil
	case "agent.permit":
		c.permitted <- string(params)
		return []byte(`{"reasonDelivered":false}`), nil
	}
	return c.start(name, string(params))
}

// start starts a run. Its first event comes before its id is known to the
// caller, as it can over a socket.
func (c *fakeCore) start(name, params string) ([]byte, error) {
	c.runs++
	run := fmt.Sprintf("r%d", c.runs)
	stop := make(chan struct{})
	c.cancelled[run] = stop
	c.emit("run.started", fmt.Sprintf(`{"run":%q,"op":%q}`, run, name))
	go c.play(run, name, params, stop)
	return fmt.Appendf(nil, `{"run":%q}`, run), nil
}

func (c *fakeCore) play(run, name, params string, stop chan struct{}) {
	tell := func(event, members string) { c.emit(event, fmt.Sprintf(`{"run":%q,%s}`, run, members)) }
	end := func(members string) { tell("run.ended", `"op":"`+name+`",`+members) }
	switch {
	case name == "project.search" && strings.Contains(params, "large"):
		item := `{"text":"` + strings.Repeat("x", 700) + `"}`
		tell("project.matches", `"file":{"path":"p"},"matches":[`+strings.TrimSuffix(strings.Repeat(item+",", 2000), ",")+`]`)
		end(`"ok":true,"result":{"matches":2000}`)
	case name == "project.search" && strings.Contains(params, "endless"):
		tell("project.matches", `"matches":[]`)
		<-stop
		end(`"ok":false,"error":{"code":"cancelled","message":"it was"}`)
	case name == "project.search" && strings.Contains(params, "huge"):
		tell("project.matches", `"blob":"`+strings.Repeat("x", 600<<10)+`"`)
		<-stop
		end(`"ok":false,"error":{"code":"cancelled","message":"it was"}`)
	case name == "project.search":
		tell("project.matches", `"matches":[1]`)
		end(`"ok":true,"result":{"matches":1}`)
	case name == "agent.open" && strings.Contains(params, "broken"):
		end(`"ok":false,"error":{"code":"agent_error","message":"sign in","data":{"code":"agent_auth_required","retryable":true}}`)
	case name == "agent.open":
		end(`"ok":true,"result":{"session":"s1"}`)
	case name == "agent.send" && strings.Contains(params, "ask"):
		tell("agent.permission", `"request":"q1","session":"s1","toolCall":{"toolCallId":"c1","title":"rm","toolKind":"execute"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once","then":"continues"}]`)
		answer := <-c.permitted
		tell("agent.message", `"text":`+string(quoted(answer)))
		end(`"ok":true,"result":{"session":"s1","stopReason":"end_turn","text":"x","usage":{"total":7}}`)
	case name == "agent.send" && strings.Contains(params, "hang"):
		tell("agent.message", `"text":"…"`)
		<-stop
		end(`"ok":true,"result":{"session":"s1","stopReason":"cancelled"}`)
	case name == "agent.send":
		tell("agent.thought", `"text":"hm","session":"s1"`)
		tell("agent.toolCall", `"toolCallId":"c1","title":"ls","toolKind":"execute","status":"pending"`)
		tell("agent.usage", `"usage":{"input":1,"output":null},"source":"reported","cost":{"amount":1,"currency":"EUR"}`)
		tell("agent.plan", `"entries":[]`)
		end(`"ok":true,"result":{"session":"s1","stopReason":"end_turn"}`)
	default:
		end(`"ok":true,"result":{}`)
	}
}

// serve connects our own host with the face.
func serve(t *testing.T, c Config, grants ...string) (*host.Host, *fakeCore) {
	t.Helper()
	fake := newFakeCore()
	f := New(c)
	told := make(chan struct{})
	go func() {
		defer close(told)
		for {
			select {
			case e := <-fake.events:
				f.Event(e)
			case <-fake.done:
				return
			}
		}
	}()
	h, err := host.Start(t.Context(), host.Pipe(func(ctx context.Context, r io.Reader, w io.Writer) error {
		return f.Serve(ctx, fake, r, w)
	}), host.Config{Grants: grants, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
		close(fake.done)
		<-told
	})
	return h, fake
}

// request runs one request and tells its events as "name output".
func request(t *testing.T, h *host.Host, capability, input string) (string, []string, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var events []string
	o, err := h.Request(ctx, capability, []byte(input), host.RequestOptions{OnEvent: func(e host.Event) {
		events = append(events, e.Name+" "+string(e.Output))
	}})
	return string(o.Output), events, err
}

func code(err error) string {
	var e *host.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestOffers(t *testing.T) {
	h, _ := serve(t, Config{Version: "1.2", Grants: []string{"buffer.replaceAll", "exec.run"}})
	offers := strings.Join(h.Agent().Capabilities, " ") + " "
	for _, want := range []string{
		"buffer.text", "project.search", "session.describe", "agent.list", "agent.open", "agent.send", "agent.cancel", "agent.close",
		"session.events", "agent.prompt", "agent.prompt.permit", "buffer.replace-all", "exec.run",
	} {
		if !strings.Contains(offers, want+" ") {
			t.Errorf("%s is not offered", want)
		}
	}
	for _, not := range []string{"buffer.edit ", "fs.write ", "agent.permit ", "session.hello ", "session.subscribe ", "session.shutdown "} {
		if strings.Contains(" "+offers, " "+not) {
			t.Errorf("%sis offered", not)
		}
	}
	for _, d := range core.Ops() {
		if name := kebab(d.Describe().Op); !envelope.ValidCapability(name) {
			t.Errorf("%s is no capability", name)
		}
	}
	if h.Agent().Implementation != "dragoman 1.2" {
		t.Errorf("implementation %q", h.Agent().Implementation)
	}
}

func TestCalls(t *testing.T) {
	h, _ := serve(t, Config{}, "buffer.text", "buffer.get", "fs.stat", "project.search")
	if got, _, err := request(t, h, "buffer.text", `{"buffer":"b1"}`); err != nil || got != `{"maxBytes":131072,"buffer":"b1"}` {
		t.Errorf("got %s and %v", got, err)
	}
	if got, _, err := request(t, h, "buffer.text", `{"buffer":"b1","maxBytes":5}`); err != nil || got != `{"buffer":"b1","maxBytes":5}` {
		t.Errorf("got %s and %v", got, err)
	}
	for capability, want := range map[string]string{"buffer.get": "NO_BUFFER", "fs.stat": "BAD_REQUEST"} {
		if _, _, err := request(t, h, capability, `{}`); code(err) != want {
			t.Errorf("%s: got %v, want %s", capability, err, want)
		}
	}
	got, events, err := request(t, h, "project.search", `{"query":"x"}`)
	want := `run.started {"run":"r1","op":"project.search"}|project.matches {"run":"r1","matches":[1]}`
	if err != nil || got != `{"matches":1}` || strings.Join(events, "|") != want {
		t.Errorf("got %s, %q and %v", got, events, err)
	}
}

func TestBatchesAreSplit(t *testing.T) {
	h, _ := serve(t, Config{}, "project.search")
	_, events, err := request(t, h, "project.search", `{"query":"large"}`)
	total := 0
	for _, e := range events[1:] {
		var batch struct {
			File    struct{ Path string }
			Matches []struct{ Text string }
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(e, "project.matches ")), &batch, json.MatchCaseInsensitiveNames(true)); err != nil || batch.File.Path != "p" {
			t.Fatalf("%v in %.100s", err, e)
		}
		total += len(batch.Matches)
	}
	if err != nil || total != 2000 || len(events) < 3 {
		t.Errorf("%d matches in %d events, %v", total, len(events)-1, err)
	}
	if _, _, err := request(t, h, "project.search", `{"query":"huge"}`); code(err) != envelope.ResultTooLarge {
		t.Errorf("got %v", err)
	}
}

func TestPaged(t *testing.T) {
	for _, tt := range []struct{ name, input, want string }{
		{"fs.list", `{}`, `{"limit":400}`},
		{"fs.list", `{"path":"p"}`, `{"limit":400,"path":"p"}`},
		{"fs.list", `{"limit":10000,"path":"p"}`, `{"limit":400,"path":"p"}`},
		{"fs.list", `{"limit":7}`, `{"limit":7}`},
		{"fs.list", `{"limit":"x"}`, `{"limit":"x"}`},
		{"fs.stat", `{"path":"p"}`, `{"path":"p"}`},
	} {
		if got := string(paged(tt.name, []byte(tt.input))); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.name, tt.input, got, tt.want)
		}
	}
	for name, p := range pages {
		var declared op.Declaration
		for _, d := range core.Ops() {
			if d.Describe().Op == name {
				declared = d
			}
		}
		if declared == nil {
			t.Errorf("%s is no operation", name)
			continue
		}
		if schema, err := json.Marshal(declared.Describe().Params); err != nil || !strings.Contains(string(schema), `"`+p.member+`"`) {
			t.Errorf("%s has no %s", name, p.member)
		}
	}
}

func TestTextIsSplit(t *testing.T) {
	first, second, ok := halves([]byte(`{"run":"r1","offset":10,"text":"aéb"}`))
	if !ok || string(first) != `{"run":"r1","offset":10,"text":"a"}` || string(second) != `{"run":"r1","offset":11,"text":"éb"}` {
		t.Errorf("got %s and %s", first, second)
	}
	if _, _, ok := halves([]byte(`{"text":"a"}`)); ok {
		t.Error("one byte was split")
	}
}

func TestCancelEndsTheRun(t *testing.T) {
	h, fake := serve(t, Config{}, "project.search")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := h.Request(ctx, "project.search", []byte(`{"query":"endless"}`), host.RequestOptions{OnEvent: func(host.Event) { cancel() }})
	if code(err) != host.CodeCancelled {
		t.Errorf("got %v", err)
	}
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if got := fake.calls[len(fake.calls)-1]; got != `run.cancel {"run":"r1"}` {
		t.Errorf("the last call was %s", got)
	}
}

func TestEvents(t *testing.T) {
	h, fake := serve(t, Config{}, "session.events")
	if _, _, err := request(t, h, "session.events", `{}`); code(err) != "BAD_REQUEST" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	_, err := h.Request(ctx, "session.events", []byte(`{"patterns":["buffer.*","fs.changed"]}`), host.RequestOptions{
		OnStart: func(string) {
			go func() {
				// The request is running once the first one comes back.
				for ctx.Err() == nil {
					fake.emit("git.changed", `{"n":0}`)
					fake.emit("buffer.changed", `{"n":1}`)
					time.Sleep(time.Millisecond)
				}
			}()
		},
		OnEvent: func(e host.Event) { got = append(got, e.Name+string(e.Output)); cancel() },
	})
	if code(err) != host.CodeCancelled || len(got) == 0 || got[0] != `buffer.changed{"n":1}` {
		t.Errorf("got %q and %v", got, err)
	}
}

func TestPrompt(t *testing.T) {
	h, fake := serve(t, Config{}, capPrompt, capPermit)
	got, events, err := request(t, h, capPrompt, `{"text":"hello"}`)
	want := strings.Join([]string{
		`thought {"text":"hm"}`, `tool {"toolCallId":"c1","title":"ls","kind":"execute","status":"pending"}`,
		`usage {"cost":{"amount":1,"currency":"EUR"},"input":1,"output":null}`, `agent.plan {"run":"r2","entries":[]}`,
	}, "|")
	if err != nil || got != `{"stopReason":"end_turn"}` || strings.Join(events, "|") != want {
		t.Errorf("got %s, %q and %v", got, events, err)
	}
	fake.mu.Lock()
	calls := strings.Join(fake.calls, "|")
	fake.mu.Unlock()
	if !strings.Contains(calls, `agent.open {"agent":"b"}`) || !strings.Contains(calls, `"session":"s1"`) {
		t.Errorf("calls %s", calls)
	}
	if _, _, err := request(t, h, capPrompt, `{"text":"x","agent":"a"}`); code(err) != "CONFLICT" {
		t.Errorf("another agent: got %v", err)
	}
	if _, _, err := request(t, h, capPrompt, `{}`); code(err) != "BAD_REQUEST" {
		t.Errorf("no text: got %v", err)
	}
	if _, _, err := request(t, h, capPermit, `{"permissionId":"q9","cancelled":true}`); code(err) != "NOT_FOUND" {
		t.Errorf("another's question: got %v", err)
	}
}

func TestPermit(t *testing.T) {
	h, _ := serve(t, Config{Agent: "z"}, capPrompt, capPermit)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var events []string
	var answering sync.WaitGroup
	o, err := h.Request(ctx, capPrompt, []byte(`{"text":"ask"}`), host.RequestOptions{OnEvent: func(e host.Event) {
		events = append(events, e.Name+" "+string(e.Output))
		if e.Name == "permission" {
			answering.Go(func() {
				if _, err := h.Request(ctx, capPermit, []byte(`{"permissionId":"q1","optionId":"y"}`), host.RequestOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
	}})
	answering.Wait()
	want := `permission {"permissionId":"q1","title":"rm","toolCallId":"c1","kind":"execute","options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}` +
		`|message {"text":"{\"request\":\"q1\",\"option\":\"y\"}"}`
	if err != nil || string(o.Output) != `{"stopReason":"end_turn","text":"x","usage":{"total":7}}` || strings.Join(events, "|") != want {
		t.Errorf("got %s, %q and %v", o.Output, events, err)
	}
}

func TestPromptCancelled(t *testing.T) {
	h, _ := serve(t, Config{}, capPrompt)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := h.Request(ctx, capPrompt, []byte(`{"text":"hang"}`), host.RequestOptions{OnEvent: func(host.Event) { cancel() }})
	if code(err) != host.CodeCancelled {
		t.Errorf("got %v", err)
	}
}

func TestAgentErrors(t *testing.T) {
	h, _ := serve(t, Config{}, capPrompt)
	_, _, err := request(t, h, capPrompt, `{"text":"x","agent":"broken"}`)
	var e *host.Error
	if !errors.As(err, &e) || e.Code != "AGENT_AUTH_REQUIRED" || !e.Retryable || e.Message != "sign in" {
		t.Errorf("got %v", err)
	}
}

// A descendant of the core answers no questions.
func TestDescendant(t *testing.T) {
	h, _ := serve(t, Config{Peer: Descendant}, capPrompt, capPermit)
	if h.Has(capPermit) || !h.Has(capPrompt) {
		t.Errorf("offers %v", h.Agent().Capabilities)
	}
}

// What the connection opened is closed with it.
func TestCloseEndsTheSession(t *testing.T) {
	h, fake := serve(t, Config{}, capPrompt)
	if _, _, err := request(t, h, capPrompt, `{"text":"x"}`); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if got := fake.calls[len(fake.calls)-1]; got != `agent.close {"session":"s1"}` {
		t.Errorf("the last call was %s", got)
	}
}
