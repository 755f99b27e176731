// Package serve drives OpenCode's server with sessions under /api: a child
// that announces an address and a password on stdout, and is then polled over
// HTTP (sidecar.md §7). A server that announces itself the older way is handed
// to [Driver.Legacy].
//
// # Concurrency
//
// Prompt's goroutine does the requests of a turn; one goroutine reads stdout
// to its end. Conn's methods are safe for concurrent use.
package serve
