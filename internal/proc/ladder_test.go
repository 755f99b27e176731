package proc

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// An actor is one process of a scripted tree: how long after each kind of
// nudge it is gone; never is a nudge that it ignores.
type actor struct {
	onInput, onTerm, onKill time.Duration
	forks                   int // children that it leaves when it ends
	gone                    time.Time
	dead                    bool
}

const never = time.Duration(-1)

func (a *actor) nudge(after time.Duration) {
	at := time.Now().Add(after)
	if after != never && (a.gone.IsZero() || at.Before(a.gone)) {
		a.gone = at
	}
}

// scripted is a subject of actors; the first is the leader.
type scripted struct {
	input  bool // the leader has one
	done   chan struct{}
	began  time.Time
	events []string

	mu     sync.Mutex
	actors []*actor
}

func (s *scripted) note(what string) {
	s.events = append(s.events, what)
}

// settle lets everybody end whose time has come.
func (s *scripted) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < len(s.actors); i++ {
		a := s.actors[i]
		if a.dead || a.gone.IsZero() || time.Now().Before(a.gone) {
			continue
		}
		a.dead = true
		if i == 0 {
			close(s.done)
		}
		for range a.forks {
			s.actors = append(s.actors, &actor{onInput: never, onTerm: never, onKill: 0})
		}
	}
}

func (s *scripted) closeInput() bool {
	s.note("input")
	if a := s.actors[0]; s.input {
		a.nudge(a.onInput)
		go func() { // the exit shows by itself
			time.Sleep(max(a.onInput, 0))
			s.settle()
		}()
	}
	return s.input
}

func (s *scripted) exited() <-chan struct{} { s.settle(); return s.done }

func (s *scripted) others() ([]entry, error) {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	var alive []entry
	for i, a := range s.actors[1:] {
		if !a.dead {
			alive = append(alive, entry{pid: i + 1})
		}
	}
	return alive, nil
}

func (s *scripted) terminate([]entry) {
	s.note(fmt.Sprint("term ", time.Since(s.began)))
	s.nudgeAll(func(a *actor) time.Duration { return a.onTerm })
}

func (s *scripted) kill([]entry) {
	s.note(fmt.Sprint("kill ", time.Since(s.began)))
	s.nudgeAll(func(a *actor) time.Duration { return a.onKill })
}

func (s *scripted) nudgeAll(after func(*actor) time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.actors {
		a.nudge(after(a))
	}
}

func (s *scripted) self() entry { return entry{pid: 1000} }

// run climbs in a bubble and returns the outcome and how long it took.
func (s *scripted) run(t *testing.T, l ladder, hurryAfter time.Duration) (err error, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		hurry := make(chan struct{})
		l.hurry = hurry
		s.done, s.began = make(chan struct{}), time.Now()
		if hurryAfter != never {
			go func() { time.Sleep(hurryAfter); close(hurry) }()
		}
		err = l.climb(s)
		took = time.Since(s.began)
		time.Sleep(time.Hour) // the bubble's goroutines end by then
	})
	return err, took
}

func TestLadder(t *testing.T) {
	polite := func() *actor { return &actor{onInput: 10 * time.Millisecond, onTerm: 0, onKill: 0} }
	deaf := func() *actor { return &actor{onInput: never, onTerm: never, onKill: 0} }
	stuck := func() *actor { return &actor{onInput: never, onTerm: never, onKill: never} }
	tests := map[string]struct {
		actors []*actor
		hurry  time.Duration
		events []string
		left   int
	}{
		"ends with its input":         {[]*actor{polite()}, never, []string{"input"}, 0},
		"ends when asked":             {[]*actor{{onInput: never}}, never, []string{"input", "term 2s"}, 0},
		"only ends when killed":       {[]*actor{deaf()}, never, []string{"input", "term 2s", "kill 4s"}, 0},
		"leaves somebody polite":      {[]*actor{polite(), polite()}, never, []string{"input", "term 10ms"}, 0},
		"leaves somebody deaf":        {[]*actor{polite(), deaf()}, never, []string{"input", "term 10ms", "kill 2.01s"}, 0},
		"in a hurry from the start":   {[]*actor{deaf()}, 0, []string{"input", "kill 0s"}, 0},
		"in a hurry after the input":  {[]*actor{deaf()}, time.Second, []string{"input", "kill 1s"}, 0},
		"in a hurry after the signal": {[]*actor{deaf()}, 3 * time.Second, []string{"input", "term 2s", "kill 3s"}, 0},
		"stuck":                       {[]*actor{polite(), deaf(), stuck()}, never, nil, 1},
		"stuck leader":                {[]*actor{stuck()}, never, nil, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scripted{actors: tt.actors, input: true}
			err, took := s.run(t, ladder{grace: 2 * time.Second}, tt.hurry)
			var left *SurvivorError
			errors.As(err, &left)
			if got := 0; left != nil && len(left.PIDs) != tt.left || left == nil && got != tt.left {
				t.Errorf("error %v", err)
			}
			if tt.events != nil && fmt.Sprint(s.events) != fmt.Sprint(tt.events) {
				t.Errorf("events %q, want %q (%v)", s.events, tt.events, took)
			}
		})
	}
}

// Whatever a tree does, the ladder ends it or says what is left, in its time.
func TestLadderAlwaysAnswers(t *testing.T) {
	const grace = 2 * time.Second
	delay := rapid.OneOf(rapid.Just(never), rapid.Map(rapid.IntRange(0, 3000), func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }))
	rapid.Check(t, func(rt *rapid.T) {
		s := &scripted{input: rapid.Bool().Draw(rt, "input")}
		stuck := false
		for range rapid.IntRange(1, 5).Draw(rt, "actors") {
			a := &actor{
				onInput: delay.Draw(rt, "onInput"), onTerm: delay.Draw(rt, "onTerm"), onKill: delay.Draw(rt, "onKill"),
				forks: rapid.IntRange(0, 2).Draw(rt, "forks"),
			}
			stuck = stuck || a.onKill == never
			s.actors = append(s.actors, a)
		}
		err, took := s.run(t, ladder{grace: grace}, delay.Draw(rt, "hurry"))
		allGone := true
		for _, a := range s.actors {
			allGone = allGone && a.dead
		}
		if (err == nil) != allGone {
			rt.Fatalf("%v, all gone %v: %q", err, allGone, s.events)
		}
		if err != nil && !stuck {
			rt.Fatalf("%v, but everybody can be killed: %q", err, s.events)
		}
		if limit := 2*grace + killLimit + 2*lookMax; took > limit {
			rt.Fatalf("took %v of %v", took, limit)
		}
	})
}
