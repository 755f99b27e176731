package sidecar

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

func lanes(f *fakeLane) map[string]lane.Driver { return map[string]lane.Driver{"fake": f} }

func data(code, stage string, retryable, uncertain bool) string {
	return fmt.Sprintf(`{"code":%q,"stage":%q,"retryable":%v,"uncertainEffect":%v}`, code, stage, retryable, uncertain)
}

func TestOpenAnswer(t *testing.T) {
	f := &fakeLane{info: lane.Info{
		NativeID: "n1", AgentName: "a", AgentVersion: "2", State: []byte(`{"modes":{}}`),
		Capabilities: lane.Capabilities{Streaming: true, Cancellation: true, PermissionPrompts: true, Detail: []byte(`{"x":1}`)},
	}}
	c := start(t, lanes(f)).read()
	m := c.call("session/open", openParams("fake", ""))
	want := `{"sessionId":"` + sessionID(t, m) + `","nativeSessionId":"n1","capabilities":{"streaming":true,"cancellation":true,"sessionResume":false,"permissionPrompts":true,"detail":{"x":1}},"agentInfo":{"name":"a","version":"2"},"sessionState":{"modes":{}}}`
	if string(m.Result) != want {
		t.Errorf("got %s, want %s", m.Result, want)
	}
	f.info = lane.Info{}
	m = c.call("session/open", openParams("fake", `,"cwd":5,"env":[1],"resume":7,"options":{"model":5}`))
	if !strings.HasSuffix(string(m.Result), `"detail":null},"agentInfo":null,"sessionState":null}`) {
		t.Errorf("got %s", m.line)
	}
	id := sessionID(t, m)
	if !strings.HasPrefix(id, "a4aa-") || len(id) != len("a4aa-")+32 {
		t.Errorf("session id %q", id)
	}
}

func TestRefusals(t *testing.T) {
	f := &fakeLane{prompt: echo, check: func(o agent.Options) error {
		if o.Model != nil {
			return agent.Fail(agent.CodeModelUnsupported, agent.StageConfiguration, "no models")
		}
		return nil
	}}
	c := start(t, lanes(f)).read()
	id := c.open("fake")
	tests := []struct {
		name, method, params string
		code                 int
		data                 string
	}{
		{"no spec", "session/open", `{}`, -32602, "null"},
		{"params of the wrong type", "session/open", `[1]`, -32602, "null"},
		{"unknown lane", "session/open", openParams("zzz", ""), -32602, "null"},
		{"no command", "session/open", `{"spec":{"id":"x","lane":"fake"}}`, -32602, "null"},
		{"no preset", "session/open", `{"spec":{"id":"x"}}`, -32602, "null"},
		{"environment", "session/open", `{"spec":{"id":"x","lane":"fake","command":{"program":"p","env":"inheritAll"}}}`, -32602, "null"},
		{"folder", "session/open", openParams("fake", `,"cwd":"rel"`), -32603, data("agent_process_start_failed", "process/start", false, false)},
		{"option", "session/open", openParams("fake", `,"options":{"model":""}`), -32603, data("agent_model_unsupported", "session/configuration", false, false)},
		{"prompt of no session", "session/prompt", `{"text":"x"}`, -32602, "null"},
		{"prompt of an unknown session", "session/prompt", on("nope", ""), -32602, "null"},
		{"prompt with a bad selector", "session/prompt", on(id, `,"model":"m"`), -32603, data("agent_model_unsupported", "session/configuration", false, false)},
		{"cancel of no session", "session/cancel", `null`, -32602, "null"},
		{"cancel of an unknown session", "session/cancel", on("nope", ""), -32602, "null"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.call(tt.method, tt.params).wantError(t, tt.code, tt.data)
		})
	}
	for _, params := range []string{on("nope", ""), `{}`, `{"sessionId":5}`, `null`, on(id, ""), on(id, "")} {
		if m := c.call("session/close", params); string(m.Result) != "{}" {
			t.Errorf("close %s: got %s", params, m.line)
		}
	}
	c.call("session/prompt", on(id, "")).wantError(t, -32602, "null")
}

func TestEventsComeInOrderAndBeforeTheAnswer(t *testing.T) {
	const chunks = 10_000
	f := &fakeLane{prompt: func(ctx context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
		for i := range chunks {
			say(ctx, sink, turn.Number, fmt.Sprint(i))
		}
		return agent.Outcome{StopReason: agent.StopEndTurn}, nil
	}}
	c := start(t, lanes(f)).read()
	id := c.open("fake")
	m := c.call("session/prompt", on(id, ""))
	if want := `{"stopReason":"end_turn","text":"","truncated":false,"exitCode":null,"usage":null}`; string(m.Result) != want {
		t.Errorf("got %s, want %s", m.Result, want)
	}
	texts := c.texts()
	if len(texts) != chunks {
		t.Fatalf("%d chunks before the answer", len(texts))
	}
	for i, text := range texts {
		if text != fmt.Sprint(i) {
			t.Fatalf("chunk %d is %q", i, text)
		}
	}
}

func TestAnswerComesBeforeTheNextTurn(t *testing.T) {
	c := start(t, lanes(&fakeLane{prompt: echo})).read()
	id := c.open("fake")
	var ids []string
	for i := range 200 {
		ids = append(ids, c.send("session/prompt", on(id, fmt.Sprintf(`,"text":"%d"`, i))))
	}
	for i, turn := range ids {
		if m := c.next(); m.Method != "session/event" || !strings.Contains(m.line, fmt.Sprintf(`"text":"%d"`, i)) {
			t.Fatalf("before answer %d came %s", i, m.line)
		}
		if m := c.next(); string(m.ID) != turn {
			t.Fatalf("after the event of turn %d came %s", i, m.line)
		}
	}
}

func TestCancelRightBehindThePrompt(t *testing.T) {
	for range 50 {
		c := start(t, lanes(&fakeLane{prompt: hang})).read()
		id := c.open("fake")
		c.raw(`{"id":"p","method":"session/prompt","params":` + on(id, "") + "}\n" + `{"id":"c","method":"session/cancel","params":` + on(id, "") + "}\n")
		if m := c.answer(`"p"`); !strings.Contains(string(m.Result), `"stopReason":"cancelled"`) {
			t.Fatalf("got %s", m.line)
		}
		if m := c.answer(`"c"`); string(m.Result) != "{}" {
			t.Fatalf("got %s", m.line)
		}
		if err := c.finish(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLateCancelLeavesTheNextPrompt(t *testing.T) {
	c := start(t, lanes(&fakeLane{prompt: echo})).read()
	id := c.open("fake")
	for i := range 100 {
		c.call("session/prompt", on(id, `,"text":"a"`))
		if m := c.call("session/cancel", on(id, "")); string(m.Result) != "{}" {
			t.Fatalf("got %s", m.line)
		}
		if m := c.call("session/prompt", on(id, `,"text":"b"`)); !strings.Contains(string(m.Result), `"end_turn"`) {
			t.Fatalf("round %d: got %s", i, m.line)
		}
	}
}

func TestCloseEndsTheTurn(t *testing.T) {
	f := &fakeLane{prompt: hang}
	c := start(t, lanes(f)).read()
	id := c.open("fake")
	running, waiting := c.send("session/prompt", on(id, "")), c.send("session/prompt", on(id, ""))
	if m := c.call("session/close", on(id, "")); string(m.Result) != "{}" {
		t.Errorf("got %s", m.line)
	}
	c.answer(running).wantError(t, -32603, data("agent_session_closed", "session/prompt", false, true))
	c.answer(waiting).wantError(t, -32603, data("agent_session_closed", "session/prompt", false, false))
}

func TestCloseThatFails(t *testing.T) {
	f := &fakeLane{prompt: echo, closeErrs: []error{errors.New("pid 7 is left")}}
	c := start(t, lanes(f)).read()
	id := c.open("fake")
	m := c.call("session/close", on(id, ""))
	m.wantError(t, -32603, data("agent_process_cleanup_failed", "process/cleanup", true, true))
	c.call("session/prompt", on(id, "")).wantError(t, -32603, data("agent_session_closed", "session/prompt", false, false))
	if m := c.call("session/close", on(id, "")); string(m.Result) != "{}" {
		t.Errorf("got %s", m.line)
	}
	if err := c.finish(); err != nil {
		t.Error(err)
	}
}

func TestPermissionAnswers(t *testing.T) {
	tests := []struct{ reply, want string }{
		{`"result":{"selected":"yes"}`, "yes"},
		{`"result":{"selected":"no","more":1}`, "no"},
		{`"result":{"cancelled":false,"selected":"yes"}`, "yes"},
		{`"result":{"cancelled":true,"selected":"yes"}`, ""},
		{`"result":{"cancelled":"false","selected":"yes"}`, ""},
		{`"result":{"selected":"never"}`, ""},
		{`"result":{"selected":["yes"]}`, ""},
		{`"result":[1]`, ""},
		{`"result":null`, ""},
		{`"error":{"code":1,"message":"no"}`, ""},
		{`"error":null,"result":{"selected":"yes"}`, ""},
	}
	f := &fakeLane{prompt: func(ctx context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
		old := "o"
		a := sink.Ask(ctx, &agent.Question{Turn: turn.Number, Raw: []byte(`{"toolCall":{"name":"tool"}}`),
			ToolCall: agent.ToolCall{ID: "c1", Content: []agent.ToolContent{{Type: "text", Text: "why"},
				{Type: "diff", Path: "/f", NewText: "n"}, {Type: "diff", Path: "/g", OldText: &old, NewText: "n"}, {Type: "terminal", TerminalID: "t"}}},
			Options: []agent.Option{{ID: "yes", Name: "Yes", Kind: "allow_once"}, {ID: "no", Name: "No", Kind: "reject_once"}}})
		return agent.Outcome{StopReason: agent.StopEndTurn, Text: "chose " + a.OptionID}, nil
	}}
	c := start(t, lanes(f)).read()
	id := c.open("fake")
	for _, tt := range tests {
		turn := c.send("session/prompt", on(id, ""))
		ask := c.next()
		want := `{"sessionId":"` + id + `","toolCallId":"c1","title":"tool","kind":null,"contentTexts":["why","/f\n(new file)\n→\nn","/g\no\n→\nn","Terminal: t"],"options":[["yes","Yes","allow_once"],["no","No","reject_once"]],"raw":{"toolCall":{"name":"tool"}}}`
		if ask.Method != "permission/request" || string(ask.Params) != want {
			t.Fatalf("asked %s, want %s", ask.line, want)
		}
		c.raw(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,` + tt.reply + "}\n")
		if m := c.answer(turn); !strings.Contains(m.line, `"chose `+tt.want+`"`) {
			t.Errorf("reply %s: got %s, want %q", tt.reply, m.line, tt.want)
		}
	}
}

func TestFullEventsFollowTheOpenAnswer(t *testing.T) {
	f := &fakeLane{prompt: echo, open: func(ctx context.Context, l lane.Launch) error {
		for i := range 3 {
			l.Sink.Emit(ctx, &agent.Event{Kind: agent.KindMessage, Text: fmt.Sprint(i), Replay: true})
		}
		l.Sink.Emit(ctx, &agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{Level: "info", Code: "c", Text: "t"}})
		return nil
	}}
	c := start(t, lanes(f)).read()
	kinds := func() (list []string) {
		for _, m := range c.seen {
			list = append(list, m.Method)
		}
		c.seen = nil
		return list
	}
	sessionID(t, c.call("session/open", openParams("fake", `,"events":"plain"`)))
	if got := kinds(); len(got) != 3 {
		t.Errorf("plain: %q before the answer", got)
	}
	id := sessionID(t, c.call("session/open", openParams("fake", `,"events":"full"`)))
	if got := kinds(); len(got) != 0 {
		t.Errorf("full: %q before the answer", got)
	}
	for i := range 4 {
		m := c.next()
		want := fmt.Sprintf(`"turn":0,"seq":%d,`, i+1)
		if !strings.Contains(m.line, want) {
			t.Errorf("got %s, want %s", m.line, want)
		}
	}
	c.call("session/prompt", on(id, `,"text":"hi"`))
	if got := c.seen; len(got) != 1 || !strings.Contains(got[0].line, `"kind":"message-chunk","turn":1,"seq":5,"time":"`) {
		t.Errorf("got %v", got)
	}
}

func TestOptionsReachTheTurn(t *testing.T) {
	var got []string
	f := &fakeLane{prompt: func(_ context.Context, turn lane.Turn, _ lane.Sink) (agent.Outcome, error) {
		got = append(got, turn.Text, *turn.Options.Model, *turn.Options.Effort)
		return agent.Outcome{StopReason: "max_tokens", Suspect: "cancel_unanswered"}, nil
	}}
	c := start(t, lanes(f)).read()
	id := c.open("fake")
	m := c.call("session/prompt", on(id, `,"text":"\u00e9","model":"m","effort":"e"`))
	if !strings.HasSuffix(string(m.Result), `"usage":null,"suspect":"cancel_unanswered"}`) {
		t.Errorf("got %s", m.line)
	}
	if !reflect.DeepEqual(got, []string{"é", "m", "e"}) {
		t.Errorf("got %q", got)
	}
}

// waitFor waits until ok holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
