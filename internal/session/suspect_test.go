package session

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

func TestEmptyAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := []func(context.Context, lane.Turn, lane.Sink) (agent.Outcome, error){
			untilCancelled,
			func(context.Context, lane.Turn, lane.Sink) (agent.Outcome, error) {
				return agent.Outcome{StopReason: agent.StopEndTurn}, nil
			},
		}
		turns = append(turns, turns[1], untilCancelled, echo)
		s, _ := open(t, &fakeConn{prompt: func(ctx context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
			return turns[turn.Number-1](ctx, turn, sink)
		}})
		var got []string
		for range turns {
			turn := submit(t, s, "hi")
			synctest.Wait()
			s.BeginCancel()
			out, _ := turn.Wait(t.Context())
			got = append(got, out.StopReason+" "+out.Suspect)
		}
		want := "cancelled , end_turn empty_after_cancel, end_turn , cancelled , end_turn "
		if strings.Join(got, ", ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
		mustClose(t, s)
	})
}

func TestAgentErrorText(t *testing.T) {
	zero := int64(0)
	long := "{" + strings.Repeat(" ", paragraphMax) + `"error":1}`
	tests := []struct {
		name     string
		chunks   []string
		usage    *agent.Usage
		tool, no bool // a tool event; text isn't in chunks
		want     bool
	}{
		{name: "plain answer", chunks: []string{"all is well, error: none"}},
		{name: "error start over chunks", chunks: []string{"Err", "or: 429"}, want: true},
		{name: "api error", chunks: []string{"[x]\n\nAPI Error 500"}, want: true},
		{name: "info", chunks: []string{"  Info: Request failed due to"}, want: true},
		{name: "JSON with error", chunks: []string{"I tried.\n \n", `{"error":`, `{"code":1}}`}, want: true},
		{name: "JSON over lines", chunks: []string{"{\n\"error\": 1\n}\n\nmore"}, want: true},
		{name: "JSON without error", chunks: []string{`{"errors":1}`}},
		{name: "JSON with a null error", chunks: []string{`{"error":null}`}},
		{name: "no paragraph start", chunks: []string{"a\nerror: b"}},
		{name: "later paragraph", chunks: []string{strings.Repeat("x", 2*paragraphMax), "\n\nerror: b"}, want: true},
		{name: "JSON too long", chunks: []string{long}},
		{name: "usage is known", chunks: []string{"error: x"}, usage: &agent.Usage{Input: &zero}},
		{name: "a tool ran", chunks: []string{"error: x"}, tool: true},
		{name: "lane with a text of its own", chunks: []string{"error: x"}, no: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &watch{inChunks: !tt.no}
			if tt.tool {
				w.note(&agent.Event{Kind: agent.KindToolCall})
			}
			for _, c := range tt.chunks {
				w.note(&agent.Event{Kind: agent.KindMessage, Text: c})
			}
			got := w.suspect(&agent.Outcome{StopReason: agent.StopEndTurn, Usage: tt.usage}, false)
			if (got == agent.SuspectAgentErrorText) != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestReplayIsNotTheTurns(t *testing.T) {
	w := &watch{inChunks: true}
	w.note(&agent.Event{Kind: agent.KindMessage, Text: "error: old", Replay: true})
	if got := w.suspect(&agent.Outcome{StopReason: agent.StopEndTurn}, true); got != agent.SuspectEmptyAfterCancel {
		t.Errorf("got %q", got)
	}
}
