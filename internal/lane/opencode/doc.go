// Package opencode is the lane of OpenCode's HTTP server (lanes.md §6): one
// server a session, requests one way, server-sent events the other.
//
// # Goroutines
//
// One goroutine reads the stream of events, in order, and emits; when the
// stream breaks it subscribes again, reads the messages again and goes on.
// Another reads the server's stdout to its end and then waits for its exit.
// See package native for turns and questions.
package opencode
