package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// modelConn is an agent whose turns end when the test says so.
type modelConn struct {
	*fakeConn
	running int
	last    uint64
	finish  chan struct{} // a value ends the running turn
	faults  []string
}

func newModelConn() *modelConn {
	c := &modelConn{fakeConn: &fakeConn{}, finish: make(chan struct{})}
	c.prompt = func(ctx context.Context, t lane.Turn, _ lane.Sink) (agent.Outcome, error) {
		c.running++
		if c.running > 1 {
			c.faults = append(c.faults, "two turns at once")
		}
		if t.Number <= c.last {
			c.faults = append(c.faults, "a turn out of order")
		}
		c.last = t.Number
		defer func() { c.running-- }()
		select {
		case <-t.Cancel:
			return agent.Outcome{StopReason: agent.StopCancelled}, nil
		case <-ctx.Done():
			return agent.Outcome{}, closedError(agent.StagePrompt)
		case <-c.finish:
			return agent.Outcome{StopReason: "finished"}, nil
		}
	}
	return c
}

// modelTurn is what the test expects of a turn.
type modelTurn struct {
	turn    *Turn
	settled int
	want    string // how it must end, "" while it is open
}

// A model is a session beside what the test expects of it.
type model struct {
	s    *Session
	conn *modelConn
	open []*modelTurn // those that haven't settled; the first one runs
	all  []*modelTurn
}

// modelSteps are what may happen to a session at any time.
var modelSteps = []func(*model) error{
	func(m *model) error { return m.submit() },
	func(m *model) error { // a cancel of whatever runs
		m.s.BeginCancel()
		m.end(min(1, len(m.open)), agent.StopCancelled)
		return nil
	},
	func(m *model) error { // a cancel right behind its prompt
		if err := m.submit(); err != nil || len(m.open) > 1 {
			return err
		}
		m.s.BeginCancel()
		m.end(1, agent.StopCancelled)
		return nil
	},
	func(m *model) error { // the agent ends its turn
		if len(m.open) == 0 {
			return nil
		}
		m.conn.finish <- struct{}{}
		m.end(1, "finished")
		return nil
	},
}

func (m *model) submit() error {
	mt := &modelTurn{}
	turn, err := m.s.Submit(Prompt{OnSettle: func(*Turn) { mt.settled++ }})
	mt.turn = turn
	m.open, m.all = append(m.open, mt), append(m.all, mt)
	return err
}

// end expects the first n open turns to end.
func (m *model) end(n int, want string) {
	for _, mt := range m.open[:n] {
		mt.want = want
	}
	m.open = m.open[n:]
}

// check compares the session with the model.
func (m *model) check() error {
	for _, mt := range m.all {
		if mt.want == "" {
			if mt.settled != 0 {
				return fmt.Errorf("turn %d has settled", mt.turn.Number())
			}
			continue
		}
		out, err := mt.turn.Result()
		got := out.StopReason
		if err != nil {
			got = asError(err).Code
		}
		if mt.settled != 1 || got != mt.want {
			return fmt.Errorf("turn %d settled %d times, as %q, want %q", mt.turn.Number(), mt.settled, got, mt.want)
		}
	}
	running := uint64(0)
	if len(m.open) > 0 {
		running = m.open[0].turn.Number()
	}
	if got := m.s.Turn(); got != running || len(m.conn.faults) > 0 {
		return fmt.Errorf("turn %d runs, want %d; faults %q", got, running, m.conn.faults)
	}
	return nil
}

// run does the steps and closes the session.
func (m *model) run(steps []int) error {
	for i, step := range steps {
		if err := modelSteps[step](m); err != nil {
			return err
		}
		synctest.Wait()
		if err := m.check(); err != nil {
			return fmt.Errorf("after %d steps: %w", i+1, err)
		}
	}
	if err := m.s.Close(context.Background()); err != nil {
		return err
	}
	m.end(len(m.open), agent.CodeSessionClosed)
	if _, err := m.s.Submit(Prompt{}); err == nil {
		return errors.New("a closed session takes a prompt")
	}
	return m.check()
}

// TestTurnsByModel does steps in any order: every turn settles exactly once,
// as the model says.
func TestTurnsByModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, len(modelSteps)-1), 1, 40).Draw(rt, "steps")
		var fault error
		synctest.Test(t, func(t *testing.T) {
			c := newModelConn()
			s, err := Open(context.Background(), fakePlan{conn: c.fakeConn}, lane.Launch{}, Config{Host: &fakeHost{}})
			if err != nil {
				t.Fatal(err)
			}
			fault = (&model{s: s, conn: c}).run(steps)
			mustClose(t, s)
		})
		if fault != nil {
			rt.Fatal(fault)
		}
	})
}
