package op

import "context"

// A Unit is what Character of a position counts (core.md §5).
type Unit uint8

// The units; the zero value is the default.
const (
	UTF8 Unit = iota
	UTF16
	UTF32
	// Units is how many there are.
	Units
)

// String is the wire's name.
func (u Unit) String() string {
	return [...]string{"utf-8", "utf-16", "utf-32"}[u]
}

// ParseUnit returns the unit of a wire name.
func ParseUnit(name string) (Unit, bool) {
	for u := range Units {
		if u.String() == name {
			return u, true
		}
	}
	return UTF8, false
}

// A Role is what a client may do at most (core.md §3).
type Role string

// The roles.
const (
	Observe Role = "observe"
	Control Role = "control"
)

// Access is what the caller may do (core.md §3 "Who may what"). The zero
// value may do nothing but read.
type Access struct {
	// Role is the token's, control on unix and stdio.
	Role Role
	// Descendant marks a peer that descends from one of the core's sessions
	// or runs.
	Descendant bool
}

// Allows returns nil or denied for an operation of that effect.
func (a Access) Allows(name string, effect Effect) error {
	switch {
	case effect == Read:
		return nil
	case a.Descendant:
		return Denied("descendant", "%s: a process that the core started may only read", name)
	case a.Role != Control:
		return Denied("role", "%s has effect %s, the role %s may only read", name, effect, Observe)
	}
	return nil
}

// A Call is who calls. In-process callers make their own.
type Call struct {
	// Client is the id of the attached client, "" for none.
	Client string
	// Unit is the one of positions in params and result.
	Unit Unit
	// Access is what the caller may do; handlers need it only where it isn't
	// the declared effect that decides.
	Access Access
}

// A Mark tells where a bulk event leaves a run's stream, for clients that
// have to skip (core.md §2).
type Mark struct {
	// Stream is the stream of the run ("stdout"); "" where there is one.
	Stream string
	// Next is the offset behind the event: bytes for exec.output, items sent
	// so far elsewhere.
	Next int64
}

// A Run is what the work of a streaming operation has of its run. Its
// methods may be called from any goroutine, and do nothing after the end.
type Run interface {
	Emitter
	// ID is the run's id.
	ID() string
	// Bulk sends a bulk event to the run's client and to those that asked.
	Bulk(m Message, at Mark)
	// Progress emits run.progress; total 0 means unknown.
	Progress(done, total int64, text string)
	// Running tells that a queued run has begun.
	Running()
	// SetSession names the agent session that the run belongs to.
	SetSession(id string)
}

// Work is what a streaming operation does once it was acknowledged.
type Work[R any] struct {
	// Session is the agent session of the run, where it is known already.
	Session string
	// Queued starts the run as queued; Do calls Running.
	Queued bool
	// Do runs until the end of the run. What it started is gone when it
	// returns.
	Do func(ctx context.Context, r Run) (R, error)
}

// A Job is a [Work] whatever its result.
type Job struct {
	// Session and Queued as in Work.
	Session string
	Queued  bool
	// Do as in Work; the result is an R.
	Do func(ctx context.Context, r Run) (any, error)
}

// A Scope ends a run with the client that started it (core.md §2).
type Scope string

// ScopeClient is the one scope.
const ScopeClient Scope = "client"

// Enum lists the values.
func (Scope) Enum() []string { return []string{string(ScopeClient)} }

// Streaming is embedded in the params of every streaming operation.
type Streaming struct {
	// Scope "client" ends the run when the client detaches.
	Scope Scope `json:"scope,omitzero"`
}

// RunScope returns the scope.
func (s Streaming) RunScope() Scope { return s.Scope }
