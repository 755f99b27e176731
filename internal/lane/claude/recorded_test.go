package claude

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// recordings are what the real program said, by scenario: turns of lines.
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
		turns := [][]string{nil} // what came before the first prompt
		lines := bufio.NewScanner(bytes.NewReader(b))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			o := acp.AsObject(lines.Bytes())
			if o.Str("dir") == ">" {
				// A prompt beside a running turn was folded into it.
				if len(turns) == 1 || ended(turns[len(turns)-1]) {
					turns = append(turns, nil)
				}
				continue
			}
			turns[len(turns)-1] = append(turns[len(turns)-1], string(o.Get("msg")))
		}
		all[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = turns
	}
	return all
}

func ended(lines []string) bool {
	return strings.Contains(strings.Join(lines, "\n"), `"type": "result"`)
}

// kindOf names a line as people talk about it.
func kindOf(o acp.Object) string {
	return strings.Trim(o.Str("type")+":"+o.Str("subtype")+":"+o.Object("event").Str("type")+":"+o.Object("event").Object("delta").Str("type"), ":")
}

// quiet are the kinds that are handled without an event of their own.
var quiet = map[string]bool{
	"stream_event::message_start": true, "stream_event::message_stop": true, "stream_event::message_delta": true,
	"stream_event::content_block_start": true, "stream_event::content_block_stop": true,
	"stream_event::content_block_delta:signature_delta": true, "stream_event::content_block_delta:input_json_delta": true,
	"system:status": true, "system:init": true, "control_request": true, "control_cancel_request": true, "control_response": true,
	// A whole message whose pieces were told.
	"assistant": true,
}

// TestRecorded walks every recorded line: none is dropped, none is fatal, and
// each turn ends as its result says.
func TestRecorded(t *testing.T) {
	for name, turns := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			next := 0
			f := &fake{script: func(string) []string { next++; return turns[next] }}
			tb := open(t, f, "", agent.Options{})
			tb.AnswerWith(choose(agent.AllowOnce, ""))
			for _, lines := range turns[1:] {
				if !ended(lines) {
					continue // it was killed in this turn, the last one
				}
				out, err := tb.prompt("recorded")
				check(t, tb, lines, out, err)
			}
		})
	}
}

func check(t *testing.T, tb *table, lines []string, out agent.Outcome, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, line := range lines {
		o := acp.AsObject([]byte(line))
		kind := kindOf(o)
		// What follows the result comes when the turn is over already.
		told := quiet[kind] || tb.Wait(ctx, func(s *lanetest.Sink) bool {
			return slices.ContainsFunc(s.Events(), func(ev *agent.Event) bool { return string(ev.Raw) == line })
		})
		if !told {
			t.Errorf("%s was dropped: %.200s", kind, line)
		}
		if o.Str("type") != "result" {
			continue
		}
		if failed := o.True("is_error") && !strings.HasPrefix(o.Str("terminal_reason"), abortedPrefix); failed != (err != nil) {
			t.Errorf("result %.200s: %+v, %v", line, out, err)
		}
		if err == nil && !o.True("is_error") && !strings.HasSuffix(tb.Text(tb.next), o.Str("result")) {
			t.Errorf("text %q, result %q", tb.Text(tb.next), o.Str("result"))
		}
		if id := tb.conn.Info().NativeID; id != o.Str("session_id") {
			t.Errorf("native id %q, want the result's %q", id, o.Str("session_id"))
		}
	}
	if err == nil && tb.event(agent.KindUsage).Turn != tb.next {
		t.Error("a turn without usage")
	}
}
