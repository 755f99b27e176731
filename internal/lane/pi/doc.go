// Package pi is the lane of pi's RPC mode (lanes.md §7): one process a
// session, JSON lines both ways. pi asks nobody before it runs a tool; an
// extension that we ship, gate.ts, makes it ask.
//
// # Goroutines
//
// One goroutine reads pi's output, in order, and emits every event; see
// package native for turns and questions.
package pi
