// Package codex is the lane of Codex (lanes.md §5): its app-server, a
// JSON-RPC peer that several sessions share, and `codex exec --json`, one
// process a turn that asks nothing.
//
// # Goroutines
//
// A server's reading goroutine sorts what the agent says by thread into the
// inboxes of the sessions; each session has one goroutine that empties its
// inbox in order and emits every event, so that a host that doesn't read
// holds back its own session only, up to the inbox's limit. Each permission
// question waits on a goroutine that ends with its turn. In exec mode Prompt
// itself reads the process.
package codex
