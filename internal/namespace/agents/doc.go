// Package agents serves the agent namespace (core.md §6 "agent"): sessions
// with agents that all clients see and drive, the questions that agents ask,
// and the history of it all.
//
// # Parts
//
// A Space holds the sessions and binds the operations. A held session is the
// host of one engine session ([session.Session]) at a time: it turns what the
// lane tells into events, numbers them, and has the journal write them before
// clients see them. Turns stand in line here, so that a queued run can be
// cancelled without the agent hearing of it.
//
// # Concurrency
//
// All methods may be called from any goroutine. A held session has two locks:
// out orders its events, and is taken before mu, which guards its state and is
// never held while something waits. Turns run on the goroutines of their runs.
package agents
