package turns

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/maphash"
	"io"
	iofs "io/fs"
	"path/filepath"
	"sync"
	"time"

	"dragoman/internal/edit/attribute"
	"dragoman/internal/edit/changes"
	"dragoman/internal/edit/checkpoint"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/ignore"
	"dragoman/internal/edit/manifest"
	"dragoman/internal/edit/watch"
)

// Why a content can't be had again.
const (
	whyPartial = "checkpoint_partial"
	whyIgnored = "ignored"
	whySize    = "too_large"
	whyRead    = "unreadable"
)

// lock holds a path.
func (t *Tracker) lock(path string) *sync.Mutex {
	m := &t.paths[maphash.String(t.seed, path)%stripes]
	m.Lock()
	return m
}

// lookBefore sets what a file is before a turn. late is when the turn began,
// zero if it didn't yet. What other turns did meanwhile is theirs.
func (t *Tracker) lookBefore(path string, late time.Time, budget *checkpoint.Budget) {
	defer t.lock(path).Unlock()
	had, known := t.manifest.Get(path)
	e, err := t.read(path, budget)
	if !late.IsZero() {
		if err != nil || e.Stat.Ctime.After(late) {
			return // the watcher tells
		}
	} else if known && t.followsAny() {
		t.settle(path, had, known, e, err, attribute.Decide(t.facts(), path, time.Now()), time.Now())
		return
	}
	if err != nil {
		t.manifest.Remove(path)
		return
	}
	t.manifest.Set(path, e)
}

// observe looks at what the watcher told.
func (t *Tracker) observe(c watch.Change, owner attribute.Verdict, at time.Time) {
	switch {
	case c.Kind == watch.Renamed && c.Type == watch.TypeDir:
		for _, p := range t.manifest.Below(c.From) {
			rel, err := filepath.Rel(c.From, p)
			if err == nil {
				t.move(p, filepath.Join(c.Path, rel), owner, at)
			}
		}
	case c.Type == watch.TypeDir:
		for _, p := range t.manifest.Below(c.Path) {
			t.look(p, owner, at)
		}
	case c.Kind == watch.Renamed:
		t.move(c.From, c.Path, owner, at)
	case c.Type == watch.TypeFile:
		t.look(c.Path, owner, at)
	}
}

// look takes in what a path became.
func (t *Tracker) look(path string, owner attribute.Verdict, at time.Time) {
	defer t.lock(path).Unlock()
	had, known := t.manifest.Get(path)
	if st, err := t.files.Stat(path); err == nil && known && st.Same(had.Stat) {
		return
	}
	e, err := t.read(path, t.budget(owner.Run))
	t.settle(path, had, known, e, err, owner, at)
}

// settle remembers what a path was and became; the path is held.
func (t *Tracker) settle(path string, had manifest.Entry, known bool, e manifest.Entry, err error, owner attribute.Verdict, at time.Time) {
	s := changes.Step{Path: path, At: at, Owner: owner, Before: t.before(path, had, known)}
	switch {
	case errors.Is(err, iofs.ErrNotExist), errors.Is(err, file.ErrNotRegular):
		t.manifest.Remove(path)
	case err != nil:
		s.After = &changes.Version{Why: whyRead}
	default:
		t.manifest.Set(path, e)
		s.After = &e.Version
	}
	t.add(s)
}

// before is what a path was, nil for nothing.
func (t *Tracker) before(path string, had manifest.Entry, known bool) *changes.Version {
	switch {
	case known:
		v := had.Version
		return &v
	case !t.manifest.Whole(path):
		return &changes.Version{Why: whyPartial}
	case t.ignored(path):
		return &changes.Version{Why: whyIgnored}
	}
	return nil
}

// add remembers a step that is a run's, unless nothing changed or the step is
// known from the buffer that was saved.
func (t *Tracker) add(s changes.Step) {
	if s.Owner.Run == "" && len(s.Owner.Runs) == 0 || s.From == "" && changes.Same(s.Before, s.After) {
		return
	}
	last, ok := t.o.Ledger.Last(s.Path)
	saved := ok && s.Owner.Certainty == attribute.Exact && s.From == "" && last.Owner.Run == s.Owner.Run
	if saved && changes.SameBytes(last.After, s.After) && !changes.SameBytes(s.Before, s.After) {
		return
	}
	t.o.Ledger.Add(s)
	told := append([]string{s.Owner.Run}, s.Owner.Runs...)
	if ok && last.Owner.Run != s.Owner.Run {
		told = append(told, last.Owner.Run)
	}
	t.moved(told...)
}

// move takes in that a file has another path.
func (t *Tracker) move(from, to string, owner attribute.Verdict, at time.Time) {
	had, known := t.manifest.Get(from)
	if _, err := t.files.Stat(from); err == nil || !known {
		t.look(from, owner, at)
		t.look(to, owner, at)
		return
	}
	defer t.lock(to).Unlock()
	e, err := t.read(to, t.budget(owner.Run))
	t.manifest.Remove(from)
	if err != nil {
		t.add(changes.Step{Path: from, At: at, Owner: owner, Before: &had.Version})
		return
	}
	t.manifest.Set(to, e)
	t.add(changes.Step{Path: to, From: from, At: at, Owner: owner, Before: &had.Version, After: &e.Version})
}

func (t *Tracker) budget(run string) *checkpoint.Budget {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.runs[run]; f != nil {
		return &f.budget
	}
	return nil
}

// ignored reports whether git ignores a path, so that no manifest has it.
func (t *Tracker) ignored(path string) bool {
	root, ok := t.o.Roots.RootOf(path)
	if !ok {
		return true
	}
	kind := ignore.File
	for ; path != root && path != filepath.Dir(path); path, kind = filepath.Dir(path), ignore.Dir {
		if ignore.Load(filepath.Dir(path), t.o.GlobalIgnore).Ignored(filepath.Base(path), kind) {
			return true
		}
	}
	return false
}

// readTries is how often a file is read that changes meanwhile.
const readTries = 5

// read reads a file and keeps its bytes.
func (t *Tracker) read(path string, budget *checkpoint.Budget) (e manifest.Entry, err error) {
	for range readTries {
		var stable bool
		if e, stable, err = t.readOnce(path, budget); stable || err != nil {
			return e, err
		}
	}
	return e, nil
}

func (t *Tracker) readOnce(path string, budget *checkpoint.Budget) (e manifest.Entry, stable bool, err error) {
	f, err := t.files.Open(path)
	if err != nil {
		return e, false, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return e, false, err
	}
	e = manifest.Entry{Stat: st, Version: changes.Version{Size: st.Size, Mode: st.Mode.Perm()}}
	in := io.NewSectionReader(f, 0, st.Size)
	if st.Size > checkpoint.MaxFileBytes {
		sum := sha256.New()
		if _, err := io.Copy(sum, in); err != nil {
			return e, false, err
		}
		e.Version.Hash, e.Version.Why = "sha256:"+hex.EncodeToString(sum.Sum(nil)), whySize
	} else if err := t.keep(&e, in, budget); err != nil {
		return e, false, err
	}
	after, err := f.Stat()
	return e, err == nil && after.Same(st), err
}

// keep puts the bytes into the store. What there is no room for has a reason.
func (t *Tracker) keep(e *manifest.Entry, in io.Reader, budget *checkpoint.Budget) error {
	content, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	e.Version.Hash, err = t.o.Store.Put(content, budget)
	if errors.Is(err, checkpoint.ErrTurnLimit) {
		e.Version.Why = whyPartial
		return nil
	}
	return err
}
