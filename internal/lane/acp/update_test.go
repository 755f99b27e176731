package acp

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"

	"dragoman/wire/agent"
)

// updateKinds says, for every kind of update in the protocol's schema, what
// an example becomes in the full form, beside kind, turn, seq and time.
var updateKinds = map[string]struct{ update, want string }{
	"user_message_chunk":  {`"content":{"type":"text","text":"t"}`, `raw`},
	"agent_message_chunk": {`"content":{"type":"text","text":"é\n"}`, `message-chunk {"text":"é\n"}`},
	"agent_thought_chunk": {`"content":{"type":"text","text":"t"}`, `thought-chunk {"text":"t"}`},
	"tool_call": {`"toolCallId":"c","title":" ","name":"grep","kind":"search","status":"pending","locations":[{"path":"/a","line":3}],"rawInput":{"command":["ls","-l"]}`,
		`tool-call {"toolCallId":"c","title":"grep","toolKind":"search","status":"pending","locations":[{"path":"/a","line":3}],"rawInput":{"command":["ls","-l"]},"raw":RAW}`},
	"tool_call_update": {`"toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"t"}},{"type":"diff","path":"/a","newText":"n"}],"rawOutput":1.0`,
		`tool-call-update {"toolCallId":"c","status":"completed","content":[{"type":"text","text":"t"},{"type":"diff","path":"/a","oldText":null,"newText":"n"}],"rawOutput":1.0,"asked":false,"raw":RAW}`},
	"plan":                      {`"entries":[{"content":"c"}]`, `plan {"entries":[{"content":"c"}],"raw":RAW}`},
	"available_commands_update": {`"availableCommands":[{"name":"n"}]`, `commands {"commands":[{"name":"n"}],"raw":RAW}`},
	"current_mode_update":       {`"currentModeId":"m"`, `mode {"mode":"m","raw":RAW}`},
	"config_option_update":      {`"configOptions":[{"id":"x"}]`, `config {"options":[{"id":"x"}],"raw":RAW}`},
	"session_info_update":       {`"title":"t"`, `title {"title":"t","raw":RAW}`},
	"usage_update": {`"used":5,"size":100,"cost":{"amount":0.25,"currency":"USD"}`,
		`usage {"usage":null,"source":"reported","cost":{"amount":0.25,"currency":"USD"},"context":{"used":5,"size":100},"raw":RAW}`},
	"notice":                   {`"severity":"info","title":"t"`, `raw`},
	"compaction_update":        {`"compactionId":"c","status":"failed"`, `raw`},
	"compaction_summary_chunk": {`"compactionId":"c","content":{"type":"text","text":"t"}`, `raw`},
}

// schemaKinds are the kinds of update that the schema has.
func schemaKinds(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../wire/acp/testdata/v1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs struct {
			SessionUpdate struct {
				OneOf []struct {
					Properties struct {
						Kind struct {
							Const string `json:"const"`
						} `json:"sessionUpdate"`
					} `json:"properties"`
				} `json:"oneOf"`
			} `json:"SessionUpdate"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, variant := range doc.Defs.SessionUpdate.OneOf {
		kinds = append(kinds, variant.Properties.Kind.Const)
	}
	return kinds
}

// Every kind of update becomes what lanes.md §1 says, and what isn't known
// stays raw, by its bytes.
func TestUpdates(t *testing.T) {
	kinds := schemaKinds(t)
	if len(kinds) < 10 {
		t.Fatalf("the schema has only the updates %v", kinds)
	}
	for _, kind := range append(kinds, "brand_new") {
		tt, ok := updateKinds[kind]
		if !ok && kind != "brand_new" {
			t.Errorf("the schema has the update %s, this lane has no test for it", kind)
		}
		if !ok {
			tt.update, tt.want = `"x": 1.0`, "raw"
		}
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				raw := `{"sessionUpdate":"` + kind + `",` + tt.update + `}`
				s := open(t, how{handle: says(`{"stopReason":"end_turn"}`, raw)})
				defer s.close()
				if _, err := s.prompt(1, "x"); err != nil {
					t.Fatal(err)
				}
				events := s.Events()
				if len(events) != 1 || events[0].Turn != 1 {
					t.Fatalf("events %+v, want one", events)
				}
				want := strings.Replace(tt.want, "RAW", raw, 1)
				if tt.want == "raw" {
					want = `raw {"raw":` + raw + `}`
				}
				got := string(events[0].Kind) + " {" + strings.TrimPrefix(string(agent.AppendMembers(nil, events[0])), ",") + "}"
				if got != want {
					t.Errorf("\n got %s\nwant %s", got, want)
				}
				// The plain form needs the update of everything but messages.
				if kind != "agent_message_chunk" && (string(events[0].Raw) != raw || !events[0].ACP) {
					t.Errorf("raw %s, ACP %v", events[0].Raw, events[0].ACP)
				}
			})
		})
	}
}

// Members that are missing or of the wrong type don't lose an update.
func TestOddUpdates(t *testing.T) {
	tests := []struct{ name, update, want string }{
		{"a block that isn't text", `{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"AAAA","mimeType":"image/png"}}`,
			`raw {"type":"image","data":"AAAA","mimeType":"image/png"}`},
		{"a chunk without content", `{"sessionUpdate":"agent_message_chunk"}`, `raw {"sessionUpdate":"agent_message_chunk"}`},
		{"a thought that isn't text", `{"sessionUpdate":"agent_thought_chunk","content":{"type":"image"}}`, `raw {"sessionUpdate":"agent_thought_chunk","content":{"type":"image"}}`},
		{"a mode that is a number", `{"sessionUpdate":"current_mode_update","currentModeId":5}`, `raw {"sessionUpdate":"current_mode_update","currentModeId":5}`},
		{"info without a title", `{"sessionUpdate":"session_info_update","updatedAt":"x"}`, `raw {"sessionUpdate":"session_info_update","updatedAt":"x"}`},
		{"usage without numbers", `{"sessionUpdate":"usage_update","used":"x"}`, `raw {"sessionUpdate":"usage_update","used":"x"}`},
		{"no kind", `{"x":1}`, `raw {"x":1}`},
		{"a kind that is a number", `{"sessionUpdate":7}`, `raw {"sessionUpdate":7}`},
		{"an escaped kind", `{"session\u0055pdate":"plan","entries":[]}`, `plan {"session\u0055pdate":"plan","entries":[]}`},
		{"null for absent", `{"sessionUpdate":"tool_call_update","toolCallId":"c","content":null,"title":null}`,
			`tool-call-update {"sessionUpdate":"tool_call_update","toolCallId":"c","content":null,"title":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, how{handle: says(`{"stopReason":"end_turn"}`, tt.update)})
				defer s.close()
				if _, err := s.prompt(1, "x"); err != nil {
					t.Fatal(err)
				}
				events := s.Events()
				if len(events) != 1 {
					t.Fatalf("%d events, want 1", len(events))
				}
				if got := string(events[0].Kind) + " " + string(events[0].Raw); got != tt.want {
					t.Errorf("\n got %s\nwant %s", got, tt.want)
				}
			})
		})
	}
}

// The cost of a turn is the difference of the running totals.
func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		totals := []string{"0.5", "0.75", "2.75", "0.25"}
		s := open(t, how{handle: on("session/prompt", func(f *fake, m rpcMessage) {
			f.update(`{"sessionUpdate":"usage_update","cost":{"amount":` + totals[0] + `,"currency":"USD"}}`)
			totals = totals[1:]
			f.result(m.ID, `{"stopReason":"end_turn"}`)
		})})
		defer s.close()
		want := []float64{0.5, 0.25, 2, 0.25} // the last total began anew
		for i := range want {
			s.said(uint64(i+1), "x")
			if got := s.Events()[i].Usage.Cost.Amount; got != want[i] {
				t.Errorf("turn %d costs %v, want %v", i+1, got, want[i])
			}
		}
	})
}

// A question holds the call joined with what was said of it, and what a
// reject does on that agent.
func TestQuestionIsJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{handle: func(f *fake, m rpcMessage) bool {
			switch m.Method {
			case "initialize":
				f.result(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"OpenCode"}}`)
			case "session/prompt":
				f.update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"bash","kind":"execute","rawInput":{}}`)
				f.update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"List files","rawInput":{"command":"ls"},"locations":[{"path":"/a"}]}`)
				f.request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c","title":null,"content":[{"type":"terminal","terminalId":"t"}]},`+
					`"options":[{"optionId":"a","name":"A","kind":"allow_once"},{"optionId":"r","name":"R","kind":"reject_once"},{"name":"no id"}]}`,
					func(rpcMessage) {
						f.update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`)
						f.result(m.ID, `{"stopReason":"end_turn"}`)
					})
			default:
				return false
			}
			return true
		}})
		defer s.close()
		s.AnswerWith(func(context.Context, *agent.Question) agent.Answer { return agent.Answer{OptionID: "a"} })
		if _, err := s.prompt(1, "x"); err != nil {
			t.Fatal(err)
		}
		q := s.Questions()[0]
		c := q.ToolCall
		if q.Turn != 1 || c.Title != "List files" || c.Kind != "execute" || c.Shell != "ls" || len(c.Locations) != 1 || len(c.Content) != 1 || !*c.Asked {
			t.Errorf("question %+v", c)
		}
		want := []agent.Option{{ID: "a", Name: "A", Kind: "allow_once"}, {ID: "r", Name: "R", Kind: "reject_once", Then: agent.ThenEndsTurn}}
		if !slices.Equal(q.Options, want) {
			t.Errorf("options %+v, want %+v", q.Options, want)
		}
		if ev := s.Events()[2]; ev.ToolCall.Asked == nil || !*ev.ToolCall.Asked {
			t.Errorf("the call that was asked for ends with asked %v", ev.ToolCall.Asked)
		}
	})
}
