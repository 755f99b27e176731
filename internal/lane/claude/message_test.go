package claude

import (
	"strings"
	"testing"

	"dragoman/wire/agent"
)

const success = `{"type":"result","subtype":"success","usage":{"input_tokens":1}}`

// heard runs one turn of lines.
func heard(t *testing.T, lines ...string) *table {
	t.Helper()
	tb := open(t, scripted(append(lines, success)...), "", agent.Options{})
	if _, err := tb.prompt("go"); err != nil {
		t.Fatal(err)
	}
	return tb
}

func piece(kind, member, text string) string {
	return `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"` + kind + `","` + member + `":"` + text + `"}}}`
}

func whole(id, blocks string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","content":[` + blocks + `]}}`
}

const started = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}`

func TestNothingIsSaidTwice(t *testing.T) {
	tests := []struct {
		name          string
		lines         []string
		text, thought string
	}{
		{"pieces, then whole", []string{started, piece("text_delta", "text", "ab"), piece("text_delta", "text", "c"), whole("m", `{"type":"text","text":"abc"}`)}, "abc", ""},
		{"only whole", []string{whole("m", `{"type":"text","text":"abc"}`)}, "abc", ""},
		{"pieces lost", []string{started, piece("text_delta", "text", "ab"), whole("m", `{"type":"text","text":"abc"}`)}, "abc", ""},
		{"started, no piece", []string{started, whole("m", `{"type":"text","text":"abc"}`)}, "abc", ""},
		{"another message", []string{started, piece("text_delta", "text", "ab"), whole("other", `{"type":"text","text":"abc"}`)}, "ababc", ""},
		{"two blocks", []string{started, piece("text_delta", "text", "ab"), whole("m", `{"type":"text","text":"ab"}`), piece("text_delta", "text", "ab"), whole("m", `{"type":"text","text":"ab"}`)}, "abab", ""},
		{"thoughts", []string{started, piece("thinking_delta", "thinking", "hm"), whole("m", `{"type":"thinking","thinking":"hm"}`), whole("m", `{"type":"text","text":"ok"}`)}, "ok", "hm"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb := heard(t, tt.lines...)
			var thought strings.Builder
			for _, ev := range tb.Events() {
				if ev.Kind == agent.KindThought {
					thought.WriteString(ev.Text)
				}
			}
			if tb.Text(1) != tt.text || thought.String() != tt.thought {
				t.Errorf("text %q, thought %q", tb.Text(1), thought.String())
			}
		})
	}
}

func TestSubAgent(t *testing.T) {
	tb := heard(t,
		whole("m", `{"type":"tool_use","id":"t1","name":"Task","input":{"description":"look around"}}`),
		`{"type":"stream_event","parent_tool_use_id":"t1","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}}`,
		`{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"s","content":[{"type":"text","text":"found"},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/a","offset":3}}]}}`,
		`{"type":"user","parent_tool_use_id":"t1","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"body"},{"type":"image"}]}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}}`)
	if tb.Text(1) != "" {
		t.Errorf("the sub-agent's words were taken for the answer: %q", tb.Text(1))
	}
	var calls []*agent.ToolCall
	for _, ev := range tb.Events() {
		if ev.ToolCall != nil {
			calls = append(calls, ev.ToolCall)
		}
	}
	if len(calls) != 5 {
		t.Fatalf("%d events of calls", len(calls))
	}
	task, said, read, result := calls[0], calls[1], calls[2], calls[3]
	if task.Kind != "think" || task.Title != "look around" || said.ID != "t1" || said.Append != "found" {
		t.Errorf("task %+v, said %+v", task, said)
	}
	if read.ParentCallID != "t1" || read.Kind != "read" || read.Locations[0] != (agent.Location{Path: "/a", Line: 3}) {
		t.Errorf("read %+v", read)
	}
	if result.ParentCallID != "t1" || result.Status != "completed" || result.Content[0].Text != "body" || result.Content[1].Type != "raw" || *result.Asked {
		t.Errorf("result %+v", result)
	}
}

func TestTools(t *testing.T) {
	tests := []struct{ name, input, kind, title string }{
		{"Bash", `{"command":"ls -l"}`, "execute", "ls -l"},
		{"Edit", `{"file_path":"/a","old_string":"b","new_string":"c"}`, "edit", "Edit /a"},
		{"MultiEdit", `{"file_path":"/a","edits":[{"old_string":"b","new_string":"c"}]}`, "edit", "MultiEdit /a"},
		{"Write", `{"file_path":"/a","content":"c"}`, "edit", "Write /a"},
		{"Grep", `{"pattern":"x"}`, "search", "Grep x"},
		{"Glob", `{"pattern":"*.go"}`, "search", "Glob *.go"},
		{"WebFetch", `{"url":"http://h/"}`, "fetch", "Fetch http://h/"},
		{"ExitPlanMode", `{"plan":"first"}`, "switch_mode", "ExitPlanMode"},
		{"mcp__a__b", `{}`, "other", "mcp__a__b"},
		{"Bash", `7`, "execute", "Bash"},
	}
	for _, tt := range tests {
		tb := heard(t, whole("m", `{"type":"tool_use","id":"t","name":"`+tt.name+`","input":`+tt.input+`}`))
		c := tb.event(agent.KindToolCall).ToolCall
		if c.Kind != tt.kind || c.Title != tt.title {
			t.Errorf("%s: %+v", tt.name, c)
		}
		if wantDiff := tt.kind == "edit"; wantDiff != (len(c.Content) == 1 && c.Content[0].Type == "diff" && c.Content[0].NewText == "c") {
			t.Errorf("%s: content %+v", tt.name, c.Content)
		}
	}
}

func TestEditKeepsItsDiff(t *testing.T) {
	call := whole("m", `{"type":"tool_use","id":"t","name":"Write","input":{"file_path":"/a","content":"c"}}`)
	tb := heard(t, call, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"written"}]}}`)
	if c := tb.event(agent.KindToolCallUpdate).ToolCall; c.HasContent || c.Status != "completed" {
		t.Errorf("%+v", c)
	}
	tb = heard(t, call, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]}}`)
	if c := tb.event(agent.KindToolCallUpdate).ToolCall; !c.HasContent || c.Status != "failed" || c.Content[0].Text != "no" {
		t.Errorf("%+v", c)
	}
}

func TestPlan(t *testing.T) {
	tb := heard(t, whole("m", `{"type":"tool_use","id":"t","name":"TodoWrite","input":{"todos":[{"content":"a","status":"pending","activeForm":"x"}]}}`))
	if got := string(tb.event(agent.KindPlan).Value); got != `[{"content":"a","priority":"medium","status":"pending"}]` {
		t.Error(got)
	}
}

func TestNotices(t *testing.T) {
	tests := []struct{ line, level, code, text string }{
		{`{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":529,"error":"overloaded"}`, "warning", "agent_retry", "attempt 2 of 10: overloaded (529)"},
		{`{"type":"system","subtype":"compact_boundary"}`, "info", "agent_compacted", "summed up"},
		{`{"type":"system","subtype":"status","status":"compacting"}`, "info", "agent_compacting", "sums up"},
		{`{"type":"system","subtype":"informational","level":"warning","content":"careful"}`, "warning", "agent_informational", "careful"},
		{`{"type":"system","subtype":"permission_denied","tool_name":"Bash","message":"no"}`, "warning", "agent_permission_denied", "Bash: no"},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","rateLimitType":"five_hour"}}`, "warning", "agent_rate_limit", "five_hour"},
		{`{"type":"assistant","is_api_error_message":true,"message":{"id":"x","content":[{"type":"text","text":"API Error"}]}}`, "error", "agent_model_error", "API Error"},
	}
	for _, tt := range tests {
		tb := heard(t, tt.line)
		n := tb.event(agent.KindNotice).Notice
		if n.Level != tt.level || n.Code != tt.code || !strings.Contains(n.Text, tt.text) {
			t.Errorf("%+v, want %+v", n, tt)
		}
		if tb.Text(1) != "" {
			t.Errorf("%s was taken for an answer", tt.line)
		}
	}
}

func TestModeSwitch(t *testing.T) {
	tb := heard(t, `{"type":"system","subtype":"status","permissionMode":"plan"}`)
	if got := tb.event(agent.KindMode).Text; got != "plan" || !strings.Contains(string(tb.conn.Info().State), `"currentModeId":"plan"`) {
		t.Errorf("mode %q, state %s", got, tb.conn.Info().State)
	}
}

// TestUnknownIsRaw: what nobody knows yet, and what isn't as declared.
func TestUnknownIsRaw(t *testing.T) {
	for _, line := range []string{
		`{"type":"tomorrow","x":1}`, `{"type":"system","subtype":"tomorrow"}`, `{"no":"type"}`, `[1]`, `"text"`, `no json`,
		`{"type":"stream_event","event":{"type":"tomorrow"}}`, `{"type":"assistant"}`, `{"type":"user"}`, `{"type":7}`,
		`{"type":"assistant","message":{"content":[{"type":"tomorrow"}]}}`, `{"type":"assistant","message":{"content":[{"type":"tool_use"}]}}`,
		`{"type":"control_response","response":{"request_id":"never"}}`, `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"x"}}}`,
		"{\"type\":\"tomorrow\",\"x\":\"\xff\"}", `{"type":"tomorrow","a":1,"a":2}`,
	} {
		tb := heard(t, line)
		raws := 0
		for _, ev := range tb.Events() {
			if ev.Kind == agent.KindRaw && ev.Turn == 1 {
				raws++
			}
		}
		if raws != 1 {
			t.Errorf("%s: %v", line, tb.kinds(1))
		}
	}
}
