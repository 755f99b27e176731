package rpc

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// cancelling starts a turn, cancels it after a second, and waits for both
// answers.
func (s *session) cancelling() (agent.Outcome, error, error) {
	s.t.Helper()
	cancel := make(chan struct{})
	answer := make(chan error, 1)
	turn := s.turns + 1
	go func() {
		time.Sleep(time.Second)
		close(cancel)
		answer <- s.conn.(lane.Canceller).CancelTurn(s.t.Context(), turn)
	}()
	out, err := s.promptWith("hi", agent.Options{}, cancel)
	return out, err, <-answer
}

// holding is an agent that answers the prompt with lines and a cancel with
// ending, where %RAW is the cancel itself. now says something for it later.
type holding struct{ wire atomic.Pointer[wire] }

func (h *holding) agent(ending string, lines ...string) handler {
	return func(w *wire, m got) bool {
		h.wire.Store(w)
		if m.Method == "cancel" {
			w.say("%s", strings.ReplaceAll(ending, "%RAW", m.Raw))
			return true
		}
		return answering(lines...)(w, m)
	}
}

// later says lines after a while.
func (h *holding) later(after time.Duration, lines ...string) {
	go func() {
		time.Sleep(after)
		for _, l := range lines {
			h.wire.Load().say("%s", l)
		}
	}()
}

var interrupted = strings.Replace(doneT1, "completed", "interrupted", 1)

// cancelCase runs check with a session of its own, in a bubble.
func cancelCase(t *testing.T, name string, spec obj, h handler, check func(t *testing.T, s *session)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := openSession(t, declared(spec), h)
			defer s.close()
			check(t, s)
		})
	})
}

func TestCancel(t *testing.T) {
	var h holding
	cancelCase(t, "the agent says how it ended", nil, h.agent(interrupted, accepted, delta("x")), func(t *testing.T, s *session) {
		out, err, answer := s.cancelling()
		if err != nil || answer != nil || out.StopReason != "interrupted" || out.Text != "x" {
			t.Errorf("outcome %+v, %v, cancel %v", out, err, answer)
		}
	})
	cancelCase(t, "a notification with the turn's id", nil, h.agent(`{"method":"saw","params":%RAW}`+"\n"+doneT1, accepted), func(t *testing.T, s *session) {
		if _, err, _ := s.cancelling(); err != nil || !strings.Contains(s.told(1), `"params":{"params":{"turn":"t1"},"method":"cancel"}`) {
			t.Errorf("error %v, events %s", err, s.told(1))
		}
	})
	cancelCase(t, "it waits for the turn's id", nil, func(w *wire, m got) bool {
		if m.Method == "prompt" {
			time.Sleep(3 * time.Second)
			w.reply(m, `{"turn":{"id":"t1"}}`)
		} else {
			w.say("%s", interrupted)
		}
		return true
	}, func(t *testing.T, s *session) {
		start := time.Now()
		out, err, answer := s.cancelling()
		if err != nil || answer != nil || out.StopReason != "interrupted" || time.Since(start) != 3*time.Second {
			t.Errorf("outcome %+v, %v, cancel %v after %v", out, err, answer, time.Since(start))
		}
	})
	cancelCase(t, "no turn runs", nil, h.agent(""), func(t *testing.T, s *session) {
		if err := s.conn.(lane.Canceller).CancelTurn(t.Context(), 1); err != nil {
			t.Errorf("cancel: %v", err)
		}
	})
}

func TestCancelUnanswered(t *testing.T) {
	var h holding
	cancelCase(t, "then late", nil, h.agent("{}", accepted, delta("x")), func(t *testing.T, s *session) {
		start := time.Now()
		out, err, _ := s.cancelling()
		if err != nil || out.StopReason != agent.StopCancelled || out.Suspect != agent.SuspectCancelUnanswered || out.Text != "x" || time.Since(start) != 11*time.Second {
			t.Errorf("outcome %+v, %v after %v", out, err, time.Since(start))
		}
		h.later(4*time.Second, delta("late"), doneT1)
		out, err, answer := s.cancelling() // cancelled while it waits
		if err != nil || answer != nil || out.StopReason != agent.StopCancelled || out.Suspect != "" {
			t.Errorf("outcome %+v, %v, cancel %v", out, err, answer)
		}
		time.Sleep(10 * time.Second)
		for _, ev := range s.Events() {
			if ev.Turn != 1 {
				t.Errorf("late traffic reached turn %d: %+v", ev.Turn, ev)
			}
		}
	})
	cancelCase(t, "the next turn waits for the old end", nil, h.agent("{}", accepted), func(t *testing.T, s *session) {
		s.cancelling()
		h.later(4*time.Second, doneT1)
		start := time.Now()
		go func() {
			time.Sleep(5 * time.Second)
			h.wire.Load().say("%s", doneT1)
		}()
		out, err := s.prompt("next")
		if err != nil || out.StopReason != "completed" || time.Since(start) != 5*time.Second {
			t.Errorf("outcome %+v, %v after %v", out, err, time.Since(start))
		}
	})
}

func TestCancelRefused(t *testing.T) {
	var h holding
	cancelCase(t, "none is declared", obj{"cancel": nil}, h.agent("", accepted), func(t *testing.T, s *session) {
		h.later(5*time.Second, doneT1)
		out, err, answer := s.cancelling()
		wantError(t, answer, agent.CodeCancelUnsupported, agent.StageCancel, agent.FlagsFinal)
		if err != nil || out.StopReason != "completed" {
			t.Errorf("the turn goes on: %+v, %v", out, err)
		}
	})
	noID := obj{"completion": obj{"method": "done"}}
	cancelCase(t, "its turn id can't be known", noID, h.agent("", `{"id":%ID,"result":{}}`), func(t *testing.T, s *session) {
		h.later(5*time.Second, doneT1)
		_, _, answer := s.cancelling()
		wantError(t, answer, agent.CodeCancelTargetUnavailable, agent.StageCancel, agent.FlagsFinal)
	})
	noSession := obj{"sessionOpen": nil, "cancel": obj{"method": "cancel", "params": obj{"s": "{sessionId}"}}}
	cancelCase(t, "there is no session id", noSession, h.agent("", accepted), func(t *testing.T, s *session) {
		h.later(5*time.Second, doneT1)
		_, _, answer := s.cancelling()
		wantError(t, answer, agent.CodeCancelTargetUnavailable, agent.StageCancel, agent.FlagsFinal)
	})
}

func TestKillOnCancel(t *testing.T) {
	var h holding
	kill := obj{"killOnCancel": true}
	cancelCase(t, "the process is ended", kill, h.agent("", accepted, delta("x"), `{"method":"u","params":{"usage":{"input":3}}}`), func(t *testing.T, s *session) {
		out, err, answer := s.cancelling()
		if err != nil || answer != nil || out.StopReason != agent.StopCancelled || out.Text != "x" || out.Usage != nil {
			t.Errorf("outcome %+v, %v, cancel %v", out, err, answer)
		}
		if s.starter.Running() != 0 || !s.conn.Info().Dead {
			t.Error("the agent lives")
		}
		for range 2 {
			_, err = s.prompt("again")
			wantError(t, err, agent.CodeTransportFailed, stageCall, agent.FlagsBroken)
		}
	})
}

func TestCancelDuringPreTurn(t *testing.T) {
	slow := obj{"preTurn": []any{obj{"method": "slow"}}}
	for _, result := range []string{`"result":null`, `"error":"no"`} {
		cancelCase(t, result, slow, func(w *wire, m got) bool {
			if m.Method == "prompt" {
				t.Error("the prompt was sent")
			}
			time.Sleep(5 * time.Second)
			w.say(`{"id":%v,%s}`, m.ID, result)
			return true
		}, func(t *testing.T, s *session) {
			out, err, answer := s.cancelling()
			if err != nil || answer != nil || out.StopReason != agent.StopCancelled {
				t.Errorf("outcome %+v, %v, cancel %v", out, err, answer)
			}
		})
	}
}
