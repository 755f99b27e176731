// Package cli drives agents that are one process a turn, declared by their
// arguments (sidecar.md §6, lanes.md §9). Between turns nothing runs; what
// binds the turns of a session is the agent's own id, given by resume, asked
// by openArgs, or learnt from the output or a receipt.
//
// # Concurrency
//
// A turn has two goroutines: Prompt itself, which watches the process, the
// cancel and the close, and one that reads stdout and emits. Prompt returns
// after both.
package cli
