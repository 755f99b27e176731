package pi

import (
	"context"
	"strings"
	"testing"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// ended is the end of a scripted turn whose last message is that.
func ended(message string) []string {
	return []string{`{"type":"message_end","message":{"role":"assistant","content":[],` + message + `}}`, `{"type":"agent_end","messages":[],"willRetry":false}`, `{"type":"agent_settled","aborted":false}`}
}

func TestOutcomes(t *testing.T) {
	tests := map[string]struct {
		lines      []string
		stop, code string
	}{
		"length":    {ended(`"stopReason":"length"`), agent.StopMaxTokens, ""},
		"own word":  {ended(`"stopReason":"filtered"`), "filtered", ""},
		"aborted":   {ended(`"stopReason":"aborted"`), agent.StopCancelled, ""},
		"error":     {ended(`"stopReason":"error","errorMessage":"400: bad"`), "", agent.CodeTurnFailed},
		"429":       {ended(`"stopReason":"error","errorMessage":"429: slow down"`), "", agent.CodeQuotaExhausted},
		"quota":     {ended(`"stopReason":"error","errorMessage":"usage limit reached"`), "", agent.CodeQuotaExhausted},
		"401":       {ended(`"stopReason":"error","errorMessage":"401: no"`), "", agent.CodeAuthRequired},
		"no key":    {ended(`"stopReason":"error","errorMessage":"No API key found for mock"`), "", agent.CodeAuthRequired},
		"no reason": {ended(`"stopReason":"error"`), "", agent.CodeTurnFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tb := open(t, &fake{script: func(string) []string { return tt.lines }}, "")
			out, err := tb.prompt("go")
			if tt.code != "" {
				wantCode(t, err, tt.code, agent.StagePrompt)
				return
			}
			if err != nil || out.StopReason != tt.stop {
				t.Errorf("outcome %+v, error %v", out, err)
			}
		})
	}
}

func TestRefusedPrompt(t *testing.T) {
	tb := open(t, &fake{}, "")
	_, err := tb.prompt("refuse")
	wantCode(t, err, agent.CodeTurnFailed, agent.StagePrompt)
	if e := err.(*agent.Error); e.UncertainEffect {
		t.Error("a refused prompt had no effect")
	}
	if _, err := tb.prompt(lanetest.Echo); err != nil {
		t.Error(err)
	}
}

// TestRetries: the end of a run isn't the end of the turn, on a pi of either
// age.
func TestRetries(t *testing.T) {
	for name, old := range map[string]bool{"1.x": false, "before agent_settled": true} {
		t.Run(name, func(t *testing.T) {
			failed := `{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"500"}}`
			lines := []string{failed, `{"type":"agent_end","messages":[]}`, `{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":5,"errorMessage":"500"}`, `{"type":"agent_start"}`, `{"type":"auto_retry_end","success":true}`}
			lines = append(lines, ended(`"stopReason":"stop"`)...)
			if old {
				lines = lines[:len(lines)-1]
			}
			tb := open(t, &fake{old: old, script: func(string) []string { return lines }}, "")
			out, err := tb.prompt("go")
			if err != nil || out.StopReason != agent.StopEndTurn {
				t.Errorf("outcome %+v, error %v", out, err)
			}
			if n := tb.event(agent.KindNotice).Notice; n.Code != "agent_retry" || !strings.Contains(n.Text, "1 of 3") {
				t.Errorf("notice %+v", n)
			}
		})
	}
}

func TestQuestion(t *testing.T) {
	tb := open(t, &fake{}, "")
	tb.AnswerWith(choose(agent.RejectOnce, "not today"))
	if _, err := tb.prompt(lanetest.Ask); err != nil {
		t.Fatal(err)
	}
	q := tb.Questions()[0]
	if q.ToolCall.Shell != "ls" || q.ToolCall.Kind != "execute" || string(q.ToolCall.RawInput) != `{"command":"ls"}` {
		t.Errorf("question about %+v", q.ToolCall)
	}
	tb.fake.mu.Lock()
	defer tb.fake.mu.Unlock()
	said := ""
	for _, o := range tb.fake.got {
		if o.Str("type") == "extension_ui_response" {
			said = o.Str("value")
		}
	}
	if said != "reject_once\nnot today" {
		t.Errorf("answer %q", said)
	}
}

// TestForeignDialogs: what other extensions ask is answered as cancelled.
func TestForeignDialogs(t *testing.T) {
	lines := []string{
		`{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?","message":"?"}`,
		`{"type":"extension_ui_request","id":"d2","method":"select","title":"Pick","options":["a"]}`,
		`{"type":"extension_ui_request","id":"n1","method":"notify","message":"look","notifyType":"warning"}`,
	}
	tb := open(t, &fake{script: func(string) []string { return append(lines, ended(`"stopReason":"stop"`)...) }}, "")
	if _, err := tb.prompt("go"); err != nil {
		t.Fatal(err)
	}
	if _, err := tb.prompt(lanetest.Echo); err != nil { // the fake has read everything before
		t.Fatal(err)
	}
	tb.fake.mu.Lock()
	defer tb.fake.mu.Unlock()
	var answered []string
	for _, o := range tb.fake.got {
		if o.Str("type") == "extension_ui_response" && o.True("cancelled") {
			answered = append(answered, o.Str("id"))
		}
	}
	if strings.Join(answered, " ") != "d1 d2" || len(tb.Questions()) != 0 {
		t.Errorf("answered %v, %d questions", answered, len(tb.Questions()))
	}
	if n := tb.event(agent.KindNotice).Notice; n.Level != "warning" || n.Text != "look" {
		t.Errorf("notice %+v", n)
	}
}

func TestTools(t *testing.T) {
	lines := []string{
		`{"type":"tool_execution_start","toolCallId":"a","toolName":"edit","args":{"path":"x.go","edits":[{"oldText":"1","newText":"2"}]}}`,
		`{"type":"tool_execution_end","toolCallId":"a","toolName":"edit","result":{"content":[{"type":"text","text":"ok"}]},"isError":false}`,
		`{"type":"tool_execution_start","toolCallId":"b","toolName":"bash","args":{"command":"seq 2"}}`,
		`{"type":"tool_execution_update","toolCallId":"b","toolName":"bash","args":{},"partialResult":{"content":[{"type":"text","text":"1\n"}]}}`,
		`{"type":"tool_execution_update","toolCallId":"b","toolName":"bash","args":{},"partialResult":{"content":[{"type":"text","text":"1\n2\n"}]}}`,
		`{"type":"tool_execution_end","toolCallId":"b","toolName":"bash","result":{"content":[{"type":"text","text":"1\n2\n"}]},"isError":true}`,
	}
	tb := open(t, &fake{script: func(string) []string { return append(lines, ended(`"stopReason":"stop"`)...) }}, "")
	if _, err := tb.prompt("go"); err != nil {
		t.Fatal(err)
	}
	var grown string
	last := map[string]*agent.ToolCall{}
	for _, ev := range tb.Events() {
		if ev.ToolCall == nil {
			continue
		}
		grown += ev.ToolCall.Append
		last[ev.ToolCall.ID] = ev.ToolCall
		if ev.Kind == agent.KindToolCall && ev.ToolCall.ID == "a" {
			if d := ev.ToolCall.Content[0]; d.Type != "diff" || *d.OldText != "1" || d.NewText != "2" || ev.ToolCall.Locations[0].Path != "x.go" {
				t.Errorf("edit %+v", ev.ToolCall)
			}
		}
	}
	if grown != "1\n2\n" {
		t.Errorf("output grew to %q", grown)
	}
	if last["a"].Status != "completed" || last["a"].HasContent || last["b"].Status != "failed" || *last["b"].Asked {
		t.Errorf("calls end as %+v and %+v", last["a"], last["b"])
	}
}

func TestUsage(t *testing.T) {
	tb := open(t, &fake{}, "")
	for range 2 { // each turn counts for itself
		out, err := tb.prompt(lanetest.Echo)
		if err != nil {
			t.Fatal(err)
		}
		r := tb.event(agent.KindUsage).Usage
		if *out.Usage.Input != 3 || *out.Usage.Output != 4 || *out.Usage.Thought != 1 || r.Source != agent.SourceReported || r.Cost.Amount != 0.5 || *r.Context != (agent.ContextUse{Used: 7, Size: 1000}) {
			t.Errorf("usage %+v, report %+v", out.Usage, r)
		}
	}
}

// TestPartialsAreCut: an old pi sends the whole message with every piece.
func TestPartialsAreCut(t *testing.T) {
	tb := open(t, &fake{}, "")
	if _, err := tb.prompt(lanetest.Echo); err != nil {
		t.Fatal(err)
	}
	raw := string(tb.event(agent.KindMessage).Raw)
	if strings.Contains(raw, `"message":`) || strings.Contains(raw, "partial") || !strings.Contains(raw, `"delta"`) {
		t.Errorf("raw %s", raw)
	}
}

func TestImages(t *testing.T) {
	tb := open(t, &fake{}, "")
	if _, err := tb.turn(lane.Turn{Text: lanetest.Echo, Attachments: []lane.Attachment{{Type: "image", MimeType: "image/png", Data: []byte("x")}}}); err != nil {
		t.Fatal(err)
	}
	tb.fake.mu.Lock()
	defer tb.fake.mu.Unlock()
	last := tb.fake.got[len(tb.fake.got)-1]
	for _, o := range tb.fake.got {
		if o.Str("type") == "prompt" {
			last = o
		}
	}
	if got := string(last.Get("images")); got != `[{"type":"image","data":"eA==","mimeType":"image/png"}]` {
		t.Errorf("images %s", got)
	}
}

// TestWithdrawnQuestion: a question of a turn that is over is cancelled.
func TestWithdrawnQuestion(t *testing.T) {
	tb := open(t, &fake{}, "")
	cancel := make(chan struct{})
	tb.AnswerWith(func(ctx context.Context, _ *agent.Question) agent.Answer {
		close(cancel)
		<-ctx.Done()
		return agent.Answer{OptionID: agent.AllowOnce}
	})
	out, err := tb.conn.Prompt(tb.ctx, lane.Turn{Number: 1, Text: lanetest.Ask, Cancel: cancel})
	if err != nil || out.StopReason != agent.StopCancelled {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	if strings.Contains(tb.Text(1), lanetest.Granted) {
		t.Error("a late answer let the tool run")
	}
}
