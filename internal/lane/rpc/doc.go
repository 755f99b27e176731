// Package rpc drives agents that speak some JSON-RPC-like dialect, declared
// call by call (sidecar.md §7): which calls open a session and run a turn,
// what ends it, where its text is, and how messages are wrapped.
//
// # Concurrency
//
// One goroutine reads the agent's frames. It hands over notifications and
// settles calls in wire order, and emits events itself, so that a host that
// doesn't read holds back the agent. Turns are driven by Prompt's goroutine;
// what both touch is guarded by the turn's lock.
package rpc
