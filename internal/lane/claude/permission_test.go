package claude

import (
	"context"
	"strings"
	"testing"

	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// asking prompts for a question, answers it, and returns what the fake got.
func asking(t *testing.T, f *fake, text string, answer func(ctx context.Context, q *agent.Question) agent.Answer) (*table, acp.Object) {
	t.Helper()
	tb := open(t, f, "", agent.Options{})
	tb.AnswerWith(answer)
	if _, err := tb.prompt(text); err != nil {
		t.Fatal(err)
	}
	tb.close()
	got := f.read(typeControlResponse)
	if len(got) != 1 {
		t.Fatalf("the agent got %d answers", len(got))
	}
	return tb, got[0].Object("response")
}

func choose(option, reason string) func(context.Context, *agent.Question) agent.Answer {
	return func(context.Context, *agent.Question) agent.Answer {
		return agent.Answer{OptionID: option, Reason: reason}
	}
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name, option, reason string
		want                 []string
	}{
		{"once", agent.AllowOnce, "", []string{`"behavior":"allow"`, `"updatedInput":{"command":"ls"}`}},
		{"always", agent.AllowAlways, "", []string{`"updatedPermissions":[{"type":"addRules"}]`}},
		{"reject", agent.RejectOnce, "not here", []string{`"behavior":"deny"`, `"message":"not here"`}},
		{"reject without a reason", agent.RejectOnce, "", []string{`"message":"` + refusedText}},
		{"cancelled", "", "", []string{`"behavior":"deny"`, cancelledText}},
		{"not offered", "maybe", "", []string{`"behavior":"deny"`, cancelledText}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb, got := asking(t, &fake{}, lanetest.Ask, choose(tt.option, tt.reason))
			for _, part := range tt.want {
				if !strings.Contains(string(got), part) {
					t.Errorf("%s has no %s", got, part)
				}
			}
			if tt.option == agent.AllowOnce && strings.Contains(string(got), "updatedPermissions") {
				t.Errorf("once became always: %s", got)
			}
			q := tb.Questions()[0]
			if q.Turn != 1 || q.ToolCall.ID != lanetest.CallID || q.ToolCall.Shell != "ls" || q.ToolCall.Kind != "execute" || !*q.ToolCall.Asked {
				t.Errorf("question %+v", q.ToolCall)
			}
			if last := q.Options[len(q.Options)-1]; last.Kind != agent.RejectOnce || last.Then != agent.ThenContinues {
				t.Errorf("reject %+v", last)
			}
		})
	}
}

const writeRequest = `{"type":"control_request","request_id":"q9","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"/a","content":"x"},"tool_use_id":"w1"}}`

// TestNoAlwaysWithoutSuggestions: there would be nothing to remember.
func TestNoAlwaysWithoutSuggestions(t *testing.T) {
	f := scripted(writeRequest)
	f.script = func(string) []string { f.ended(); return []string{writeRequest} }
	tb, got := asking(t, f, "go", choose(agent.AllowOnce, ""))
	q := tb.Questions()[0]
	if len(q.Options) != 2 || q.Offered(agent.AllowAlways) {
		t.Errorf("options %+v", q.Options)
	}
	if c := q.ToolCall; c.Kind != "edit" || c.Content[0].NewText != "x" || c.Content[0].OldText != nil || c.Locations[0].Path != "/a" {
		t.Errorf("call %+v", c)
	}
	if got.Str("request_id") != "q9" {
		t.Errorf("answer %s", got)
	}
}

// ended makes the fake end its turn as soon as its question was answered.
func (f *fake) ended() {
	answer := make(chan acp.Object, 1)
	f.mu.Lock()
	f.question = answer
	f.mu.Unlock()
	f.work.Go(func() {
		if <-answer != nil {
			f.done()
		}
	})
}

// TestWithdrawn: the agent takes its question back.
func TestWithdrawn(t *testing.T) {
	f := &fake{}
	f.script = func(string) []string {
		f.ended()
		return []string{writeRequest, `{"type":"control_cancel_request","request_id":"q9"}`}
	}
	_, got := asking(t, f, "go", func(ctx context.Context, _ *agent.Question) agent.Answer {
		<-ctx.Done()
		return agent.Answer{OptionID: agent.AllowOnce}
	})
	if got.Object("response").Str("behavior") != "deny" {
		t.Errorf("answer %s", got)
	}
}

// TestUnknownControlRequest gets an error, or the agent would wait.
func TestUnknownControlRequest(t *testing.T) {
	f := scripted(`{"type":"control_request","request_id":"h1","request":{"subtype":"hook_callback"}}`,
		`{"type":"result","subtype":"success"}`)
	tb := open(t, f, "", agent.Options{})
	if _, err := tb.prompt("go"); err != nil {
		t.Fatal(err)
	}
	tb.event(agent.KindRaw)
	tb.close()
	if got := f.read(typeControlResponse); len(got) != 1 || got[0].Object("response").Str("subtype") != "error" {
		t.Errorf("%s", got)
	}
}
