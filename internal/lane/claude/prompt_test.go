package claude

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

func TestNativeIDIsTheResults(t *testing.T) {
	tb := open(t, &fake{}, "", agent.Options{})
	if id := tb.conn.Info().NativeID; id != "" {
		t.Errorf("id %q before the first turn", id)
	}
	if _, err := tb.prompt(lanetest.Echo); err != nil {
		t.Fatal(err)
	}
	if id := tb.conn.Info().NativeID; id != session {
		t.Errorf("id %q, want the result's", id)
	}
}

func TestNoLineIsMalformed(t *testing.T) {
	tb := open(t, scripted(`{"type":"result","subtype":"success"}`), "", agent.Options{})
	const nasty = "a\u2028b\u2029c\nd\x00\r\"\\ é \xff 🙂"
	if _, err := tb.prompt(nasty); err != nil {
		t.Fatal(err)
	}
	got := tb.fake.read(typeUser)[0]
	for _, r := range []string{"\u2028", "\u2029", "\n", "\xff"} {
		if strings.Contains(strings.TrimSuffix(string(got), "\n"), r) {
			t.Errorf("the line holds %q: %q", r, got)
		}
	}
	blocks, _ := got.Object("message").List("content")
	if text := acp.AsObject(blocks[0]).Str("text"); text != strings.ToValidUTF8(nasty, "\uFFFD") {
		t.Errorf("text %q", text)
	}
}

func TestAttachments(t *testing.T) {
	tb := open(t, scripted(`{"type":"result","subtype":"success"}`), "", agent.Options{})
	_, err := tb.conn.Prompt(tb.ctx, lane.Turn{Number: 1, Text: "look", Attachments: []lane.Attachment{
		{Type: "image", MimeType: "image/png", Data: []byte{1, 2}},
		{Type: "file", Name: "n", Text: "body"},
		{Type: "file", URI: "file:///x"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	blocks, _ := tb.fake.read(typeUser)[0].Object("message").Get("content"), 0
	for _, part := range []string{`"media_type":"image/png","data":"AQI="`, `"title":"n"`, `"data":"body"`, `"text":"file:///x"`} {
		if !strings.Contains(string(blocks), part) {
			t.Errorf("%s has no %s", blocks, part)
		}
	}
}

func TestTurnsModel(t *testing.T) {
	tb := open(t, &fake{}, "", agent.Options{})
	out, err := tb.conn.Prompt(tb.ctx, lane.Turn{Number: 1, Text: lanetest.Echo, Options: agent.Options{Model: text("opus")}})
	if err != nil || out.StopReason != agent.StopEndTurn {
		t.Fatal(out, err)
	}
	if got := tb.fake.controls(); !slices.Equal(got, []string{controlInitialize, controlSetModel}) {
		t.Errorf("control requests %v", got)
	}
}

func TestOutcomes(t *testing.T) {
	result := func(members string) string { return `{"type":"result","session_id":"s",` + members + `}` }
	spoke := `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hm"}]}}`
	tests := []struct {
		name  string
		lines []string
		stop  string
		code  string
		flags agent.Flags
	}{
		{"success", []string{result(`"subtype":"success","stop_reason":"end_turn"`)}, agent.StopEndTurn, "", agent.Flags{}},
		{"nothing said", []string{result(`"x":1`)}, agent.StopEndTurn, "", agent.Flags{}},
		{"max tokens", []string{result(`"subtype":"success","stop_reason":"max_tokens"`)}, agent.StopMaxTokens, "", agent.Flags{}},
		{"refusal", []string{result(`"subtype":"success","stop_reason":"refusal"`)}, agent.StopRefusal, "", agent.Flags{}},
		{"max turns", []string{result(`"subtype":"error_max_turns","is_error":true`)}, agent.StopMaxTurnRequests, "", agent.Flags{}},
		{"aborted", []string{result(`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"`)}, agent.StopCancelled, "", agent.Flags{}},
		{"success is not success", []string{result(`"subtype":"success","is_error":true,"result":"API Error: 400","api_error_status":400`)}, "", agent.CodeTurnFailed, agent.FlagsRetry},
		{"failed after a word", []string{spoke, result(`"subtype":"success","is_error":true,"result":"API Error: 500"`)}, "", agent.CodeTurnFailed, agent.FlagsBroken},
		{"execution", []string{result(`"subtype":"error_during_execution","is_error":true,"errors":["boom"]`)}, "", agent.CodeTurnFailed, agent.FlagsRetry},
		{"budget", []string{result(`"subtype":"error_max_budget_usd"`)}, "", agent.CodeTurnFailed, agent.FlagsRetry},
		{"529", []string{result(`"subtype":"success","is_error":true,"result":"down","api_error_status":529`)}, "", agent.CodeQuotaExhausted, agent.FlagsRetry},
		{"quota by text", []string{spoke, result(`"subtype":"success","is_error":true,"result":"usage limit reached"`)}, "", agent.CodeQuotaExhausted, agent.FlagsBroken},
		{"login", []string{result(`"subtype":"success","is_error":true,"result":"Not logged in · Please run /login"`)}, "", agent.CodeAuthRequired, agent.FlagsRetry},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb := open(t, scripted(tt.lines...), "", agent.Options{})
			out, err := tb.prompt("go")
			if tt.code == "" {
				if err != nil || out.StopReason != tt.stop {
					t.Errorf("%+v, %v, want %s", out, err, tt.stop)
				}
				return
			}
			e := wantCode(t, err, tt.code, agent.StagePrompt)
			if (agent.Flags{Retryable: e.Retryable, Uncertain: e.UncertainEffect}) != tt.flags {
				t.Errorf("flags of %+v, want %+v", e, tt.flags)
			}
		})
	}
}

// TestCommandText: what a local command prints is only in the result.
func TestCommandText(t *testing.T) {
	tb := open(t, scripted(`{"type":"result","subtype":"success","result":"cost: none"}`), "", agent.Options{})
	if _, err := tb.prompt("/cost"); err != nil || tb.Text(1) != "cost: none" {
		t.Errorf("%q, %v", tb.Text(1), err)
	}
}

func TestUsage(t *testing.T) {
	line := func(total, model, usage, more string) acp.Object {
		return acp.Object(`{"total_cost_usd":` + total + `,"modelUsage":{"m":` + model + `},"usage":` + usage + more + `}`)
	}
	const none = `{"input_tokens":0,"output_tokens":0}`
	var s totals
	first := s.turn(line("0.25", `{"inputTokens":5,"costUSD":0.25}`, `{"input_tokens":5,"cache_read_input_tokens":2,"cache_creation_input_tokens":1,"output_tokens":3,"output_tokens_details":{"thinking_tokens":4}}`, ""))
	if first.source != agent.SourceReported || *first.usage.Input != 5 || *first.usage.CachedWrite != 1 || *first.usage.Thought != 4 || first.cost.Amount != 0.25 {
		t.Errorf("%+v %+v", first, first.usage)
	}
	second := s.turn(line("0.75", `{"inputTokens":25,"outputTokens":2,"costUSD":0.75}`, none, `,"is_error":true`))
	if second.source != agent.SourceDerived || *second.usage.Input != 20 || second.cost.Amount != 0.5 {
		t.Errorf("%+v %+v", second, second.usage)
	}
	third := s.turn(line("0.75", `{"inputTokens":25,"outputTokens":2}`, none, `,"is_error":true`))
	if third.source != agent.SourceUnknown || third.usage != nil {
		t.Errorf("%+v", third)
	}
	resumed := totals{resumed: true}
	if got := resumed.turn(line("3", `{"inputTokens":9}`, `{"input_tokens":1}`, "")); got.cost != nil {
		t.Errorf("the cost of an earlier process was taken for the turn's: %+v", got)
	}
	resumed = totals{resumed: true}
	got := resumed.turn(line("3", `{"inputTokens":9}`, `{"input_tokens":1}`, `,"model_usage_since_last_result":{"m":{"costUSD":0.125}}`))
	if got.cost == nil || math.Abs(got.cost.Amount-0.125) > 1e-9 {
		t.Errorf("%+v", got.cost)
	}
}

func TestContextUse(t *testing.T) {
	tb := open(t, scripted(
		`{"type":"system","subtype":"init","model":"m"}`,
		`{"type":"stream_event","event":{"type":"message_delta","usage":{"input_tokens":10,"cache_read_input_tokens":20,"output_tokens":5}}}`,
		`{"type":"result","subtype":"success","modelUsage":{"m":{"contextWindow":1000}}}`), "", agent.Options{})
	if _, err := tb.prompt("go"); err != nil {
		t.Fatal(err)
	}
	if got := tb.event(agent.KindUsage).Usage.Context; got == nil || *got != (agent.ContextUse{Used: 35, Size: 1000}) {
		t.Errorf("%+v", got)
	}
}

func TestBudget(t *testing.T) {
	tb := open(t, scripted(
		`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"0123456789"}]}}`,
		`{"type":"result","subtype":"success","usage":{"input_tokens":1}}`), `,"maxOutputBytes":4`, agent.Options{})
	out, err := tb.prompt("go")
	if err != nil || !out.Truncated || tb.Text(1) != "0123" {
		t.Errorf("%+v, %v, %q", out, err, tb.Text(1))
	}
	tb.event(agent.KindTruncated)
	tb.event(agent.KindUsage)
}

// TestCloseInterrupts: the end of its input alone would let it finish.
func TestCloseInterrupts(t *testing.T) {
	tb := open(t, &fake{}, "", agent.Options{})
	done := make(chan error, 1)
	go func() {
		_, err := tb.conn.Prompt(context.Background(), lane.Turn{Number: 1, Text: lanetest.Hang})
		done <- err
	}()
	if !tb.Wait(tb.ctx, func(s *lanetest.Sink) bool { return s.Text(1) == lanetest.Working }) {
		t.Fatal("it never worked")
	}
	tb.close()
	if e := wantCode(t, <-done, agent.CodeSessionClosed, agent.StagePrompt); !e.UncertainEffect {
		t.Error("what it did is uncertain")
	}
	if got := tb.fake.controls(); !slices.Contains(got, controlInterrupt) {
		t.Errorf("control requests %v", got)
	}
}

// TestLostInterrupt: one that comes too early or isn't heard is repeated, as
// soon as the turn begins or after a while.
func TestLostInterrupt(t *testing.T) {
	tests := []struct {
		name string
		fake *fake
		took time.Duration
	}{
		{"too early", &fake{late: time.Second}, time.Second},
		{"not heard", &fake{ignore: 1}, interruptAgain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := open(t, tt.fake, "", agent.Options{})
				cancel := make(chan struct{})
				began := time.Now()
				time.AfterFunc(time.Millisecond, func() { close(cancel) })
				out, err := tb.conn.Prompt(tb.ctx, lane.Turn{Number: 1, Text: lanetest.Hang, Cancel: cancel})
				if err != nil || out.StopReason != agent.StopCancelled || out.Suspect != "" {
					t.Errorf("%+v, %v", out, err)
				}
				if took := time.Since(began).Round(10 * time.Millisecond); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				tb.close()
			})
		})
	}
}
