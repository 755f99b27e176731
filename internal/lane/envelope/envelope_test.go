package envelope

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/envelope/agent"
	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	model "dragoman/wire/agent"
)

func launch(t *testing.T, program lanetest.Program) (lane.Launch, *lanetest.Sink) {
	t.Helper()
	sink := lanetest.NewSink()
	return lane.Launch{
		Dir: t.TempDir(), ConnectTimeout: 30 * time.Second, OpenTimeout: 120 * time.Second,
		Starter: lanetest.PipeStarter(program), Sink: sink, Log: slog.New(slog.DiscardHandler),
	}, sink
}

func open(t *testing.T, s *model.Spec, l lane.Launch) (lane.Conn, error) {
	t.Helper()
	plan, err := Driver{Version: "1"}.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Open(t.Context(), l)
}

func fail(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an agent.Error", err)
	}
	return e
}

func newTurn(text string, o model.Options) lane.Turn {
	return lane.Turn{Number: 1, Text: text, Options: o, Cancel: make(chan struct{})}
}

// opened runs f with a session, in a bubble.
func opened(t *testing.T, more string, options model.Options, f func(t *testing.T, c lane.Conn, sink *lanetest.Sink, agent *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := &fake{opening: lanetest.OpenGood}
		l, sink := launch(t, fake.run)
		l.Options = options
		c, err := open(t, spec(t, more), l)
		if err != nil {
			t.Fatal(err)
		}
		f(t, c, sink, fake)
		for range 2 {
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ more, wrong, grants string }{
		{"", "", "agent.prompt agent.prompt.permit agent.prompt.model agent.prompt.effort"},
		{`,"operation":"chat"`, "", "chat chat.permit chat.model chat.effort"},
		{`,"grants":["a","a","agent.prompt"]`, "", "agent.prompt a"},
		{`,"operation":"Chat"`, "operation", ""},
		{`,"grants":["A"]`, "grants", ""},
		{`,"grants":"a"`, "grants", ""},
		{`,"colour":1`, "colour", ""},
	} {
		p, err := Driver{}.Parse(spec(t, tt.more))
		var bad *model.SpecError
		switch {
		case tt.wrong != "":
			if !errors.As(err, &bad) || !strings.Contains(bad.Detail, tt.wrong) {
				t.Errorf("%s: got %v, want a SpecError about %s", tt.more, err, tt.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.more, err)
		default:
			if got := strings.Join(p.(*plan).grants, " "); got != tt.grants {
				t.Errorf("%s: grants %s, want %s", tt.more, got, tt.grants)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	p, err := Driver{}.Parse(spec(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	x := "x"
	for _, tt := range []struct {
		o            model.Options
		resume, code string
	}{
		{model.Options{Model: &x, Effort: &x}, "", ""},
		{model.Options{Mode: &x}, "", model.CodeModeUnsupported},
		{model.Options{Permission: &x}, "", model.CodePermissionUnsupported},
		{model.Options{}, "s1", model.CodeResumeUnsupported},
	} {
		err := p.Check(tt.o, tt.resume)
		if tt.code == "" && err != nil || tt.code != "" && fail(t, err).Code != tt.code {
			t.Errorf("got %v, want %s", err, tt.code)
		}
	}
}

func TestInfo(t *testing.T) {
	opened(t, "", model.Options{}, func(t *testing.T, c lane.Conn, _ *lanetest.Sink, _ *fake) {
		i := c.Info()
		want := lane.Capabilities{Streaming: true, Cancellation: true, PermissionPrompts: true, Model: true, Usage: true}
		got := i.Capabilities
		if i.NativeID != "" || i.AgentName != "fake" || i.AgentVersion != "1.2" || string(i.State) != "{}" || !i.TextInChunks || i.Dead ||
			got.Detail != nil || got.PermissionPrompts != want.PermissionPrompts || got.Model != want.Model || got.Effort || got.Mode || got.SessionResume {
			t.Errorf("got %+v", i)
		}
	})
}

func TestOptions(t *testing.T) {
	big, small, effort := "big", "small", "high"
	opened(t, "", model.Options{Model: &big}, func(t *testing.T, c lane.Conn, _ *lanetest.Sink, f *fake) {
		if e := fail(t, c.CheckTurn(model.Options{Effort: &effort})); e.Code != model.CodeEffortUnsupported || e.Stage != model.StageTurnConfig {
			t.Errorf("got %v", e)
		}
		for _, o := range []model.Options{{}, {Model: &small}} {
			if _, err := c.Prompt(t.Context(), newTurn("say {}", o)); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(f.inputs, " "); got != `{"text":"say {}","model":"big"} {"text":"say {}","model":"small"}` {
			t.Errorf("inputs %s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l, _ := launch(t, (&fake{opening: lanetest.OpenGood}).run)
		l.Options = model.Options{Effort: &effort}
		_, err := open(t, spec(t, ""), l)
		if e := fail(t, err); e.Code != model.CodeEffortUnsupported || e.Stage != model.StageConfiguration {
			t.Errorf("got %v", e)
		}
	})
}

func TestEvents(t *testing.T) {
	const events = `events message {"text":"a"}
thought {"text":"b","signature":"x"}
tool {"toolCallId":"c1","title":"ls","kind":"execute","status":"pending"}
tool {"toolCallId":"c1","status":"completed"}
tool {"title":"no id"}
usage {"input":3,"output":4,"cost":{"amount":0.5,"currency":"USD"},"context":{"used":7,"size":9}}
message {"words":"b"}
plan {"entries":[9007199254740993]}`
	opened(t, "", model.Options{}, func(t *testing.T, c lane.Conn, sink *lanetest.Sink, _ *fake) {
		if _, err := c.Prompt(t.Context(), newTurn(events, model.Options{})); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ev := range sink.Events() {
			ev.Time = time.Time{}
			got = append(got, strings.TrimSuffix(string(model.AppendMembers(nil, ev)), "}"))
		}
		list := sink.Events()
		kinds := []model.EventKind{
			model.KindMessage, model.KindThought, model.KindToolCall, model.KindToolCallUpdate, model.KindRaw, model.KindUsage, model.KindRaw, model.KindRaw,
		}
		if len(list) != len(kinds) {
			t.Fatalf("got %q", got)
		}
		for i, kind := range kinds {
			if list[i].Kind != kind || list[i].Turn != 1 {
				t.Errorf("event %d is %s: %s", i, list[i].Kind, got[i])
			}
		}
		if call := list[2].ToolCall; call.ID != "c1" || call.Title != "ls" || call.Kind != "execute" || call.Status != "pending" {
			t.Errorf("tool call %+v", call)
		}
		if u := list[5].Usage; *u.Usage.Input != 3 || *u.Usage.Output != 4 || u.Cost.Currency != "USD" || u.Context.Size != 9 || u.Source != model.SourceReported {
			t.Errorf("usage %+v", u)
		}
		if raw := string(list[7].Raw); raw != `{"event":"plan","output":{"entries":[9007199254740993]}}` {
			t.Errorf("raw %s", raw)
		}
	})
}

func TestOutcome(t *testing.T) {
	opened(t, "", model.Options{}, func(t *testing.T, c lane.Conn, sink *lanetest.Sink, _ *fake) {
		o, err := c.Prompt(t.Context(), newTurn(`say {"text":"whole","stopReason":"refusal","usage":{"total":5}}`, model.Options{}))
		if err != nil || o.StopReason != model.StopRefusal || o.Text != "" || *o.Usage.Total != 5 || sink.Text(1) != "whole" {
			t.Errorf("got %+v and %v, text %q", o, err, sink.Text(1))
		}
		_, err = c.Prompt(t.Context(), newTurn("nonsense", model.Options{}))
		if e := fail(t, err); e.Code != model.CodeTurnFailed || !e.Retryable || e.UncertainEffect || !strings.Contains(e.Detail, "OVERLOADED: try nonsense") {
			t.Errorf("got %+v", e)
		}
		_, err = c.Prompt(t.Context(), newTurn(strings.Repeat("x", 1<<20), model.Options{}))
		if e := fail(t, err); e.Code != model.CodePromptChannelUnsatisfied {
			t.Errorf("got %+v", e)
		}
	})
}

func TestBudget(t *testing.T) {
	opened(t, `,"maxOutputBytes":4`, model.Options{}, func(t *testing.T, c lane.Conn, sink *lanetest.Sink, _ *fake) {
		o, err := c.Prompt(t.Context(), newTurn("events message {\"text\":\"abc\"}\nmessage {\"text\":\"éf\"}\nmessage {\"text\":\"g\"}", model.Options{}))
		if err != nil || !o.Truncated || sink.Text(1) != "abc" {
			t.Errorf("got %+v and %v, text %q", o, err, sink.Text(1))
		}
		if n := len(sink.Events()); n != 2 || sink.Events()[1].Kind != model.KindTruncated {
			t.Errorf("%d events", n)
		}
	})
}

// A permission that can't be answered is told, not asked.
func TestPermitNotGranted(t *testing.T) {
	opened(t, `,"grants":[]`, model.Options{}, func(t *testing.T, c lane.Conn, sink *lanetest.Sink, _ *fake) {
		if c.Info().Capabilities.PermissionPrompts {
			t.Error("permission prompts without the capability")
		}
		const event = `permission {"permissionId":"p","title":"x","options":[{"optionId":"y","name":"Y","kind":"allow_once"}]}`
		if _, err := c.Prompt(t.Context(), newTurn("events "+event, model.Options{})); err != nil {
			t.Fatal(err)
		}
		if len(sink.Questions()) != 0 || len(sink.Events()) != 1 || sink.Events()[0].Kind != model.KindRaw {
			t.Errorf("%d questions, events %+v", len(sink.Questions()), sink.Events())
		}
	})
}

func TestOpenFailures(t *testing.T) {
	says := func(line string) lanetest.Program {
		return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
			if _, err := p.Out.Write([]byte(line + "\n")); err != nil {
				return lane.ExitStatus{Code: 1}
			}
			<-ctx.Done()
			return lane.ExitStatus{}
		}
	}
	other := agent.New(agent.Config{})
	other.Handle("chat", nil)
	for _, tt := range []struct {
		name    string
		program lanetest.Program
		code    string
	}{
		{"version 2", says(`{"protocolVersion":"2.0","kind":"hello"}`), model.CodeProtocolVersionUnsupported},
		{"garbage", says(`hello?`), model.CodeProtocolFailed},
		{"another operation", func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
			_ = other.Serve(ctx, p.In, p.Out)
			return lane.ExitStatus{}
		}, model.CodeSessionOpenFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := launch(t, tt.program)
				_, err := open(t, spec(t, ""), l)
				if e := fail(t, err); e.Code != tt.code {
					t.Errorf("got %v, want %s", e, tt.code)
				}
			})
		})
	}
}
