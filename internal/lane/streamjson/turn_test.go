package streamjson

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// A table is one session under test.
type table struct {
	*lanetest.Sink
	t       *testing.T
	starter *lanetest.Starter
	conn    lane.Conn
	ctx     context.Context
}

// printing is a program that prints lines and exits with a code.
func printing(code int, lines ...string) lanetest.Program {
	return func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
		_, _ = io.Copy(io.Discard, p.In)
		for _, l := range lines {
			fmt.Fprintln(p.Out, l)
		}
		fmt.Fprintln(p.Err, "last words")
		return lane.ExitStatus{Code: code}
	}
}

func open(t *testing.T, dialect string, o agent.Options, resume string, program lanetest.Program) *table {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	tb := &table{Sink: lanetest.NewSink(), t: t, starter: lanetest.PipeStarter(program), ctx: ctx}
	plan, err := Driver{}.Parse(spec(t, "agent", dialect))
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Check(o, resume); err != nil {
		t.Fatal(err)
	}
	tb.conn, err = plan.Open(ctx, lane.Launch{
		Dir: t.TempDir(), Options: o, Resume: resume, Starter: tb.starter, Sink: tb.Sink, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tb.conn.Close(ctx); err != nil || tb.starter.Running() > 0 || tb.Overlaps() > 0 {
			t.Errorf("Close: %v, %d processes, %d overlaps", err, tb.starter.Running(), tb.Overlaps())
		}
	})
	return tb
}

func (tb *table) prompt(text string) (agent.Outcome, error) {
	return tb.conn.Prompt(tb.ctx, lane.Turn{Number: 1, Text: text})
}

func (tb *table) event(kind agent.EventKind) *agent.Event {
	tb.t.Helper()
	for _, ev := range slices.Backward(tb.Events()) {
		if ev.Kind == kind {
			return ev
		}
	}
	tb.t.Fatalf("no event of kind %s", kind)
	return nil
}

func text(s string) *string { return &s }

func TestSpecAndOptions(t *testing.T) {
	for _, members := range []string{``, `,"dialect":"claude"`, `,"dialect":"qwen","more":1`} {
		s, err := agent.ParseSpec([]byte(`{"id":"x","lane":"stream-json","command":{"program":"x"}` + members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Driver{}).Parse(s); err == nil {
			t.Errorf("%q was taken", members)
		}
	}
	plan, err := Driver{}.Parse(spec(t, "x", "gemini"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		o            agent.Options
		resume, code string
	}{
		{agent.Options{Effort: text("high")}, "", agent.CodeEffortUnsupported},
		{agent.Options{Mode: text("auto-edit")}, "", agent.CodeModeUnsupported},
		{agent.Options{Permission: text("x")}, "", agent.CodePermissionUnsupported},
		{agent.Options{Permission: text("yolo"), Mode: text("plan")}, "", agent.CodePermissionUnsupported},
		{agent.Options{Model: text("--help")}, "", agent.CodeModelUnsupported},
		{agent.Options{}, "-x", agent.CodeResumeUnsupported},
	}
	for _, tt := range tests {
		var e *agent.Error
		if err := plan.Check(tt.o, tt.resume); !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("%v, want %s", err, tt.code)
		}
	}
}

func TestArgsAndSession(t *testing.T) {
	for dialect, flags := range map[string][]string{"gemini": nil, "qwen": {"--include-partial-messages"}} {
		tb := open(t, dialect, agent.Options{Mode: text("plan"), Model: text("big")}, "old", fake(dialect))
		if id := tb.conn.Info().NativeID; id != "old" {
			t.Errorf("id %q", id)
		}
		if _, err := tb.prompt("x"); err != nil {
			t.Fatal(err)
		}
		if _, err := tb.conn.Prompt(tb.ctx, lane.Turn{Number: 2, Text: "y", Options: agent.Options{Model: text("small")}}); err != nil {
			t.Fatal(err)
		}
		base := append([]string{"own", "--output-format", "stream-json"}, flags...)
		want := append(slices.Clone(base), "--approval-mode", "plan", "--model", "big", "--resume", "old")
		if got := tb.starter.Started()[0].Command.Args; !slices.Equal(got, want) {
			t.Errorf("args %q", got)
		}
		want = append(slices.Clone(base), "--approval-mode", "plan", "--model", "small", "--resume", dialect[:1]+"1")
		if got := tb.starter.Started()[1].Command.Args; !slices.Equal(got, want) {
			t.Errorf("args %q", got)
		}
		if out := tb.event(agent.KindUsage).Usage; out.Source != agent.SourceReported || *out.Usage.Total != 7 {
			t.Errorf("usage %+v", out)
		}
	}
}

func TestOutcomes(t *testing.T) {
	const (
		ok     = `{"type":"result","status":"success"}`
		failed = `{"type":"result","status":"error","error":{"type":"x","message":"boom"},"stats":{"input_tokens":0}}`
		said   = `{"type":"message","role":"assistant","content":"hm","delta":true}`
	)
	tests := []struct {
		name   string
		code   int
		lines  []string
		stop   string
		error  string
		detail string
		flags  agent.Flags
	}{
		{"success", 0, []string{said, ok}, agent.StopEndTurn, "", "", agent.Flags{}},
		{"no result", 0, []string{said}, "", agent.CodeProtocolFailed, "code 0: last words", agent.FlagsBroken},
		{"failed", 144, []string{failed}, "", agent.CodeTurnFailed, "boom; the agent exited with code 144 (model error 400)", agent.FlagsRetry},
		{"failed after a word", 1, []string{said, failed}, "", agent.CodeTurnFailed, "boom", agent.FlagsBroken},
		{"failed, exit 0", 0, []string{failed}, "", agent.CodeTurnFailed, "boom", agent.FlagsRetry},
		{"quota", 1, []string{strings.Replace(failed, "boom", "Quota exceeded", 1)}, "", agent.CodeQuotaExhausted, "", agent.FlagsRetry},
		{"429", 173, nil, "", agent.CodeQuotaExhausted, "429", agent.FlagsRetry},
		{"sign in", 41, nil, "", agent.CodeAuthRequired, "not signed in", agent.FlagsRetry},
		{"turn limit", 53, []string{said}, agent.StopMaxTurnRequests, "", "", agent.Flags{}},
		{"exit after success", 3, []string{said, ok}, agent.StopEndTurn, "", "", agent.Flags{}},
		{"unknown exit", 3, nil, "", agent.CodeProtocolFailed, "code 3: last words", agent.FlagsBroken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb := open(t, "gemini", agent.Options{}, "", printing(tt.code, tt.lines...))
			out, err := tb.prompt("go")
			if tt.error == "" {
				if err != nil || out.StopReason != tt.stop || *out.ExitCode != tt.code {
					t.Errorf("%+v, %v", out, err)
				}
				return
			}
			var e *agent.Error
			if !errors.As(err, &e) || e.Code != tt.error || !strings.Contains(e.Detail, tt.detail) {
				t.Fatalf("%v, want %s with %q", err, tt.error, tt.detail)
			}
			if got := (agent.Flags{Retryable: e.Retryable, Uncertain: e.UncertainEffect}); got != tt.flags {
				t.Errorf("flags %+v", got)
			}
		})
	}
}

func TestTools(t *testing.T) {
	tb := open(t, "gemini", agent.Options{}, "", printing(0,
		`{"type":"tool_use","tool_id":"a","tool_name":"run_shell_command","parameters":{"command":"ls"}}`,
		`{"type":"tool_result","tool_id":"a","status":"error","error":{"message":"no"}}`,
		`{"type":"tool_use","tool_id":"b","tool_name":"replace","parameters":{"file_path":"/f","old_string":"x","new_string":"y"}}`,
		`{"type":"tool_result","tool_id":"b","status":"success","output":"done"}`,
		`{"type":"error","severity":"warning","message":"careful"}`,
		`{"type":"tool_use"}`, `{"type":"tomorrow"}`, `no json`, `{"type":"message","role":"user","content":"again"}`,
		`{"type":"result","status":"success"}`))
	if _, err := tb.prompt("go"); err != nil {
		t.Fatal(err)
	}
	var calls []*agent.ToolCall
	raws := 0
	for _, ev := range tb.Events() {
		if ev.ToolCall != nil {
			calls = append(calls, ev.ToolCall)
		}
		if ev.Kind == agent.KindRaw {
			raws++
		}
	}
	if len(calls) != 4 || raws != 4 {
		t.Fatalf("%d calls, %d raw", len(calls), raws)
	}
	if c := calls[0]; c.Kind != "execute" || c.Shell != "ls" || *c.Asked {
		t.Errorf("%+v", c)
	}
	if c := calls[1]; c.Status != "failed" || c.Content[0].Text != "no" {
		t.Errorf("%+v", c)
	}
	if c := calls[2]; c.Kind != "edit" || *c.Content[0].OldText != "x" || c.Locations[0].Path != "/f" {
		t.Errorf("%+v", c)
	}
	if c := calls[3]; c.Status != "completed" || c.HasContent {
		t.Errorf("%+v", c)
	}
	if n := tb.event(agent.KindNotice).Notice; n.Level != "warning" || n.Text != "careful" {
		t.Errorf("%+v", n)
	}
}

// TestQwenSaysNothingTwice: pieces come first, the whole later.
func TestQwenSaysNothingTwice(t *testing.T) {
	tb := open(t, "qwen", agent.Options{}, "", printing(0,
		`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"ab"}}}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"abc"}]}}`,
		`{"type":"result","is_error":false,"result":"abc"}`))
	if _, err := tb.prompt("go"); err != nil || tb.Text(1) != "abc" {
		t.Errorf("%q, %v", tb.Text(1), err)
	}
}

// TestRecorded walks what the real Qwen said: nothing is dropped, and each
// turn ends as its result says.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/qwen/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			lines := recorded(t, file)
			tb := open(t, "qwen", agent.Options{}, "", printing(0, lines...))
			_, err := tb.prompt("go")
			raws := map[string]bool{}
			for _, ev := range tb.Events() {
				raws[string(ev.Raw)] = true
			}
			for _, line := range lines {
				o := acp.AsObject([]byte(line))
				if !raws[line] {
					t.Errorf("%s was dropped: %.200s", o.Str("type"), line)
				}
				if o.Str("type") == "result" && o.True("is_error") != (err != nil) {
					t.Errorf("%v for %.200s", err, line)
				}
				if o.Str("type") == "result" && err == nil && !strings.HasSuffix(tb.Text(1), o.Str("result")) {
					t.Errorf("text %q, result %q", tb.Text(1), o.Str("result"))
				}
			}
			if err != nil && tb.Text(1) != "" {
				t.Errorf("an error was taken for an answer: %q", tb.Text(1))
			}
		})
	}
}

func recorded(t testing.TB, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		lines = append(lines, string(acp.AsObject(s.Bytes()).Get("msg")))
	}
	return lines
}

// FuzzOutput feeds both dialects with what a program might print: whatever
// it is, the turn ends.
func FuzzOutput(f *testing.F) {
	files, _ := filepath.Glob("testdata/recorded/qwen/*.jsonl")
	for _, file := range files {
		f.Add(strings.Join(recorded(f, file), "\n"))
	}
	f.Add("{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"x\"}\n{\"type\":\"result\"}\nno json\n\xff\n[]")
	f.Fuzz(func(t *testing.T, output string) {
		for name := range dialects {
			sink := lanetest.NewSink()
			starter := lanetest.PipeStarter(printing(0, output))
			c := newConn(&plan{&agent.Spec{}, dialects[name]}, lane.Launch{Sink: sink, Starter: starter})
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			_, _ = c.Prompt(ctx, lane.Turn{Number: 1, Text: "go"})
			if ctx.Err() != nil || starter.Running() > 0 || sink.Overlaps() > 0 {
				t.Error("the turn never ended, or overlaps")
			}
			cancel()
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
}
