// Package attribute says whose change a changed path is (documents.md rule 3).
//
// The decision is pure: what is known of runs, calls and git operations at a
// moment, a path and a time give a verdict.
//
// # Concurrency
//
// Functions only; facts aren't changed.
package attribute

import (
	"slices"
	"strings"
	"time"
)

// CallGrace is how long after its end a call still explains a change of a path
// that it names.
const CallGrace = 2 * time.Second

// Certainty says how sure a verdict is.
type Certainty string

// The certainties, as on the wire; Unknown goes with a change that is nobody's.
const (
	Exact     Certainty = "exact"
	Reported  Certainty = "reported"
	Inferred  Certainty = "inferred"
	Ambiguous Certainty = "ambiguous"
	Unknown   Certainty = ""
)

// Kind is what changed a path.
type Kind string

// The kinds of verdicts, as on the wire.
const (
	Agent Kind = "agent"
	Exec  Kind = "exec"
	Git   Kind = "git"
	Disk  Kind = "disk"
)

// A Call is a tool call that edits, moves or deletes.
type Call struct {
	// ID is the agent's.
	ID string
	// Paths are absolute and resolved. A folder names what is below it.
	Paths []string
	// Ended is when it ended; zero: it is in flight.
	Ended time.Time
}

// A Run is a run that may change files: a turn or a program.
type Run struct {
	ID, Session string
	// Parent is the run that started it, "" for none: what a sub-agent or an
	// agent's terminal does counts for that one.
	Parent string
	Kind   Kind
	// Folders are its cwd and roots.
	Folders []string
	// Ended is when it ended; zero: it is active.
	Ended time.Time
	Calls []Call
}

// A GitOperation is one that the core runs.
type GitOperation struct {
	// Run is its run; "" if it has none.
	Run string
	// Top is the repository's top folder.
	Top string
}

// Facts are what is known at a moment.
type Facts struct {
	Runs []Run
	Git  []GitOperation
}

// A Verdict says whose a change is.
type Verdict struct {
	Kind      Kind
	Certainty Certainty
	// Run is "" when nobody or several did it.
	Run, Session, Call string
	// Runs are the candidates of an ambiguous one, sorted.
	Runs []string
}

// Through is the verdict for what went through the core itself (rule 3a).
func Through(run Run, call string) Verdict {
	return Verdict{Kind: run.Kind, Certainty: Exact, Run: run.ID, Session: run.Session, Call: call}
}

// Decide gives the first of rule 3's answers (b to f) that fits a path which
// changed at a time without the core. Of the calls that name the path, those in
// flight come before those that ended; calls of several runs are ambiguous.
func Decide(f Facts, path string, at time.Time) Verdict {
	if v, ok := named(f, path, at); ok {
		return v
	}
	for _, g := range f.Git {
		if Covers(g.Top, path) {
			return Verdict{Kind: Git, Certainty: Exact, Run: g.Run}
		}
	}
	var active []Verdict
	for _, r := range f.Runs {
		if r.Ended.IsZero() && slices.ContainsFunc(r.Folders, func(dir string) bool { return Covers(dir, path) }) {
			active = append(active, f.verdict(r, "", Inferred))
		}
	}
	if v, ok := one(active); ok {
		return v
	}
	return Verdict{Kind: Disk}
}

// named looks for calls that name the path.
func named(f Facts, path string, at time.Time) (Verdict, bool) {
	var flying, ended []Verdict
	for _, r := range f.Runs {
		for _, c := range r.Calls {
			switch {
			case !c.Names(path):
			case c.Ended.IsZero():
				flying = append(flying, f.verdict(r, c.ID, Reported))
			case at.Sub(c.Ended) <= CallGrace:
				ended = append(ended, f.verdict(r, c.ID, Reported))
			}
		}
	}
	if v, ok := one(flying); ok {
		return v, true
	}
	return one(ended)
}

// verdict is about a run, or the topmost one that it belongs to.
func (f Facts) verdict(r Run, call string, c Certainty) Verdict {
	for range f.Runs {
		i := slices.IndexFunc(f.Runs, func(p Run) bool { return p.ID == r.Parent })
		if r.Parent == "" || i < 0 {
			break
		}
		r = f.Runs[i]
	}
	return Verdict{Kind: r.Kind, Certainty: c, Run: r.ID, Session: r.Session, Call: call}
}

// one makes a single verdict of those that fit; the latest call of one run
// counts.
func one(fit []Verdict) (Verdict, bool) {
	if len(fit) == 0 {
		return Verdict{}, false
	}
	var runs []string
	for _, v := range fit {
		runs = append(runs, v.Run)
	}
	slices.Sort(runs)
	if runs = slices.Compact(runs); len(runs) > 1 {
		return Verdict{Kind: fit[0].Kind, Certainty: Ambiguous, Runs: runs}, true
	}
	return fit[len(fit)-1], true
}

// Names reports whether the call names a path, or a folder above it.
func (c Call) Names(path string) bool {
	return slices.ContainsFunc(c.Paths, func(p string) bool { return Covers(p, path) })
}

// Covers reports whether a path is folder or below it.
func Covers(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
