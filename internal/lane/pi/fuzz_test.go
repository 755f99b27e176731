package pi

import (
	"testing"

	"dragoman/wire/agent"
)

// FuzzLine feeds lines of the agent's into a turn: whatever they are, the turn
// ends by its last line.
func FuzzLine(f *testing.F) {
	for _, turns := range recordings(f) {
		for _, line := range turns[0][:min(8, len(turns[0]))] {
			f.Add(line)
		}
	}
	for _, line := range []string{
		`{"type":"tool_execution_update"}`, `{"type":"message_update"}`, `{"type":"message_end","message":{"role":"assistant","content":{}}}`,
		`{"type":"extension_ui_request","method":"select","title":"{\"gate\":\"dragoman\"}"}`, `{"type":"response"}`, `[]`, `{`, "\xff",
		`{"type":"a_future_kind","x":[{}]}`, `{"type":"agent_end","messages":[null]}`, `{"type":"auto_retry_end"}`, `{"type":"compaction_start"}`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		tb := open(t, &fake{script: func(string) []string {
			return []string{line, `{"type":"agent_settled","aborted":false}`}
		}}, "")
		tb.AnswerWith(choose(agent.AllowOnce, ""))
		if _, err := tb.prompt("fuzz"); err != nil {
			if _, ok := err.(*agent.Error); !ok {
				t.Errorf("error %v is no agent.Error", err)
			}
		}
	})
}
