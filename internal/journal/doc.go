// Package journal keeps what happens in sessions on disk (core.md §6
// agent.history): one log a session, appended as things happen, synced when
// somebody asks for it.
//
// # Files
//
// A session is a folder; its log is a row of preallocated segments named by
// the index of their first entry. An entry is its length, its CRC-32C and its
// JSON. What follows the last whole entry is zeros, or a torn write that the
// next Open cuts off. Files are 0600, folders 0700.
//
// # Secrets
//
// Every string of every entry and note goes through internal/redact here,
// where it is written, and nowhere else.
//
// # Concurrency
//
// All methods may be called from any goroutine. One goroutine writes; syncs
// that are asked for while it is busy share one fsync a log. Close waits for it.
package journal
