package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

func TestEventsAreStampedAndPrecedeTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chunks = 10_000
		c := &fakeConn{prompt: func(ctx context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
			for i := range chunks {
				say(ctx, sink, turn.Number, fmt.Sprint(i))
			}
			return agent.Outcome{StopReason: agent.StopEndTurn}, nil
		}}
		s, h := open(t, c)
		settled := 0
		turn, err := s.Submit(Prompt{OnSettle: func(*Turn) { settled = len(h.got()) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if settled != chunks {
			t.Errorf("%d events before the outcome, want %d", settled, chunks)
		}
		for i, ev := range h.got() {
			if ev.Text != fmt.Sprint(i) || ev.Seq != uint64(i+1) || ev.Turn != 1 || !ev.Time.Equal(time.Now()) {
				t.Fatalf("event %d is %+v", i, ev)
			}
		}
		mustClose(t, s)
	})
}

func TestPromptsRunOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{prompt: echo}
		s, h := open(t, c)
		answered := make(chan struct{})
		first, err := s.Submit(Prompt{Text: "one", OnSettle: func(*Turn) { <-answered }})
		if err != nil {
			t.Fatal(err)
		}
		second := submit(t, s, "two")
		synctest.Wait()
		if got := h.texts(); !reflect.DeepEqual(got, []string{"one"}) {
			t.Errorf("got %q before the first turn was answered", got)
		}
		if _, err := s.Submit(Prompt{Queue: RefuseIfBusy}); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
		close(answered)
		<-first.Done()
		<-second.Done()
		if got := h.texts(); !reflect.DeepEqual(got, []string{"one", "two"}) {
			t.Errorf("got %q", got)
		}
		synctest.Wait()
		if state, waiting := s.State(); state != Idle || waiting != 0 {
			t.Errorf("state %v, %d waiting", state, waiting)
		}
		mustClose(t, s)
	})
}

func TestSelectorsAreCheckedOnArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := open(t, &fakeConn{prompt: untilCancelled})
		running := submit(t, s, "x")
		mode := "m"
		_, err := s.Submit(Prompt{Options: agent.Options{Mode: &mode}})
		wantCode(t, err, agent.CodeModeUnsupported, agent.StageTurnConfig, agent.FlagsFinal)
		s.BeginCancel()
		<-running.Done()
		mustClose(t, s)
	})
}

func TestCancelEndsTheRunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := open(t, &fakeConn{prompt: untilCancelled})
		turn := submit(t, s, "x")
		synctest.Wait()
		if err := s.BeginCancel()(t.Context()); err != nil {
			t.Error(err)
		}
		out, err := turn.Wait(t.Context())
		if err != nil || out.StopReason != agent.StopCancelled {
			t.Errorf("got %+v, %v", out, err)
		}
		mustClose(t, s)
	})
}

// A cancel that comes when the turn that it means is over must not touch the
// prompt that waits behind it.
func TestLateCancelLeavesTheNextPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := open(t, &fakeConn{prompt: echo})
		s.BeginCancel()
		var waiting *Turn
		_, err := s.Submit(Prompt{Text: "one", OnSettle: func(*Turn) { s.BeginCancel() }})
		if err != nil {
			t.Fatal(err)
		}
		waiting = submit(t, s, "two")
		out, err := waiting.Wait(t.Context())
		if err != nil || out.StopReason != agent.StopEndTurn {
			t.Errorf("got %+v, %v", out, err)
		}
		if got := h.texts(); !reflect.DeepEqual(got, []string{"one", "two"}) {
			t.Errorf("got %q", got)
		}
		mustClose(t, s)
	})
}

// A cancel right behind its prompt isn't lost, even while the turn before is
// still being answered; the prompt isn't sent.
func TestEarlyCancelIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{prompt: echo}
		s, _ := open(t, c)
		answered := make(chan struct{})
		if _, err := s.Submit(Prompt{OnSettle: func(*Turn) { <-answered }}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		turn := submit(t, s, "two")
		s.BeginCancel()
		close(answered)
		out, err := turn.Wait(t.Context())
		if err != nil || out.StopReason != agent.StopCancelled {
			t.Errorf("got %+v, %v", out, err)
		}
		if !reflect.DeepEqual(c.started, []uint64{1}) {
			t.Errorf("the agent got the turns %v", c.started)
		}
		mustClose(t, s)
	})
}

func TestCancelOfAWaitingTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{prompt: untilCancelled}
		s, _ := open(t, c)
		first, second := submit(t, s, "one"), submit(t, s, "two")
		s.BeginCancelTurn(second.Number())
		s.BeginCancelTurn(99)
		synctest.Wait()
		select {
		case <-first.Done():
			t.Error("the running turn was cancelled")
		default:
		}
		s.BeginCancelTurn(first.Number())
		out, _ := second.Wait(t.Context())
		if out.StopReason != agent.StopCancelled || len(c.started) != 1 {
			t.Errorf("got %+v after the turns %v", out, c.started)
		}
		mustClose(t, s)
	})
}

// refusingConn has a cancel with an answer of its own.
type refusingConn struct{ *fakeConn }

func (refusingConn) CancelTurn(context.Context, uint64) error {
	return agent.Fail(agent.CodeCancelUnsupported, agent.StageCancel, "none declared")
}

type refusingPlan struct{ fakePlan }

func (p refusingPlan) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	_, err := p.fakePlan.Open(ctx, l)
	return refusingConn{p.conn}, err
}

func TestCancelThatTheLaneRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := &fakeConn{prompt: func(context.Context, lane.Turn, lane.Sink) (agent.Outcome, error) {
			<-release
			return agent.Outcome{StopReason: agent.StopEndTurn, Text: "t"}, nil
		}}
		s, err := Open(t.Context(), refusingPlan{fakePlan{conn: c}}, lane.Launch{}, Config{Host: &fakeHost{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.BeginCancel()(t.Context()); err != nil {
			t.Errorf("got %v while nothing runs", err)
		}
		turn := submit(t, s, "x")
		synctest.Wait()
		wantCode(t, s.BeginCancel()(t.Context()), agent.CodeCancelUnsupported, agent.StageCancel, agent.FlagsFinal)
		close(release)
		if out, _ := turn.Wait(t.Context()); out.StopReason != agent.StopEndTurn {
			t.Errorf("got %+v", out)
		}
		mustClose(t, s)
	})
}

func TestLateEventsAreFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{prompt: echo}
		s, h := open(t, c)
		<-submit(t, s, "one").Done()
		say(t.Context(), c.sink, 1, "late")
		say(t.Context(), c.sink, 0, "between")
		<-submit(t, s, "two").Done()
		if got := h.texts(); !reflect.DeepEqual(got, []string{"one", "between", "two"}) {
			t.Errorf("got %q", got)
		}
		mustClose(t, s)
	})
}

func TestSilenceIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{prompt: func(ctx context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
			time.Sleep(130 * time.Second) // told at 60 and 120
			say(ctx, sink, turn.Number, "a")
			time.Sleep(50 * time.Second) // not told
			say(ctx, sink, turn.Number, "b")
			sink.Ask(ctx, &agent.Question{Turn: turn.Number}) // takes 200 s: a person, not the agent
			time.Sleep(61 * time.Second)
			return agent.Outcome{StopReason: agent.StopEndTurn}, nil
		}}
		s, h := open(t, c)
		h.ask = func(context.Context, *agent.Question) agent.Answer {
			time.Sleep(200 * time.Second)
			return agent.Answer{}
		}
		<-submit(t, s, "x").Done()
		var got []string
		for _, ev := range h.got() {
			got = append(got, fmt.Sprint(ev.Kind, " ", ev.Text, " ", ev.IdleMs/1000))
		}
		want := []string{"stalled  60", "stalled  120", "message-chunk a 0", "message-chunk b 0", "stalled  60"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		time.Sleep(time.Hour)
		if n := len(h.got()); n != len(want) {
			t.Errorf("%d events outside a turn", n-len(want))
		}
		mustClose(t, s)
	})
}

func TestErrorsOfALaneGetAShape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := open(t, &fakeConn{prompt: func(context.Context, lane.Turn, lane.Sink) (agent.Outcome, error) {
			return agent.Outcome{}, errors.New("plain")
		}})
		_, err := submit(t, s, "x").Wait(t.Context())
		wantCode(t, err, agent.CodeProtocolFailed, agent.StagePrompt, agent.FlagsBroken)
		mustClose(t, s)
	})
}
