package session

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// asking is a turn that asks once and reports the answer as its text.
func asking(ctx context.Context, t lane.Turn, sink lane.Sink) (agent.Outcome, error) {
	asked, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-t.Cancel:
			stop()
		case <-asked.Done():
		}
	}()
	a := sink.Ask(asked, question(t.Number))
	return agent.Outcome{StopReason: agent.StopEndTurn, Text: "answer " + a.OptionID}, nil
}

func question(turn uint64) *agent.Question {
	return &agent.Question{Turn: turn, Options: []agent.Option{{ID: "yes", Kind: agent.AllowOnce}, {ID: "no", Kind: agent.RejectOnce}}}
}

func TestOnlyOfferedAnswersCount(t *testing.T) {
	for given, want := range map[string]string{"yes": "yes", "no": "no", "always": "", "": "", "YES": ""} {
		synctest.Test(t, func(t *testing.T) {
			s, h := open(t, &fakeConn{prompt: asking})
			h.ask = func(context.Context, *agent.Question) agent.Answer { return agent.Answer{OptionID: given} }
			out, _ := submit(t, s, "x").Wait(t.Context())
			if out.Text != "answer "+want {
				t.Errorf("answer %q came to the agent as %q, want %q", given, out.Text, want)
			}
			mustClose(t, s)
		})
	}
}

// hold is an Ask that nobody answers; it tells what it saw.
func hold(ctx context.Context, q *agent.Question) agent.Answer {
	<-ctx.Done()
	return agent.Answer{OptionID: "yes"} // too late
}

func TestCancelAnswersOpenQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := open(t, &fakeConn{prompt: asking})
		h.ask = hold
		turn := submit(t, s, "x")
		synctest.Wait()
		s.BeginCancel()
		if out, _ := turn.Wait(t.Context()); out.Text != "answer " {
			t.Errorf("got %q", out.Text)
		}
		mustClose(t, s)
	})
}

func TestCloseAnswersOpenQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := open(t, &fakeConn{prompt: asking})
		h.ask = hold
		turn := submit(t, s, "x")
		synctest.Wait()
		mustClose(t, s)
		if out, _ := turn.Wait(t.Context()); out.Text != "answer " {
			t.Errorf("got %q", out.Text)
		}
	})
}

func TestQuestionsOfAnEndedTurnAreNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{prompt: echo}
		s, h := open(t, c)
		asked := 0
		h.ask = func(context.Context, *agent.Question) agent.Answer {
			asked++
			return agent.Answer{OptionID: "yes"}
		}
		<-submit(t, s, "x").Done()
		if a := c.sink.Ask(t.Context(), question(1)); !a.Cancelled() || asked != 0 {
			t.Errorf("asked %d times, answer %+v", asked, a)
		}
		if a := c.sink.Ask(t.Context(), question(0)); a.OptionID != "yes" {
			t.Errorf("a question outside a turn got %+v", a)
		}
		mustClose(t, s)
	})
}

// A question that the lane forgets doesn't outlive its turn.
func TestQuestionsEndWithTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan agent.Answer)
		s, h := open(t, &fakeConn{prompt: func(_ context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
			go func() { answers <- sink.Ask(context.Background(), question(turn.Number)) }()
			synctestSleep()
			return agent.Outcome{StopReason: agent.StopEndTurn}, nil
		}})
		h.ask = hold
		<-submit(t, s, "x").Done()
		if a := <-answers; !a.Cancelled() {
			t.Errorf("got %+v", a)
		}
		mustClose(t, s)
	})
}
