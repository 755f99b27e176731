package opencode

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

var recordedTurn = lane.Turn{Number: 1, Text: "recorded", Cancel: make(chan struct{})}

// until waits for a condition.
func (tb *table) until(done func() bool) {
	tb.t.Helper()
	for !done() {
		select {
		case <-tb.ctx.Done():
			tb.t.Fatal("waited too long")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func ptr(s string) *string { return &s }

func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.got)
}

// TestRequests: every request has the password and the folder, and the stream
// is there before the prompt.
func TestRequests(t *testing.T) {
	tb := open(t, newFake(), "")
	out, err := tb.prompt(lanetest.Echo)
	if err != nil {
		t.Fatal(err)
	}
	tb.fake.mu.Lock()
	bad, env, args := tb.fake.bad, tb.fake.p.Env, tb.fake.p.Args
	tb.fake.mu.Unlock()
	if len(bad) > 0 || len(lookup(env, envPassword)) < 20 {
		t.Errorf("requests without password or folder: %q", bad)
	}
	if got := strings.Join(args, " "); got != "own serve --hostname 127.0.0.1 --port 0" {
		t.Errorf("args %s", got)
	}
	got := tb.fake.requests()
	events := slices.Index(got, "GET /event")
	prompt := slices.IndexFunc(got, func(r string) bool { return strings.Contains(r, "/prompt_async") })
	if events < 0 || prompt < events {
		t.Errorf("requests %q", got)
	}
	r := tb.event(agent.KindUsage).Usage
	if *out.Usage.Input != 3 || *out.Usage.CachedInput != 2 || r.Cost.Amount != 0.5 || *r.Context != (agent.ContextUse{Used: 10, Size: 1000}) {
		t.Errorf("usage %+v, report %+v", out.Usage, r)
	}
}

func TestOutcomes(t *testing.T) {
	tests := map[string]struct{ finish, fault, stop, code string }{
		"length":  {"length", "", agent.StopMaxTokens, ""},
		"filter":  {"content-filter", "", agent.StopRefusal, ""},
		"own":     {"tired", "", "tired", ""},
		"aborted": {"", `{"name":"MessageAbortedError","data":{}}`, agent.StopCancelled, ""},
		"error":   {"", `{"name":"UnknownError","data":{"message":"no"}}`, "", agent.CodeTurnFailed},
		"auth":    {"", `{"name":"ProviderAuthError","data":{"message":"no key"}}`, "", agent.CodeAuthRequired},
		"429":     {"", `{"name":"APIError","data":{"message":"slow","statusCode":429}}`, "", agent.CodeQuotaExhausted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.script = func(string) []string { f.settle(tt.finish, tt.fault); return nil }
			tb := open(t, f, "")
			out, err := tb.prompt("go")
			if tt.code != "" {
				wantCode(t, err, tt.code, agent.StagePrompt)
			} else if err != nil || out.StopReason != tt.stop {
				t.Errorf("outcome %+v, error %v", out, err)
			}
		})
	}
}

// TestBrokenStream: what was missed is read again, and no chunk comes twice.
func TestBrokenStream(t *testing.T) {
	f := newFake()
	f.script = func(string) []string {
		f.emit("message.part.updated", `{"part":{"id":"prt_b","messageID":"msg_a1","sessionID":"ses_1","type":"text","text":""}}`)
		f.emit("message.part.delta", `{"sessionID":"ses_1","partID":"prt_b","field":"text","delta":"one "}`)
		return nil
	}
	tb := open(t, f, "")
	ended := make(chan error, 1)
	go func() { _, err := tb.prompt("go"); ended <- err }()
	tb.until(func() bool { return tb.Text(1) == "one " })
	message := `{"info":{"id":"msg_a1","parentID":"msg_u1","role":"assistant"},"parts":[{"id":"prt_b","messageID":"msg_a1","sessionID":"ses_1","type":"text","text":"one two "}]}`
	f.mu.Lock()
	f.store = []string{`{"info":{"id":"msg_u1","role":"user"},"parts":[]}`, message}
	f.mu.Unlock()
	f.drop()
	tb.until(func() bool { return tb.Text(1) == "one two " })
	tb.until(func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.subs) == 1 })
	// A piece that what was read again may have held already.
	f.emit("message.part.delta", `{"sessionID":"ses_1","partID":"prt_b","field":"text","delta":"two "}`)
	f.emit("message.part.updated", `{"part":{"id":"prt_b","messageID":"msg_a1","sessionID":"ses_1","type":"text","text":"one two three","time":{"end":1}}}`)
	f.settle("stop", "")
	if err := <-ended; err != nil || tb.Text(1) != "one two three" {
		t.Errorf("text %q, error %v", tb.Text(1), err)
	}
}

// TestMissedEnd: a turn that ended while there was no stream ends.
func TestMissedEnd(t *testing.T) {
	f := newFake()
	f.script = func(string) []string {
		f.mu.Lock()
		f.busy = false
		f.store = []string{`{"info":{"id":"msg_u1","role":"user"},"parts":[]}`, `{"info":{"id":"msg_a1","parentID":"msg_u1","role":"assistant","finish":"stop"},"parts":[{"id":"p","messageID":"msg_a1","type":"text","text":"all","time":{"end":1}}]}`}
		f.mu.Unlock()
		f.drop()
		return nil
	}
	tb := open(t, f, "")
	out, err := tb.prompt("go")
	if err != nil || out.StopReason != agent.StopEndTurn || tb.Text(1) != "all" {
		t.Errorf("outcome %+v, error %v, text %q", out, err, tb.Text(1))
	}
}

// TestChildQuestion: a session that ours has started asks through us.
func TestChildQuestion(t *testing.T) {
	f := newFake()
	f.script = func(string) []string {
		f.emit("session.created", `{"info":{"id":"ses_2","parentID":"ses_1"}}`)
		f.emit("message.part.updated", `{"part":{"id":"prt_k","messageID":"msg_a1","sessionID":"ses_1","type":"tool","tool":"task","callID":"parent","state":{"status":"running","input":{"description":"look"},"metadata":{"sessionId":"ses_2"}}}}`)
		f.emit("message.part.updated", `{"part":{"id":"prt_x","messageID":"msg_x","sessionID":"ses_2","type":"text","text":"not ours"}}`)
		f.ask("ses_2", lanetest.CallID)
		return nil
	}
	tb := open(t, f, "")
	tb.AnswerWith(func(context.Context, *agent.Question) agent.Answer { return agent.Answer{OptionID: replyAlways} })
	if _, err := tb.prompt("go"); err != nil {
		t.Fatal(err)
	}
	q := tb.Questions()[0]
	if q.ToolCall.ID != lanetest.CallID || q.ToolCall.Shell != "ls" || q.ToolCall.ParentCallID != "parent" {
		t.Errorf("question about %+v", q.ToolCall)
	}
	if tb.Text(1) != lanetest.Granted {
		t.Errorf("text %q", tb.Text(1))
	}
	if !slices.Contains(f.requests(), `POST /permission/per_1/reply {"reply":"always"}`) {
		t.Errorf("requests %q", f.requests())
	}
}

func TestOptions(t *testing.T) {
	l := lane.Launch{Options: agent.Options{Model: ptr("large"), Mode: ptr("plan")}}
	tb, err := try(t, newFake(), "", l)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"currentModelId":"mock/large"`, `"currentModeId":"plan"`} {
		if !strings.Contains(string(tb.conn.Info().State), part) {
			t.Errorf("state %s", tb.conn.Info().State)
		}
	}
	if strings.Contains(string(tb.conn.Info().State), "general") {
		t.Error("a subagent is no mode")
	}
	if _, err := tb.turn(lane.Turn{Text: lanetest.Echo, Options: agent.Options{Model: ptr("mock/small")}}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`POST /session/ses_1/prompt_async {"parts":[{"type":"text","text":%q}],"model":{"providerID":"mock","modelID":"small"},"agent":"plan"}`, lanetest.Echo)
	if !slices.Contains(tb.fake.requests(), want) {
		t.Errorf("requests %q", tb.fake.requests())
	}
	wantCode(t, tb.conn.CheckTurn(agent.Options{Model: ptr("x/y")}), agent.CodeModelUnsupported, agent.StageTurnConfig)
	wantCode(t, tb.conn.CheckTurn(agent.Options{Mode: ptr("plan")}), agent.CodeModeUnsupported, agent.StageTurnConfig)
	_, err = try(t, newFake(), `,"agent":"nobody"`, lane.Launch{})
	wantCode(t, err, agent.CodeModeUnsupported, agent.StageConfiguration)
	_, err = try(t, newFake(), "", lane.Launch{Options: agent.Options{Effort: ptr("high")}})
	wantCode(t, err, agent.CodeEffortUnsupported, agent.StageConfiguration)
}

func TestResume(t *testing.T) {
	tb, err := try(t, newFake(), "", lane.Launch{Resume: sessionID})
	if err != nil || tb.conn.Info().NativeID != sessionID {
		t.Fatal(err)
	}
	_, err = try(t, newFake(), "", lane.Launch{Resume: "ses_none"})
	wantCode(t, err, agent.CodeSessionOpenFailed, agent.StageResume)
	_, err = try(t, newFake(), "", lane.Launch{Resume: "../x"})
	wantCode(t, err, agent.CodeResumeUnsupported, agent.StageOpen)
}

func TestServers(t *testing.T) {
	servers := `,"mcpServers":[{"name":"s","command":"/bin/s","args":["a"],"env":[{"name":"K","value":"v"}]}]`
	l := lane.Launch{Env: []string{envConfig + `={"theme":"x","mcp":{"t":{}}}`}}
	tb, err := try(t, newFake(), servers, l)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mcp":{"s":{"command":["/bin/s","a"],"enabled":true,"environment":{"K":"v"},"type":"local"},"t":{}},"theme":"x"}`
	if got := lookup(tb.fake.p.Env, envConfig); len(got) != len(want) || !strings.Contains(got, `"environment":{"K":"v"}`) || !strings.Contains(got, `"t":{}`) {
		t.Errorf("config %s", got)
	}
	l.Env = []string{envConfig + `={"mcp":{"s":{}}}`}
	_, err = try(t, newFake(), servers, l)
	wantCode(t, err, agent.CodeMCPServerInvalid, agent.StageOpen)
}
