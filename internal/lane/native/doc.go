// Package native is what lanes share whose agent runs a whole session and
// tells what it does as it goes: the turn that is running, its fence, its
// budget and its questions, and the clocks of sidecar.md §2. A lane adds the
// dialect.
//
// # Goroutines
//
// One goroutine of the lane reads what the agent says and handles each record
// in [Session.Handle]; a turn's state is its alone until the turn has ended.
// Each question waits on a goroutine that ends with its turn, or with the
// session for one outside of a turn; [Session.Wait] waits for them.
package native
