package sidecar

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/agent"
)

func TestAppendEvent(t *testing.T) {
	n := int64(3)
	acp := func(kind agent.EventKind, raw string) agent.Event {
		return agent.Event{Kind: kind, ACP: true, Raw: []byte(raw), ToolCall: &agent.ToolCall{}}
	}
	titled := acp(agent.KindToolCall, `{"sessionUpdate":"tool_call","toolCallId":"c","title":"T", "x":[]}`)
	titled.ToolCall.Title = "T"
	blank := acp(agent.KindToolCall, `{"toolCallId":"c","name":"grep","title":"  ","sessionUpdate":"tool_call"}`)
	blank.ToolCall.Title = "  "
	tests := []struct {
		name string
		ev   agent.Event
		want string // "" for no event
	}{
		{"message", agent.Event{Kind: agent.KindMessage, Text: "a\"é"}, `{"kind":"message-chunk","text":"a\"é"}`},
		{"empty message", agent.Event{Kind: agent.KindMessage}, ""},
		{"tool call", titled, `{"kind":"tool-call","summary":"T","raw":{"toolCallId":"c","title":"T", "x":[]}}`},
		{"name of a blank title", blank, `{"kind":"tool-call","summary":"grep","raw":{"toolCallId":"c","name":"grep","title":"  "}}`},
		{"nameless", acp(agent.KindToolCall, `{"sessionUpdate":"tool_call"}`), `{"kind":"tool-call","summary":"Agent tool call","raw":{}}`},
		{"update", acp(agent.KindToolCallUpdate, `{"sessionUpdate":"tool_call_update","title":"T"}`), `{"kind":"tool-call","summary":"Agent tool call update","raw":{"title":"T"}}`},
		{"plan", acp(agent.KindPlan, `{"sessionUpdate":"plan","entries":[1]}`), `{"kind":"plan","raw":{"entries":[1]}}`},
		{"acp thought", acp(agent.KindThought, `{"sessionUpdate":"agent_thought_chunk" }`), `{"kind":"raw","raw":{"sessionUpdate":"agent_thought_chunk" }}`},
		{"acp usage", acp(agent.KindUsage, `{"sessionUpdate":"usage_update","used":5}`), `{"kind":"raw","raw":{"sessionUpdate":"usage_update","used":5}}`},
		{"raw", agent.Event{Kind: agent.KindRaw, Raw: []byte(`[1]`)}, `{"kind":"raw","raw":[1]}`},
		{"usage", agent.Event{Kind: agent.KindUsage, Usage: &agent.UsageReport{Usage: &agent.Usage{Input: &n}}},
			`{"kind":"usage","usage":{"input":3,"cachedInput":null,"cachedWrite":null,"output":null,"thought":null,"total":null},"raw":null}`},
		{"truncated", agent.Event{Kind: agent.KindTruncated}, `{"kind":"truncated"}`},
		{"notice", agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{}}, ""},
		{"stalled", agent.Event{Kind: agent.KindStalled}, ""},
		{"thought", agent.Event{Kind: agent.KindThought, Text: "h"}, `{"kind":"raw","raw":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"h"}}}`},
		{"own tool call", agent.Event{Kind: agent.KindToolCall, Raw: []byte(`{"native":1}`), ToolCall: &agent.ToolCall{ID: "c", Title: "T", Kind: "edit", Status: "pending",
			Content: []agent.ToolContent{{Type: "text", Text: "t"}, {Type: "diff", Path: "/f", NewText: "n"}, {Type: "terminal", TerminalID: "t1"}, {Type: "raw", Value: []byte(`{}`)}},
			Append:  "more", Locations: []agent.Location{{Path: "/f", Line: 2}}, RawInput: []byte(`1`), RawOutput: []byte(`2`)}},
			`{"kind":"tool-call","summary":"T","raw":{"toolCallId":"c","title":"T","kind":"edit","status":"pending","content":[{"type":"content","content":{"type":"text","text":"t"}},{"type":"diff","path":"/f","oldText":null,"newText":"n"},{"type":"terminal","terminalId":"t1"},{},{"type":"content","content":{"type":"text","text":"more"}}],"locations":[{"path":"/f","line":2}],"rawInput":1,"rawOutput":2}}`},
		{"own plan", agent.Event{Kind: agent.KindPlan, Value: []byte(`[]`)}, `{"kind":"plan","raw":{"entries":[]}}`},
		{"own commands", agent.Event{Kind: agent.KindCommands, Value: []byte(`[]`)}, `{"kind":"raw","raw":{"sessionUpdate":"available_commands_update","availableCommands":[]}}`},
		{"own mode", agent.Event{Kind: agent.KindMode, Text: "m"}, `{"kind":"raw","raw":{"sessionUpdate":"current_mode_update","currentModeId":"m"}}`},
		{"own config", agent.Event{Kind: agent.KindConfig, Value: []byte(`[]`)}, `{"kind":"raw","raw":{"sessionUpdate":"config_option_update","configOptions":[]}}`},
		{"own title", agent.Event{Kind: agent.KindTitle, Text: "t"}, `{"kind":"raw","raw":{"sessionUpdate":"session_info_update","title":"t"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, said := AppendEvent(nil, &tt.ev)
			if said != (tt.want != "") || said && string(got) != tt.want {
				t.Errorf("got %s, %v\nwant %s", got, said, tt.want)
			}
			if said && !jsontext.Value(got).IsValid() {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestParseOpen(t *testing.T) {
	params := []byte(`{"spec":{"id":"x"},"cwd":"/w","env":{"A":"1","B":2,"C":null,"D":"\u00e9"},"resume":"r","options":{"model":"m","mode":null,"effort":5},"events":"full"}`)
	o := ParseOpen(params)
	clear(params) // the reader's buffer is used again
	if string(o.Spec) != `{"id":"x"}` || o.Cwd != "/w" || len(o.Env) != 2 || o.Env[0] != "A=1" || o.Env[1] != "D=é" || o.Resume != "r" || !o.Full {
		t.Errorf("got %+v", o)
	}
	if *o.Options.Model != "m" || o.Options.Mode != nil || o.Options.Effort != nil || o.Options.Permission != nil {
		t.Errorf("options %+v", o.Options)
	}
	for _, wrong := range []string{`[]`, `null`, ``, `5`, `{"spec":null,"cwd":1,"env":"x","resume":[],"options":[],"events":1}`} {
		if o := ParseOpen([]byte(wrong)); o.Spec != nil || o.Cwd != "" || o.Env != nil || o.Resume != "" || o.Full {
			t.Errorf("%s: got %+v", wrong, o)
		}
	}
}

func TestSessionID(t *testing.T) {
	for params, want := range map[string]string{`{"sessionId":"a\u0062"}`: "ab", `{"sessionId":5}`: "", `{}`: "", `null`: "", `[]`: ""} {
		if got, ok := SessionID([]byte(params)); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v", params, got, ok)
		}
	}
}

func FuzzParams(f *testing.F) {
	f.Add([]byte(`{"spec":{},"env":{"A":"\ud83d\ude00"},"options":{"model":""}}`))
	f.Add([]byte(`{"sessionId":"x","text":"a","selected":"b","cancelled":true}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		if !jsontext.Value(params).IsValid() {
			return // the peer has checked it
		}
		if o := ParseOpen(params); o.Spec != nil && !jsontext.Value(o.Spec).IsValid() {
			t.Errorf("spec %q of %q", o.Spec, params)
		}
		ParsePrompt(params)
		ParseAnswer(params)
	})
}
