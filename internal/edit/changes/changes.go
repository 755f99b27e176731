// Package changes keeps what each run did to each file as (before, after)
// pairs, and folds them into what agent.changes tells and agent.revert takes
// back (documents.md rules 10 to 12).
//
// A step is one observed change of one path. Steps of a run on a path that
// continue one another are one pair; where somebody else changed the file
// between, a new pair begins and the file is mixed. What comes to nothing is
// left out.
//
// # Concurrency
//
// A Ledger may be used from any goroutine.
package changes

import (
	"io/fs"
	"slices"
	"time"

	"dragoman/internal/edit/attribute"
)

// A Version is a content that a file had; a nil one: there was no file.
type Version struct {
	// Hash is "sha256:HEX" of the bytes; "" if nobody read them.
	Hash string      `json:"hash"`
	Size int64       `json:"size"`
	Mode fs.FileMode `json:"mode"`
	// Why says why the bytes can't be had again, "" if they can.
	Why string `json:"why,omitzero"`
}

// Same reports whether two versions are known to be the same bytes and mode.
func Same(a, b *Version) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Hash != "" && a.Hash == b.Hash && a.Mode.Perm() == b.Mode.Perm()
}

// SameBytes is Same whatever the modes.
func SameBytes(a, b *Version) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Hash != "" && a.Hash == b.Hash
}

// A Step is one change of one path.
type Step struct {
	// Path is absolute; From is the old one of what was moved.
	Path string `json:"-"`
	From string `json:"-"`
	// Before is what was there (at From, if that is set), After what is.
	Before *Version  `json:"before"`
	After  *Version  `json:"after"`
	At     time.Time `json:"at"`
	// Owner is whose it is.
	Owner attribute.Verdict `json:"owner"`
}

// of reports whether a step is one of a run's, or may be.
func (s *Step) of(run string) bool {
	return s.Owner.Run == run || slices.Contains(s.Owner.Runs, run)
}

// A Pair is what a run made of a content, with nobody else between.
type Pair struct{ Before, After *Version }

// Kind says what became of a file.
type Kind string

// The kinds, as on the wire.
const (
	Created Kind = "created"
	Changed Kind = "changed"
	Deleted Kind = "deleted"
	Renamed Kind = "renamed"
)

// A File is what a run did to one file.
type File struct {
	// Path is where it is now, From where it was before, "" if that's the same.
	Path, From string
	Kind       Kind
	// Certainty is that of the least certain step.
	Certainty attribute.Certainty
	// Pairs are the oldest first; none of them is nothing.
	Pairs []Pair
	// Mixed: others changed it between.
	Mixed bool
	// OverwrittenBy is a later run that changed it.
	OverwrittenBy string
}

// Before is what the first pair began with.
func (f *File) Before() *Version { return f.Pairs[0].Before }

// After is what the last pair ended with.
func (f *File) After() *Version { return f.Pairs[len(f.Pairs)-1].After }

// Why says why the file can't be taken back, "" if it can.
func (f *File) Why() string {
	for _, p := range f.Pairs {
		for _, v := range []*Version{p.Before, p.After} {
			if v != nil && v.Why != "" {
				return v.Why
			}
		}
	}
	return ""
}

// A track is one file on its way through the steps.
type track struct {
	File
	last int
}

// Fold gives what the steps of the runs come to, in the order in which the
// files were first touched. steps are all that are known, in their order.
func Fold(steps []Step, runs ...string) []File {
	var order []*track
	at := map[string]*track{}
	for i := range steps {
		s := &steps[i]
		if !slices.ContainsFunc(runs, s.of) {
			continue
		}
		t := at[s.Path]
		if s.From != "" {
			t = at[s.From]
			delete(at, s.From)
		}
		if t == nil {
			t = &track{File: File{Path: s.Path, From: s.Path, Certainty: s.Owner.Certainty}}
			if s.From != "" {
				t.From = s.From
			}
			order = append(order, t)
		}
		at[s.Path] = t
		t.add(s, i)
	}
	files := []File{}
	for _, t := range order {
		if t.settle() {
			t.OverwrittenBy = overwriter(steps[t.last+1:], t.Path, runs)
			files = append(files, t.File)
		}
	}
	return files
}

func (t *track) add(s *Step, index int) {
	t.Path, t.last = s.Path, index
	t.Certainty = weaker(t.Certainty, s.Owner.Certainty)
	if n := len(t.Pairs); n > 0 && SameBytes(t.Pairs[n-1].After, s.Before) {
		t.Pairs[n-1].After = s.After
		return
	}
	t.Mixed = len(t.Pairs) > 0
	t.Pairs = append(t.Pairs, Pair{s.Before, s.After})
}

// settle drops what came to nothing; false: all of it.
func (t *track) settle() bool {
	moved := t.From != t.Path
	before, after := t.Pairs[0].Before, t.Pairs[len(t.Pairs)-1].After
	kept := slices.DeleteFunc(slices.Clone(t.Pairs), func(p Pair) bool { return Same(p.Before, p.After) })
	if len(kept) == 0 && !moved || before == nil && after == nil {
		return false
	}
	if len(kept) > 0 {
		t.Pairs = kept
		before, after = t.File.Before(), t.File.After()
	}
	switch {
	case before == nil:
		t.Kind, t.From = Created, ""
	case after == nil:
		t.Path, t.Kind, t.From = t.From, Deleted, ""
	case moved:
		t.Kind = Renamed
	default:
		t.Kind, t.From = Changed, ""
	}
	return true
}

// overwriter is the last of the other runs that changed a path.
func overwriter(later []Step, path string, runs []string) string {
	for _, s := range slices.Backward(later) {
		if (s.Path == path || s.From == path) && s.Owner.Run != "" && !slices.Contains(runs, s.Owner.Run) {
			return s.Owner.Run
		}
	}
	return ""
}

// weaker is the less certain of two.
func weaker(a, b attribute.Certainty) attribute.Certainty {
	order := []attribute.Certainty{attribute.Exact, attribute.Reported, attribute.Inferred, attribute.Ambiguous}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
