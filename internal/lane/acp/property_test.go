package acp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// A move is one turn of a random session: what the agent does, when the turn
// is cancelled (0: never), and how the question is answered.
type move struct {
	word   string
	cancel time.Duration
	answer string
}

var moves = rapid.Custom(func(t *rapid.T) move {
	m := move{
		word:   rapid.SampledFrom([]string{lanetest.Echo, lanetest.Ask, lanetest.Hang, lanetest.Deaf}).Draw(t, "word"),
		cancel: rapid.SampledFrom([]time.Duration{0, time.Nanosecond, time.Second, time.Minute}).Draw(t, "cancel"),
		answer: rapid.SampledFrom([]string{"yes", "no", "", "never"}).Draw(t, "answer"),
	}
	if m.cancel == 0 && (m.word != lanetest.Echo && m.word != lanetest.Ask || m.answer == "never") {
		m.cancel = time.Hour // a turn that only a cancel ends
	}
	return m
})

// Whatever turns, cancels and answers come after each other: every prompt
// settles once and in time, with an outcome or an error of the few codes that
// fit; no event of a turn comes after its end and none of another's; no
// question stays open; nothing is left after a close at any moment.
func TestAnySessionSettles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(moves, 1, 5).Draw(rt, "moves")
		closeAfter := rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second, time.Minute}).Draw(rt, "close")
		var fault error
		synctest.Test(t, func(t *testing.T) { fault = playMoves(t, list, closeAfter) })
		if fault != nil {
			rt.Fatal(fault)
		}
	})
}

func playMoves(t *testing.T, list []move, closeAfter time.Duration) error {
	s := open(t, how{})
	defer s.close()
	if closeAfter > 0 {
		timer := time.AfterFunc(closeAfter, s.close)
		defer timer.Stop()
	}
	ends := make(map[uint64]int)
	for i, m := range list {
		number := uint64(i + 1)
		if err := playMove(s, number, m); err != nil {
			return fmt.Errorf("turn %d (%+v): %w", number, m, err)
		}
		ends[number] = len(s.Events())
	}
	time.Sleep(time.Minute)
	for i, ev := range s.Events() {
		if end, ok := ends[ev.Turn]; ev.Turn > 0 && (!ok || i >= end) {
			return fmt.Errorf("event %d of turn %d came after its end", i, ev.Turn)
		}
	}
	if n := s.Overlaps(); n > 0 {
		return fmt.Errorf("%d events overlap", n)
	}
	return nil
}

func playMove(s *session, number uint64, m move) error {
	s.AnswerWith(func(ctx context.Context, _ *agent.Question) agent.Answer {
		if m.answer == "never" {
			<-ctx.Done()
			return agent.Answer{}
		}
		return agent.Answer{OptionID: m.answer}
	})
	cancel := make(chan struct{})
	if m.cancel > 0 {
		timer := time.AfterFunc(m.cancel, func() { close(cancel) })
		defer timer.Stop()
	}
	begin := time.Now()
	out, err := s.conn.Prompt(context.Background(), lane.Turn{Number: number, Text: m.word, Cancel: cancel})
	if took := time.Since(begin); took > m.cancel+2*cancelWait {
		return fmt.Errorf("took %v", took)
	}
	if n := s.Open(); n > 0 {
		return fmt.Errorf("%d questions are open", n)
	}
	var e *agent.Error
	switch {
	case errors.As(err, &e):
		if e.Code != agent.CodeRecoveryRequired && e.Code != agent.CodeSessionClosed && e.Code != agent.CodeProtocolFailed {
			return err
		}
	case err != nil:
		return fmt.Errorf("an untyped error: %w", err)
	case out.StopReason != agent.StopEndTurn && out.StopReason != agent.StopCancelled:
		return fmt.Errorf("outcome %+v", out)
	case out.Suspect != "" && (m.word != lanetest.Deaf || out.StopReason != agent.StopCancelled):
		return fmt.Errorf("suspect %q", out.Suspect)
	}
	return nil
}
