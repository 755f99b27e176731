package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"context"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// keptRaw are the notifications that we keep raw on purpose.
var keptRaw = []string{
	"thread/started", "thread/status/changed", "remoteControl/status/changed", "turn/diff/updated",
	"thread/goal/cleared",
}

// agentLines are what a recorded agent said.
func agentLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "< "); ok {
			list = append(list, strings.TrimSpace(rest))
		}
	}
	return list
}

// Every kind of message of the recorded sessions is handled by name, or is
// one that we keep raw on purpose.
func TestKindsAreKnown(t *testing.T) {
	files, _ := filepath.Glob("testdata/recorded/app.*.txt")
	if len(files) < 10 {
		t.Fatalf("%d recordings", len(files))
	}
	for _, file := range files {
		for _, line := range agentLines(t, file) {
			method := acp.Object(line).Str("method")
			if method != "" && handlers[method] == nil && growing[method] == "" && approvals[method] == nil && !slices.Contains(keptRaw, method) {
				t.Errorf("%s: %s is unknown", file, method)
			}
		}
	}
}

// turnsOf splits what was said into turns; what stands between two of them
// begins the later one.
func turnsOf(lines []string) [][]string {
	var list [][]string
	var now []string
	thread := ""
	for _, l := range lines {
		o := acp.Object(l)
		method, params := o.Str("method"), o.Object("params")
		if method == "" {
			continue
		}
		if id, _ := threadOf(params); id != "" && thread == "" {
			thread = id
		}
		l = strings.ReplaceAll(l, thread, "THREAD")
		if id := params.Object("turn").Str("id"); id != "" {
			l = strings.ReplaceAll(l, id, "TURN")
		}
		now = append(now, l)
		if method == "turn/completed" {
			list, now = append(list, now), nil
		}
	}
	return list
}

// The recorded turns end as they did, and none of their messages is lost.
func TestRecordings(t *testing.T) {
	files, _ := filepath.Glob("testdata/recorded/app.*.txt")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			turns := turnsOf(agentLines(t, file))
			synctest.Test(t, func(t *testing.T) { replay(t, turns) })
		})
	}
}

func replay(t *testing.T, turns [][]string) {
	n := 0
	f := &fake{script: func(string) []string { n++; return turns[n-1] }}
	c, sink := mustOpen(t, New("1"), lanetest.PipeStarter(f.run), "", nil)
	defer shut(t, c)
	sink.AnswerWith(func(context.Context, *agent.Question) agent.Answer { return agent.Answer{OptionID: decline} })
	for i, lines := range turns {
		number := uint64(i + 1)
		out, err := prompt(t, c, number, "recorded")
		end := acp.Object(lines[len(lines)-1]).Object("params").Object("turn")
		switch status := end.Str("status"); {
		case (status == "failed") != (err != nil):
			t.Errorf("turn %d: status %s, error %v", number, status, err)
		case err == nil && out.StopReason != map[string]string{"completed": agent.StopEndTurn, "interrupted": agent.StopCancelled}[status]:
			t.Errorf("turn %d: status %s, stop reason %s", number, status, out.StopReason)
		}
		if want := recordedText(lines); sink.Text(number) != want {
			t.Errorf("turn %d: text %q, want %q", number, sink.Text(number), want)
		}
	}
	told := ""
	for _, ev := range sink.Events() {
		told += string(ev.Raw) + "\n"
	}
	for _, q := range sink.Questions() {
		if q.ToolCall.Title == "" || q.ToolCall.ID == "" {
			t.Errorf("a question without a call: %+v", q)
		}
		if q.ToolCall.Kind == "edit" && len(q.ToolCall.Content) == 0 {
			t.Errorf("a patch without its diff: %+v", q)
		}
	}
	if !strings.Contains(told, `"turn/completed"`) {
		t.Error("no turn's end is in the events")
	}
}

// recordedText is what the deltas of a turn say.
func recordedText(lines []string) string {
	text := ""
	for _, l := range lines {
		if o := acp.Object(l); o.Str("method") == "item/agentMessage/delta" {
			text += o.Object("params").Str("delta")
		}
	}
	return text
}

// The recorded runs of exec end as they did.
func TestExecRecordings(t *testing.T) {
	files, _ := filepath.Glob("testdata/recorded/exec.*.txt")
	if len(files) < 8 {
		t.Fatalf("%d recordings", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			lines := agentLines(t, file)
			synctest.Test(t, func(t *testing.T) { replayExec(t, lines) })
		})
	}
}

func replayExec(t *testing.T, lines []string) {
	starter := lanetest.PipeStarter(func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
		for _, l := range lines {
			p.Out.Write([]byte(l + "\n"))
		}
		return lane.ExitStatus{}
	})
	c, sink := mustOpen(t, New("1"), starter, `,"mode":"exec"`, nil)
	defer shut(t, c)
	_, err := prompt(t, c, 1, "recorded")
	completed := strings.Contains(lines[len(lines)-1], "turn.completed")
	if completed != (err == nil) {
		t.Errorf("error %v after %s", err, lines[len(lines)-1])
	}
	if n := len(sink.Events()); n < len(lines) {
		t.Errorf("%d events of %d lines", n, len(lines))
	}
	if c.Info().NativeID == "" {
		t.Error("no native id")
	}
}

func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"type":"fileChange","id":"a","changes":[{"path":"f","kind":{"type":"update"},"diff":"@@ -1 +1 @@\n-a\n+b\n"}]}`,
		`{"type":"command_execution","id":"b","command":"/bin/sh -lc 'ls'","aggregated_output":"x","exit_code":1,"status":"failed"}`,
		`{"type":"mcpToolCall","id":"c","result":{"content":[{"type":"text","text":"t"},1]}}`, `{"codexErrorInfo":{"x":{"httpStatusCode":429}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s ndjson.Scanner
		if s.Scan(data) != nil {
			return
		}
		o := acp.AsObject(data)
		body := itemBody{o}
		if call, ok := body.call(); ok {
			body.result(&call, "")
			if call.Status == "" || call.Status == "in_progress" {
				t.Errorf("an ended call is %q", call.Status)
			}
		}
		_ = body.thought()
		if e := failure(o, false); e.Code == "" {
			t.Error("a failure without a code")
		}
	})
}
