// Package claude is the lane of Claude Code's stream-json and control
// protocol (lanes.md §4): one process a session, JSON lines both ways.
//
// # Goroutines
//
// One goroutine reads the agent's output, in order, and emits every event; a
// turn's state is its alone until the turn's result was read. Each permission
// question waits on a goroutine that ends with its turn, or with the session
// for one outside of a turn.
package claude
