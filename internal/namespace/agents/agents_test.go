package agents_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"dragoman/client"
	"dragoman/internal/fixture"
	"dragoman/internal/journal"
	"dragoman/internal/lane"
	"dragoman/internal/lane/acp"
	"dragoman/internal/namespace/agents"
	"dragoman/internal/namespace/spacetest"
	"dragoman/internal/proc"
	"dragoman/internal/session"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// TestMain is the fixture agent when a test starts this program as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "fixture-agent" {
		if err := fixture.Run(context.Background(), os.Stdin, os.Stdout, fixture.FromEnv("test", os.LookupEnv)); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// world is a core with the agent namespace over a journal in dir.
func world(t *testing.T, dir string) (*spacetest.World, *spacetest.Client) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	sup, err := proc.New(proc.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	opener := &session.Opener{
		Drivers: map[string]lane.Driver{"acp": acp.Driver{Version: "test"}}, HostEnv: os.Environ(),
		TempDir: root, Starter: sup, Log: log,
	}
	var space *agents.Space
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), spacetest.Patience)
		defer cancel()
		for _, err := range []error{space.Close(ctx), j.Close(), sup.Close(ctx)} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	w := spacetest.New(t, root, func(w *spacetest.World) {
		space, err = agents.New(agents.Options{
			Prepare: opener.Prepare, Known: func(id string) bool { return id == "known" },
			List:    func(context.Context) []core.AgentListed { return []core.AgentListed{} },
			Journal: j, Events: w.Hub, Log: log,
			Folder: func(raw string) (string, error) {
				if filepath.IsAbs(raw) && raw != root {
					return "", op.OutsideRoot(raw)
				}
				return filepath.Join(root, raw), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		space.Bind(w.Mux)
	})
	return w, w.Attach()
}

func spec(t *testing.T) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"id":"fixture","lane":"acp","command":{"program":%q,"args":["fixture-agent"]}}`, self)
}

func open(t *testing.T, c *spacetest.Client) string {
	t.Helper()
	return spacetest.MustDo(c, core.AgentOpen, core.AgentOpenParams{Spec: spec(t)}).Session
}

func start[P, R any](t *testing.T, c *spacetest.Client, o *op.Op[P, R], p P) string {
	t.Helper()
	id, err := o.Start(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func awaitEvent[P any](t *testing.T, c *spacetest.Client, name string, match func(P) bool) P {
	t.Helper()
	var found P
	c.Await(func(e client.Event) bool {
		var p P
		if e.Name != name || json.Unmarshal(e.Params, &p) != nil || !match(p) {
			return false
		}
		found = p
		return true
	})
	return found
}

func wantError(t *testing.T, e *op.Error, code op.Code, reason string) {
	t.Helper()
	if e == nil || e.Code != code || reason != "" && e.Reason() != reason {
		t.Errorf("got %v, want %s %s", e, code, reason)
	}
}

func TestATurnAndItsHistory(t *testing.T) {
	w, c := world(t, t.TempDir())
	other := w.Attach()
	id := open(t, c)
	run := start(t, c, core.AgentSend, core.AgentSendParams{Session: id, Text: "hello there"})
	raw, e := c.Ended(run)
	if e != nil {
		t.Fatal(e)
	}
	var result core.AgentSendResult
	if err := json.Unmarshal(raw, &result); err != nil || result.Session != id || result.StopReason != "end_turn" || result.Text == nil {
		t.Fatalf("result %s, %v", raw, err)
	}
	history := spacetest.MustCall(c, core.AgentHistory, core.AgentHistoryParams{Session: id})
	other.Ended(run)
	var live []string
	for _, e := range other.OfRun(run) {
		if strings.HasPrefix(e.Name, "agent.") && e.Name != core.AgentSessionChanged.Name {
			live = append(live, e.Name+" "+string(e.Params))
		}
	}
	var kept []string
	for i, e := range history.Entries {
		if e.Index != int64(i) {
			t.Errorf("entry %d has index %d", i, e.Index)
		}
		var of struct {
			Run *string `json:"run"`
		}
		if json.Unmarshal(e.Params, &of) == nil && of.Run != nil && *of.Run == run {
			kept = append(kept, e.Event+" "+string(e.Params))
		}
	}
	if len(kept) < 3 || !strings.HasPrefix(kept[0], "agent.prompt") || strings.Join(live, "\n") != strings.Join(kept, "\n") {
		t.Errorf("live:\n%s\nhistory:\n%s", strings.Join(live, "\n"), strings.Join(kept, "\n"))
	}
	if found := spacetest.MustCall(c, core.AgentSessions, core.AgentSessionsParams{Query: "HELLO"}); len(found.Sessions) != 1 {
		t.Errorf("search finds %d", len(found.Sessions))
	}
	if found := spacetest.MustCall(c, core.AgentSessions, core.AgentSessionsParams{Query: "hello zebra"}); len(found.Sessions) != 0 {
		t.Errorf("search finds %d", len(found.Sessions))
	}
}

func TestTheFirstAnswerWins(t *testing.T) {
	w, c := world(t, t.TempDir())
	other := w.Attach()
	id := open(t, c)
	run := start(t, c, core.AgentSend, core.AgentSendParams{Session: id, Text: "permission"})
	q := awaitEvent(t, other, core.AgentPermission.Name, func(core.PermissionRequest) bool { return true })
	if q.Run == nil || *q.Run != run || q.Session != id || len(q.Options) == 0 {
		t.Fatalf("request %+v", q)
	}
	if p := spacetest.MustCall(c, core.AgentPending, core.None{}); len(p.Requests) != 1 || p.Requests[0].Request != q.Request {
		t.Errorf("pending %+v", p)
	}
	_, e := spacetest.Call(other, core.AgentPermit, core.AgentPermitParams{Request: q.Request, Option: "nothing offered"})
	wantError(t, e, op.CodeBadRequest, op.ReasonNotOneOf)
	spacetest.MustCall(other, core.AgentPermit, core.AgentPermitParams{Request: q.Request, Option: q.Options[0].OptionID})
	_, e = spacetest.Call(c, core.AgentPermit, core.AgentPermitParams{Request: q.Request, Cancelled: true})
	wantError(t, e, op.CodeConflict, op.ConflictResolved)
	if _, e := c.Ended(run); e != nil {
		t.Error(e)
	}
	permitted := awaitEvent(t, c, core.AgentPermitted.Name, func(core.AgentPermittedParams) bool { return true })
	if permitted.Option != q.Options[0].OptionID || !strings.Contains(string(permitted.By), "client") {
		t.Errorf("permitted %+v", permitted)
	}
	audit := spacetest.MustCall(c, core.AgentAudit, core.AgentAuditParams{Session: id})
	if len(audit.Entries) != 1 || !audit.Entries[0].Asked || audit.Entries[0].Decision != q.Options[0].Kind {
		t.Errorf("audit %+v", audit)
	}
	_, e = spacetest.Call(c, core.AgentPermit, core.AgentPermitParams{Request: "none", Cancelled: true})
	wantError(t, e, op.CodeNotFound, "")
}

func TestQueueAndCancel(t *testing.T) {
	_, c := world(t, t.TempDir())
	id := open(t, c)
	first := start(t, c, core.AgentSend, core.AgentSendParams{Session: id, Text: "wait-for-cancel"})
	awaitEvent(t, c, core.AgentMessage.Name, func(p core.AgentTextParams) bool { return p.Run != nil && *p.Run == first })
	_, err := core.AgentSend.Start(t.Context(), c, core.AgentSendParams{Session: id, Text: "x"})
	wantError(t, spacetest.AsError(t, err), op.CodeConflict, op.ConflictTurnRunning)
	second := start(t, c, core.AgentSend, core.AgentSendParams{Session: id, Text: "dropped", Queue: true})
	third := start(t, c, core.AgentSend, core.AgentSendParams{Session: id, Text: "goes on", Queue: true})
	awaitEvent(t, c, core.AgentSessionChanged.Name, func(p map[string]any) bool {
		queue, _ := p["queue"].([]any)
		return len(queue) == 2
	})
	if got := spacetest.MustCall(c, core.AgentCancel, core.AgentCancelParams{Session: id, Run: second}); !got.Cancelled {
		t.Error("a queued run isn't cancelled")
	}
	_, e := c.Ended(second)
	wantError(t, e, op.CodeCancelled, "")
	if got := spacetest.MustCall(c, core.AgentCancel, core.AgentCancelParams{Session: id, Run: "r999999"}); got.Cancelled {
		t.Error("an unknown run is cancelled")
	}
	spacetest.MustCall(c, core.RunCancel, core.RunParams{Run: first})
	raw, e := c.Ended(first)
	if e != nil || !strings.Contains(string(raw), `"stopReason":"cancelled"`) {
		t.Errorf("the cancelled turn: %s %v", raw, e)
	}
	if _, e := c.Ended(third); e != nil {
		t.Error(e)
	}
	for _, run := range []string{first, second, third} {
		c.OfRun(run)
	}
}

func TestSessionsOutliveTheCore(t *testing.T) {
	dir := t.TempDir()
	var id string
	t.Run("first core", func(t *testing.T) {
		_, c := world(t, dir)
		id = open(t, c)
		spacetest.MustDo(c, core.AgentSend, core.AgentSendParams{Session: id, Text: "remember me"})
		spacetest.MustCall(c, core.AgentRename, core.AgentRenameParams{Session: id, Title: "mine"})
	})
	_, c := world(t, dir)
	got := spacetest.MustCall(c, core.AgentGet, core.SessionParams{Session: id})
	if got.State != "closed" || got.Title != "mine" || got.Turn != 1 || got.HistoryCount == 0 {
		t.Errorf("session %+v", got)
	}
	_, e := spacetest.Do(c, core.AgentSend, core.AgentSendParams{Session: id, Text: "x"})
	if wantError(t, e, op.CodeAgent, ""); e != nil && (e.Data["code"] != "agent_session_closed" || e.Data["stage"] != "session/prompt") {
		t.Errorf("data %v", e.Data)
	}
	spacetest.MustDo(c, core.AgentDelete, core.SessionRunParams{Session: id})
	_, e = spacetest.Call(c, core.AgentGet, core.SessionParams{Session: id})
	wantError(t, e, op.CodeNotFound, "")
}

func TestBadRequests(t *testing.T) {
	_, c := world(t, t.TempDir())
	zero := 0
	_, e := spacetest.Call(c, core.AgentHistory, core.AgentHistoryParams{Session: "none"})
	wantError(t, e, op.CodeNotFound, "")
	_, e = spacetest.Call(c, core.AgentSessions, core.AgentSessionsParams{Limit: &zero})
	wantError(t, e, op.CodeBadRequest, op.ReasonOutOfRange)
	_, e = spacetest.Call(c, core.AgentCancel, core.AgentCancelParams{Session: "none"})
	wantError(t, e, op.CodeNotFound, "")
	_, err := core.AgentOpen.Start(t.Context(), c, core.AgentOpenParams{Agent: "unknown"})
	wantError(t, spacetest.AsError(t, err), op.CodeNotFound, "")
	_, err = core.AgentOpen.Start(t.Context(), c, core.AgentOpenParams{Spec: []byte(`[]`)})
	wantError(t, spacetest.AsError(t, err), op.CodeBadRequest, "")
	_, e = spacetest.Do(c, core.AgentOpen, core.AgentOpenParams{Spec: spec(t), Cwd: "/"})
	wantError(t, e, op.CodeOutsideRoot, "")
}
