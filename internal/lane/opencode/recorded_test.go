package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// recordings are the events of the real program, by scenario, made to be of
// the fake's session.
func recordings(t testing.TB) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("testdata/recorded/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	all := make(map[string][]string)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for line := range strings.Lines(text) {
			if id := acp.AsObject([]byte(strings.TrimSpace(line))).Object("properties").Str("sessionID"); id != "" {
				text = strings.ReplaceAll(text, id, sessionID)
				break
			}
		}
		all[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = strings.Split(strings.TrimSpace(text), "\n")
	}
	return all
}

// kindOf names an event as people talk about it.
func kindOf(o acp.Object) string {
	kind, props := o.Str("type"), o.Object("properties")
	switch kind {
	case "message.part.updated":
		kind += ":" + props.Object("part").Str("type")
	case "session.status":
		kind += ":" + props.Object("status").Str("type")
	}
	return kind
}

// quiet are the kinds that are handled without an event of their own.
var quiet = map[string]bool{
	"message.updated": true, "session.updated": true, "session.status:busy": true, "session.status:idle": true,
	"session.idle": true, "session.error": true, "permission.asked": true,
	"message.part.updated:step-start": true, "message.part.updated:step-finish": true,
	// A whole text whose pieces were told, and the prompt itself.
	"message.part.updated:text": true, "message.part.updated:reasoning": true,
}

// failures are the recordings whose turn fails, by its code.
var failures = map[string]string{"err400": agent.CodeTurnFailed, "err429": agent.CodeQuotaExhausted}

// TestRecorded walks every recorded event: none is dropped, none is fatal, and
// the first turn ends as its recording says.
func TestRecorded(t *testing.T) {
	for name, events := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			tb := open(t, f, "")
			raws := make(map[string]bool)
			prompted := make(chan error, 1)
			f.script = func(string) []string { return nil }
			var out agent.Outcome
			go func() {
				var err error
				out, err = tb.conn.Prompt(tb.ctx, recordedTurn)
				prompted <- err
			}()
			tb.until(func() bool { return !tb.conn.session.Current().Outside() })
			for _, e := range events {
				tb.conn.session.Handle(func() { tb.conn.handle(acp.Object(e)) })
			}
			err := <-prompted
			for _, ev := range tb.Events() {
				raws[string(ev.Raw)] = true
			}
			for _, e := range events {
				if kind := kindOf(acp.Object(e)); !raws[e] && !quiet[kind] && !housekeeping[kind] {
					t.Errorf("%s was dropped: %.200s", kind, e)
				}
			}
			if want := failures[name]; want != "" {
				wantCode(t, err, want, agent.StagePrompt)
				return
			}
			if err != nil || out.StopReason != agent.StopEndTurn && out.StopReason != agent.StopCancelled {
				t.Errorf("outcome %+v, error %v", out, err)
			}
			if !strings.HasPrefix(name, "cancel") && out.Usage.Zero() {
				t.Error("no usage")
			}
		})
	}
}

// TestRecordedTools: what was asked and done is told in full.
func TestRecordedTools(t *testing.T) {
	f := newFake()
	events := recordings(t)["tool-allow"]
	f.script = func(string) []string { return events }
	tb := open(t, f, "")
	if _, err := tb.prompt("recorded"); err != nil {
		t.Fatal(err)
	}
	q := tb.Questions()[0]
	if !strings.HasPrefix(q.ToolCall.Shell, "echo hello-from-tool") || q.ToolCall.Kind != "execute" || len(q.Options) != 3 {
		t.Errorf("question %+v", q)
	}
	var last *agent.ToolCall
	for _, ev := range tb.Events() {
		if ev.Kind == agent.KindToolCallUpdate {
			last = ev.ToolCall
		}
	}
	if last.Status != "completed" || !*last.Asked || last.Content[0].Text != "hello-from-tool\n" {
		t.Errorf("the call ends as %+v", last)
	}
	if got := tb.Text(1); got != "I will use a tool. Tool said: hello-from-tool\nDone." {
		t.Errorf("text %q", got)
	}
}
