package lanetest

import (
	"context"
	"testing"

	"dragoman/wire/agent"
)

// questions are the cases about permission.
func (h *Harness) questions(t *testing.T) {
	if h.Lacks.Questions {
		return
	}
	tests := []struct {
		name   string
		answer agent.Answer
		text   string
	}{
		{"allowed", agent.Answer{OptionID: h.Allow}, Granted},
		{"rejected", agent.Answer{OptionID: h.Reject}, Refused},
		{"cancelled", agent.Answer{}, Refused},
		{"not offered", agent.Answer{OptionID: "no-such-option"}, Refused},
	}
	for _, tt := range tests {
		h.run(t, "question: "+tt.name, func(t *testing.T) {
			b := h.open(t)
			defer b.close()
			b.AnswerWith(func(context.Context, *agent.Question) agent.Answer { return tt.answer })
			res := b.prompt(1, Ask)
			if res.err != nil {
				t.Fatalf("Prompt: %v", res.err)
			}
			if got := b.text(1, res); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			b.asked()
		})
	}
	h.run(t, "question: open at a cancel", h.cancelQuestion)
	h.run(t, "question: open at a close", h.closeQuestion)
}

// asked checks the one question.
func (b *bench) asked() {
	b.t.Helper()
	list := b.Questions()
	if len(list) != 1 {
		b.t.Fatalf("%d questions, want 1", len(list))
	}
	q := list[0]
	if q.Turn != 1 || q.ToolCall.ID != CallID {
		b.t.Errorf("question of turn %d about %q, want turn 1, %q", q.Turn, q.ToolCall.ID, CallID)
	}
	if !q.Offered(b.h.Allow) || !q.Offered(b.h.Reject) {
		b.t.Errorf("options %+v, want %q and %q among them", q.Options, b.h.Allow, b.h.Reject)
	}
}

func (h *Harness) cancelQuestion(t *testing.T) {
	b := h.open(t)
	defer b.close()
	r := b.start(1, Ask)
	b.until("the question", func(s *Sink) bool { return s.Open() == 1 })
	close(r.cancel)
	res := r.wait()
	if res.err != nil {
		t.Errorf("Prompt: %v", res.err)
	}
	if n := b.Open(); n != 0 {
		t.Errorf("%d questions are open after the turn's end", n)
	}
}

func (h *Harness) closeQuestion(t *testing.T) {
	b := h.open(t)
	r := b.start(1, Ask)
	b.until("the question", func(s *Sink) bool { return s.Open() == 1 })
	b.close()
	b.closed(r.wait())
}
