package agent

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

var fullAt = time.Date(2026, 1, 2, 3, 4, 5, 678912345, time.FixedZone("x", 3600))

func TestAppendFull(t *testing.T) {
	n := int64(3)
	no, old := false, "a"
	const head = `"turn":2,"seq":9,"time":"2026-01-02T02:04:05.678Z"`
	tests := []struct {
		name string
		ev   Event
		want string
	}{
		{"message", Event{Kind: KindMessage, Text: "a\"\n<\u2028"}, `{"kind":"message-chunk",` + head + `,"text":"a\"\n<` + "\u2028" + `"}`},
		{"replayed thought", Event{Kind: KindThought, Replay: true}, `{"kind":"thought-chunk",` + head + `,"replay":true,"text":""}`},
		{"tool call", Event{Kind: KindToolCall, Raw: []byte(`{"x":1}`), ToolCall: &ToolCall{ID: "c", Title: "T", Kind: "edit", Status: "pending",
			HasContent: true, Locations: []Location{{Path: "/a", Line: 3}, {Path: "/b"}}, RawInput: []byte(`1`), RawOutput: []byte(`[]`), Asked: &no, ParentCallID: "p"}},
			`{"kind":"tool-call",` + head + `,"toolCallId":"c","title":"T","toolKind":"edit","status":"pending","content":[],"locations":[{"path":"/a","line":3},{"path":"/b"}],"rawInput":1,"rawOutput":[],"asked":false,"parentToolCallId":"p","raw":{"x":1}}`},
		{"tool call update", Event{Kind: KindToolCallUpdate, ToolCall: &ToolCall{ID: "c", Append: "+"}}, `{"kind":"tool-call-update",` + head + `,"toolCallId":"c","append":"+","raw":null}`},
		{"content", Event{Kind: KindToolCallUpdate, ToolCall: &ToolCall{ID: "c", Content: []ToolContent{
			{Type: "text", Text: "t"}, {Type: "diff", Path: "/f", NewText: "n"}, {Type: "diff", Path: "/f", OldText: &old, NewText: "n"},
			{Type: "terminal", TerminalID: "t1"}, {Type: "terminal", Run: "r1"}, {Type: "raw", Value: []byte(`{}`)}}}},
			`{"kind":"tool-call-update",` + head + `,"toolCallId":"c","content":[{"type":"text","text":"t"},{"type":"diff","path":"/f","oldText":null,"newText":"n"},{"type":"diff","path":"/f","oldText":"a","newText":"n"},{"type":"raw","value":{"type":"terminal","terminalId":"t1"}},{"type":"terminal","run":"r1"},{"type":"raw","value":{}}],"raw":null}`},
		{"plan", Event{Kind: KindPlan, Value: []byte(`[1]`), Raw: []byte(`{}`)}, `{"kind":"plan",` + head + `,"entries":[1],"raw":{}}`},
		{"usage", Event{Kind: KindUsage, Usage: &UsageReport{Usage: &Usage{Input: &n}, Source: SourceReported, Cost: &Cost{0.25, "USD"}, Context: &ContextUse{5, 100}}},
			`{"kind":"usage",` + head + `,"usage":{"input":3,"cachedInput":null,"cachedWrite":null,"output":null,"thought":null,"total":null},"source":"reported","cost":{"amount":0.25,"currency":"USD"},"context":{"used":5,"size":100},"raw":null}`},
		{"usage of nothing", Event{Kind: KindUsage}, `{"kind":"usage",` + head + `,"usage":null,"source":"unknown","raw":null}`},
		{"commands", Event{Kind: KindCommands, Value: []byte(`[]`)}, `{"kind":"commands",` + head + `,"commands":[],"raw":null}`},
		{"mode", Event{Kind: KindMode, Text: "code"}, `{"kind":"mode",` + head + `,"mode":"code","raw":null}`},
		{"config", Event{Kind: KindConfig, Value: []byte(`[]`)}, `{"kind":"config",` + head + `,"options":[],"raw":null}`},
		{"title", Event{Kind: KindTitle, Text: "t"}, `{"kind":"title",` + head + `,"title":"t","raw":null}`},
		{"notice", Event{Kind: KindNotice, Notice: &Notice{"info", "c", "t", []byte(`{}`)}}, `{"kind":"notice",` + head + `,"level":"info","code":"c","text":"t","data":{}}`},
		{"stalled", Event{Kind: KindStalled, IdleMs: 60000}, `{"kind":"stalled",` + head + `,"idleMs":60000}`},
		{"truncated", Event{Kind: KindTruncated}, `{"kind":"truncated",` + head + `}`},
		{"raw", Event{Kind: KindRaw, Raw: []byte(`[1]`)}, `{"kind":"raw",` + head + `,"raw":[1]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.ev.Turn, tt.ev.Seq, tt.ev.Time = 2, 9, fullAt
			got := string(AppendFull(nil, &tt.ev))
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if !jsontext.Value(got).IsValid() {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestAppendFullKeepsBytesValid(t *testing.T) {
	ev := Event{Kind: KindMessage, Text: "a\xff", Time: fullAt}
	if got := AppendFull(nil, &ev); !jsontext.Value(got).IsValid() {
		t.Errorf("got %q", got)
	}
}

func TestAppendFullAllocatesNothing(t *testing.T) {
	ev := Event{Kind: KindMessage, Text: "forty bytes of text for a message chunk.", Time: fullAt}
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { buf = AppendFull(buf[:0], &ev) }); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
}
