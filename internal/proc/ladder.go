package proc

import (
	"fmt"
	"slices"
	"time"
)

// Times of the ladder (lanes.md §2).
const (
	// defaultGrace is how long each polite rung waits.
	defaultGrace = 2 * time.Second
	// killLimit is how long SIGKILL may take, a process that waits for a disk
	// included, before the answer is a [SurvivorError].
	killLimit = 5 * time.Second
	// Looks at the process table start close together, since most trees are
	// gone at once, and spread.
	lookMin = time.Millisecond
	lookMax = 50 * time.Millisecond
)

// A subject is a tree to be ended. It is an interface so that the ladder is
// tested without processes and without waiting.
type subject interface {
	// closeInput tells the leader that there is nothing more to do. It reports
	// whether the leader can notice.
	closeInput() bool
	// exited is closed when the leader has exited.
	exited() <-chan struct{}
	// others returns what is alive of the tree without the leader.
	others() ([]entry, error)
	// terminate asks the group and others to end, kill ends them. Both leave
	// out whoever can't be signalled: the next look shows that.
	terminate(others []entry)
	kill(others []entry)
	// self is the leader's entry, for a SurvivorError.
	self() entry
}

// A ladder ends subjects: close the input, wait, ask, wait, kill, and look
// until nothing is left.
type ladder struct {
	grace time.Duration
	// hurry is closed to skip the waits that are left.
	hurry <-chan struct{}
}

// climb returns nil when nothing of s is alive. It takes at most two graces
// and killLimit.
func (l ladder) climb(s subject) error {
	if s.closeInput() {
		l.await(s.exited())
	}
	if gone, _ := l.gone(s); gone {
		return nil
	}
	if !l.hurried() {
		others, _ := s.others()
		s.terminate(others)
		if l.look(s, l.grace, l.hurry) {
			return nil
		}
	}
	return l.sweep(s)
}

// await waits for done, for at most the grace.
func (l ladder) await(done <-chan struct{}) {
	timer := time.NewTimer(l.grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-l.hurry:
	}
}

func (l ladder) hurried() bool {
	select {
	case <-l.hurry:
		return true
	default:
		return false
	}
}

// gone reports whether nothing of s is alive, and else what is, the leader
// left out.
func (l ladder) gone(s subject) (bool, []entry) {
	others, err := s.others()
	return err == nil && len(others) == 0 && isClosed(s.exited()), others
}

// look looks until s is gone, for at most limit or until stop is closed.
func (l ladder) look(s subject, limit time.Duration, stop <-chan struct{}) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for pause := lookMin; ; pause = min(2*pause, lookMax) {
		if gone, _ := l.gone(s); gone {
			return true
		}
		select {
		case <-time.After(pause):
		case <-deadline.C:
			return false
		case <-stop:
			return false
		}
	}
}

// sweep kills until nothing is left: a process may fork between the look and
// its end.
func (l ladder) sweep(s subject) error {
	deadline := time.Now().Add(killLimit)
	for pause := lookMin; ; pause = min(2*pause, lookMax) {
		others, err := s.others()
		if err == nil && len(others) == 0 && isClosed(s.exited()) {
			return nil
		}
		s.kill(others)
		if time.Now().After(deadline) {
			return l.survivors(s, others, err)
		}
		time.Sleep(pause)
	}
}

func (l ladder) survivors(s subject, others []entry, err error) error {
	if !isClosed(s.exited()) {
		others = append(slices.Clone(others), s.self())
	}
	if len(others) == 0 {
		return fmt.Errorf("process table: %w", err)
	}
	return survivorsOf(others)
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func survivorsOf(left []entry) *SurvivorError {
	left = slices.Clone(left)
	slices.SortFunc(left, func(a, b entry) int { return a.pid - b.pid })
	e := &SurvivorError{}
	for _, o := range left {
		e.PIDs = append(e.PIDs, o.pid)
		e.Names = append(e.Names, o.name)
	}
	return e
}
