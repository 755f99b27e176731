package changes

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/internal/edit/attribute"
)

// Limits of what is remembered.
const (
	// MaxAge is how long steps are remembered over starts.
	MaxAge = 14 * 24 * time.Hour
	// MaxSteps is how many steps are remembered; the oldest go first.
	MaxSteps = 200_000
	// maxRecord is the longest line that is read back.
	maxRecord = 1 << 20
)

// A Turn is what is known of a run beside its steps.
type Turn struct {
	Run, Session string
	At           time.Time
	// Ended says that the look at its end was made, Complete that it wasn't cut
	// short.
	Ended, Complete bool
	// HeadBefore and HeadAfter are the commits of HEAD, "" for none.
	HeadBefore, HeadAfter string
}

// A Ledger remembers steps and turns, in a file if it has one. Close gives that
// back.
type Ledger struct {
	mu    sync.Mutex
	file  *os.File
	steps []Step
	// trimmed is how many steps of the file came before the first of steps.
	trimmed int
	turns   map[string]Turn
	order   []string
	err     error
}

// record is one line of the file. Paths stand as bytes.
type record struct {
	Step       *Step  `json:"step,omitzero"`
	Path, From []byte `json:",omitempty"`
	Turn       *Turn  `json:"turn,omitzero"`
	// Amend and Owner correct the owner of the step with that number.
	Amend *int               `json:"amend,omitzero"`
	Owner *attribute.Verdict `json:"owner,omitzero"`
}

// Open opens the ledger in a file, "" for none, and forgets what is older than
// MaxAge. A torn last line is left out.
func Open(path string, now time.Time) (*Ledger, error) {
	l := &Ledger{turns: map[string]Turn{}}
	if path == "" {
		return l, nil
	}
	if err := l.load(path); err != nil {
		return nil, err
	}
	l.forget(now)
	return l, l.rewrite(path)
}

func (l *Ledger) load(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxRecord)
	for lines.Scan() {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			l.apply(r)
		}
	}
	return lines.Err()
}

func (l *Ledger) apply(r record) {
	switch {
	case r.Step != nil:
		s := *r.Step
		s.Path, s.From = string(r.Path), string(r.From)
		l.steps = append(l.steps, s)
	case r.Turn != nil:
		l.turn(*r.Turn)
	case r.Amend != nil && r.Owner != nil && *r.Amend >= 0 && *r.Amend < len(l.steps):
		l.steps[*r.Amend].Owner = *r.Owner
	}
}

func (l *Ledger) turn(t Turn) {
	if _, ok := l.turns[t.Run]; !ok {
		l.order = append(l.order, t.Run)
	}
	l.turns[t.Run] = t
}

// forget drops what is old.
func (l *Ledger) forget(now time.Time) {
	l.steps = slices.DeleteFunc(l.steps, func(s Step) bool { return now.Sub(s.At) > MaxAge })
	l.order = slices.DeleteFunc(l.order, func(run string) bool {
		old := now.Sub(l.turns[run].At) > MaxAge
		if old {
			delete(l.turns, run)
		}
		return old
	})
}

// rewrite puts all that is remembered into a new file, which then grows.
func (l *Ledger) rewrite(path string) error {
	temp := path + ".tmp"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	l.file = f
	for _, run := range l.order {
		t := l.turns[run]
		l.write(record{Turn: &t})
	}
	for i := range l.steps {
		l.write(stepRecord(l.steps[i]))
	}
	return errors.Join(l.err, os.Rename(temp, path))
}

func stepRecord(s Step) record { return record{Step: &s, Path: []byte(s.Path), From: []byte(s.From)} }

// write adds a line; the first error stays and is Close's.
func (l *Ledger) write(r record) {
	if l.file == nil || l.err != nil {
		return
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	l.err = err
}

// Close gives the file back. It tells whether something couldn't be written.
// It may be called twice.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return l.err
	}
	err := errors.Join(l.err, l.file.Close())
	l.file = nil
	return err
}

// Add remembers a step.
func (l *Ledger) Add(s Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(stepRecord(s))
	l.steps = append(l.steps, s)
}

// Begin remembers that a run has begun.
func (l *Ledger) Begin(t Turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trim()
	l.write(record{Turn: &t})
	l.turn(t)
}

// trim bounds the memory. The file keeps all steps until the next start.
func (l *Ledger) trim() {
	if over := len(l.steps) - MaxSteps; over > 0 {
		l.steps = slices.Delete(l.steps, 0, over)
		l.trimmed += over
	}
}

// End remembers how the look at a run's end went.
func (l *Ledger) End(run, head string, complete bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.turns[run]
	if !ok {
		return
	}
	t.Ended, t.Complete, t.HeadAfter = true, complete, head
	l.write(record{Turn: &t})
	l.turn(t)
}

// Turn gives what is known of a run.
func (l *Ledger) Turn(run string) (Turn, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.turns[run]
	return t, ok
}

// Runs gives the runs of a session, the oldest first.
func (l *Ledger) Runs(session string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var runs []string
	for _, run := range l.order {
		if l.turns[run].Session == session {
			runs = append(runs, run)
		}
	}
	return runs
}

// Files gives what runs did, folded.
func (l *Ledger) Files(runs ...string) []File {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Fold(l.steps, runs...)
}

// Last is the newest step of a path.
func (l *Ledger) Last(path string) (Step, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range slices.Backward(l.steps) {
		if s.Path == path {
			return s, true
		}
	}
	return Step{}, false
}

// Correct gives the steps that changed a path since a time to the run whose
// completed call names it, unless they are exact or reported already
// (documents.md rule 3). It tells the runs whose changes moved.
func (l *Ledger) Correct(owner attribute.Verdict, call attribute.Call, since time.Time) (moved []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.steps {
		s := &l.steps[i]
		sure := s.Owner.Certainty == attribute.Exact || s.Owner.Certainty == attribute.Reported
		if sure || s.At.Before(since) || !call.Names(s.Path) {
			continue
		}
		moved = append(moved, owner.Run)
		moved = append(moved, s.Owner.Runs...)
		if s.Owner.Run != "" {
			moved = append(moved, s.Owner.Run)
		}
		s.Owner = owner
		number := l.trimmed + i
		l.write(record{Amend: &number, Owner: &owner})
	}
	slices.Sort(moved)
	return slices.Compact(moved)
}
