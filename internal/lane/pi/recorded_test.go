package pi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// recordings are what the real program said, by scenario: turns of lines. What
// comes after the last agent_settled belongs to no whole turn.
func recordings(t testing.TB) map[string][][]string {
	t.Helper()
	files, err := filepath.Glob("testdata/recorded/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	all := make(map[string][][]string)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		turns := [][]string{nil}
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSuffix(line, "\n")
			turns[len(turns)-1] = append(turns[len(turns)-1], line)
			if acp.AsObject([]byte(line)).Str("type") == "agent_settled" {
				turns = append(turns, nil)
			}
		}
		all[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = turns[:len(turns)-1]
	}
	return all
}

// kindOf names a line as people talk about it.
func kindOf(o acp.Object) string {
	kind := o.Str("type")
	switch kind {
	case "message_update":
		kind += ":" + o.Object("assistantMessageEvent").Str("type")
	case "message_start", "message_end":
		kind += ":" + o.Object("message").Str("role")
	}
	return kind
}

// quiet are the kinds that are handled without an event of their own.
var quiet = map[string]bool{
	"agent_start": true, "agent_end": true, "agent_settled": true, "turn_start": true, "turn_end": true,
	"message_start:system": true, "message_start:user": true, "message_start:assistant": true, "message_start:toolResult": true,
	"message_end:system": true, "message_end:user": true, "message_end:assistant": true, "message_end:toolResult": true,
	"message_update:text_start": true, "message_update:text_end": true,
	"message_update:thinking_start": true, "message_update:thinking_end": true,
	"message_update:toolcall_start": true, "message_update:toolcall_delta": true, "message_update:toolcall_end": true,
}

// TestRecorded walks every recorded line: none is dropped, none is fatal, and
// each turn ends as its last message says.
func TestRecorded(t *testing.T) {
	seen := 0
	for name, turns := range recordings(t) {
		seen += len(turns)
		t.Run(name, func(t *testing.T) {
			next := -1
			tb := open(t, &fake{script: func(string) []string { next++; return turns[next] }}, "")
			for _, lines := range turns {
				out, err := tb.prompt("recorded")
				check(t, tb, lines, out, err)
			}
		})
	}
	if seen < 40 {
		t.Errorf("only %d turns were walked", seen)
	}
}

func check(t *testing.T, tb *table, lines []string, out agent.Outcome, err error) {
	t.Helper()
	raws := make(map[string]bool)
	for _, ev := range tb.Events() {
		raws[string(ev.Raw)] = true
	}
	var text strings.Builder
	spoke, stop := false, ""
	for _, line := range lines {
		o := acp.AsObject([]byte(line))
		kind := kindOf(o)
		switch kind {
		case "message_update:text_delta":
			spoke = true
			text.WriteString(o.Object("assistantMessageEvent").Str("delta"))
		case "message_end:assistant":
			if !spoke {
				text.WriteString(blocks(o.Object("message"), "text", "text"))
			}
			spoke, stop = false, o.Object("message").Str("stopReason")
		case "message_update:thinking_delta", "tool_execution_update": // an empty output says nothing
			continue
		}
		if !raws[line] && !quiet[kind] {
			t.Errorf("%s was dropped: %.200s", kind, line)
		}
	}
	if got := tb.Text(tb.next); got != text.String() {
		t.Errorf("text %q, want %q", got, text.String())
	}
	switch {
	case stop == "error" && err == nil:
		t.Errorf("an error passed for %+v", out)
	case stop == "aborted" && out.StopReason != agent.StopCancelled:
		t.Errorf("outcome %+v, error %v of an aborted run", out, err)
	case stop == "stop" && (err != nil || out.StopReason != agent.StopEndTurn):
		t.Errorf("outcome %+v, error %v", out, err)
	}
	if tb.event(agent.KindUsage).Turn != tb.next {
		t.Error("a turn without usage")
	}
}
