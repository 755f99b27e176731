package agent

// Error is how an adapter's work fails: the one shape for every lane and
// face (sidecar.md §2). It is compared by Code and Stage, never by text.
type Error struct {
	// Code is one of the Code constants, for programs.
	Code string
	// Stage says where: "session/open", "rpc/call", …
	Stage string
	// Retryable: trying the same again may work.
	Retryable bool
	// UncertainEffect: the agent may have acted all the same.
	UncertainEffect bool
	// Detail is for people: what happened, with exit status and the last
	// line of stderr where there is one; never a secret.
	Detail string
}

// Error returns the wire's message: `code [stage]: detail`.
func (e *Error) Error() string { return e.Code + " [" + e.Stage + "]: " + e.Detail }

// SpecError says that a spec is bad or refused before anything starts. Faces
// answer it as invalid params (-32602 on the sidecar), with data null.
type SpecError struct{ Detail string }

func (e *SpecError) Error() string { return e.Detail }
