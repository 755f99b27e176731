package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a person who answers from a list.
type script []string

func (s *script) ReadLine(context.Context, string) (string, error) {
	if len(*s) == 0 {
		return "", io.EOF
	}
	line := (*s)[0]
	*s = (*s)[1:]
	return line + "\n", nil
}

func question(kind string) *agent.Question {
	return &agent.Question{
		ToolCall: agent.ToolCall{ID: "c1", Title: "write x", Kind: kind, Shell: "echo > x"},
		Options: []agent.Option{
			{ID: "always", Name: "Always", Kind: agent.AllowAlways},
			{ID: "yes", Name: "Once", Kind: agent.AllowOnce},
			{ID: "no", Name: "No", Kind: agent.RejectOnce, Then: agent.ThenEndsTurn},
		},
	}
}

func TestEachPolicyAnswersOnlyAsFarAsItMay(t *testing.T) {
	tests := []struct {
		name     string
		policy   Policy
		kind     string
		person   Person
		want     string
		refusals int
	}{
		{"deny", PolicyDeny, "execute", nil, "no", 1},
		{"ask without a terminal rejects", PolicyAsk, "execute", nil, "no", 1},
		{"reads are allowed once", PolicyAllowReads, "read", nil, "yes", 0},
		{"a write is no read", PolicyAllowReads, "edit", nil, "no", 1},
		{"all is once, never always", PolicyAllowAll, "execute", nil, "yes", 0},
		{"a person may say always", PolicyAsk, "execute", &script{"1"}, "always", 0},
		{"a person says no", PolicyAsk, "execute", &script{"3"}, "no", 1},
		{"nothing cancels", PolicyAsk, "execute", &script{""}, "", 1},
		{"a slip may be mended", PolicyAsk, "execute", &script{"7", "x", "2"}, "yes", 0},
		{"three slips cancel", PolicyAsk, "execute", &script{"7", "8", "9", "2"}, "", 1},
		{"nobody there", PolicyAsk, "execute", &script{}, "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &Host{Out: io.Discard, Err: io.Discard, Policy: tt.policy, Person: tt.person}
			got := h.Ask(t.Context(), question(tt.kind))
			if got.OptionID != tt.want || h.Refusals() != tt.refusals {
				t.Errorf("got %q and %d refusals, want %q and %d", got.OptionID, h.Refusals(), tt.want, tt.refusals)
			}
		})
	}
}

func TestAllowAllCancelsWhereOnlyAlwaysIsOffered(t *testing.T) {
	q := question("execute")
	q.Options = q.Options[:1]
	h := &Host{Out: io.Discard, Err: io.Discard, Policy: PolicyAllowAll}
	if got := h.Ask(t.Context(), q); !got.Cancelled() {
		t.Errorf("picked %q", got.OptionID)
	}
}

func TestTextStaysOnItsOwnStreamAndLines(t *testing.T) {
	var out, errs bytes.Buffer
	h := &Host{Out: &out, Err: &errs}
	for _, ev := range []*agent.Event{
		{Kind: agent.KindMessage, Text: "old", Replay: true},
		{Kind: agent.KindMessage, Text: "hel"}, {Kind: agent.KindMessage, Text: "lo \x1b[31m\u009bred"},
		{Kind: agent.KindToolCall, ToolCall: &agent.ToolCall{ID: "1", Title: "run it"}},
		{Kind: agent.KindNotice, Notice: &agent.Notice{Level: "warning", Text: "careful"}},
		{Kind: agent.KindMessage, Text: "end\n"},
	} {
		h.Event(t.Context(), ev)
	}
	h.Finish()
	if got, want := out.String(), "hello [31mred\nend\n"; got != want {
		t.Errorf("out %q, want %q", got, want)
	}
	if got, want := errs.String(), "· run it\nwarning: careful\n"; got != want {
		t.Errorf("err %q, want %q", got, want)
	}
}

func TestLinesAreTheFullForm(t *testing.T) {
	var out bytes.Buffer
	h := &Host{Out: &out, Err: io.Discard, Format: Lines}
	h.Event(t.Context(), &agent.Event{Kind: agent.KindMessage, Turn: 1, Seq: 2, Text: "a\nb"})
	h.Finish()
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"kind":"message-chunk","turn":1,"seq":2`) {
		t.Errorf("got %q", got)
	}
}

func TestATerminalGivesUpWhenTheTurnEnds(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	term := NewTerminal(ours)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() {
		b := make([]byte, 64)
		theirs.Read(b)
		close(asked)
	}()
	go func() { <-asked; cancel() }()
	if _, err := term.ReadLine(ctx, "? "); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
