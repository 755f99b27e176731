package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

func TestOpenThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := agent.Fail(agent.CodeAuthRequired, "session/new", "sign in")
		h := &fakeHost{}
		_, err := Open(t.Context(), fakePlan{conn: &fakeConn{}, openErr: refused}, lane.Launch{}, Config{Host: h})
		if !errors.Is(err, refused) || h.changes != 0 {
			t.Errorf("got %v after %d changes", err, h.changes)
		}
	})
}

func TestEventsWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h := &fakeConn{}, &fakeHost{}
		s, err := Open(t.Context(), fakePlan{conn: c, during: func(k lane.Sink) {
			say(t.Context(), k, 0, "early")
			k.Changed()
		}}, lane.Launch{}, Config{Host: h})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.got(); len(got) != 1 || got[0].Seq != 1 {
			t.Errorf("got %+v", got)
		}
		mustClose(t, s)
	})
}

func TestCloseEndsTheTurnAndRefusesThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{prompt: untilCancelled, info: lane.Info{PromptStage: "rpc/prompt"}}
		s, _ := open(t, c)
		running, waiting := submit(t, s, "one"), submit(t, s, "two")
		synctest.Wait()
		mustClose(t, s)
		mustClose(t, s)
		_, err := running.Wait(t.Context())
		wantCode(t, err, agent.CodeSessionClosed, agent.StagePrompt, agent.FlagsUncertain)
		_, err = waiting.Wait(t.Context())
		wantCode(t, err, agent.CodeSessionClosed, "rpc/prompt", agent.FlagsFinal)
		_, err = s.Submit(Prompt{})
		wantCode(t, err, agent.CodeSessionClosed, agent.StagePrompt, agent.FlagsFinal)
		if c.closes != 1 {
			t.Errorf("the lane was closed %d times", c.closes)
		}
		if state, _ := s.State(); state != Closed {
			t.Errorf("state %v", state)
		}
	})
}

func TestCloseThatFailsCanBeAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := errors.New("still running")
		c := &fakeConn{closeErrs: []error{left}}
		s, _ := open(t, c)
		if err := s.Close(t.Context()); !errors.Is(err, left) {
			t.Errorf("got %v", err)
		}
		if state, _ := s.State(); state != Closing {
			t.Errorf("state %v", state)
		}
		mustClose(t, s)
		if state, _ := s.State(); state != Closed {
			t.Errorf("state %v", state)
		}
	})
}

// A lane whose turn doesn't return when its context ends is closed under it.
func TestCloseOfATurnThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{}
		c.prompt = func(_ context.Context, turn lane.Turn, _ lane.Sink) (agent.Outcome, error) {
			for c.isClosed() == 0 {
				synctestSleep()
			}
			return agent.Outcome{}, errors.New("gone")
		}
		s, _ := open(t, c)
		turn := submit(t, s, "x")
		synctest.Wait()
		mustClose(t, s)
		<-turn.Done()
	})
}

func TestDeathIsTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{prompt: func(context.Context, lane.Turn, lane.Sink) (agent.Outcome, error) {
			return agent.Outcome{}, agent.Fail(agent.CodeProtocolFailed, agent.StagePrompt, "gone")
		}}
		s, _ := open(t, c)
		c.setInfo(func(i *lane.Info) { i.Dead = true })
		if state, _ := s.State(); state != Failed {
			t.Errorf("state %v", state)
		}
		_, err := submit(t, s, "x").Wait(t.Context())
		wantCode(t, err, agent.CodeProtocolFailed, agent.StagePrompt, agent.FlagsBroken)
		synctest.Wait()
		if state, _ := s.State(); state != Failed {
			t.Errorf("state %v", state)
		}
		mustClose(t, s)
	})
}
