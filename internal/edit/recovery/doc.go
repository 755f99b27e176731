// Package recovery keeps the unsaved edits of buffers where a crash leaves
// them: an append-only log a buffer, synced each second (core.md §6,
// buffer.recover).
//
// A log starts with what the edits were made on: the file's path, size, time
// and hash, and the text itself where it is small or has no file. Then come the
// edits, each with a checksum; a torn end is left out when reading. Logs are
// 0600 and never redacted.
//
// # Concurrency
//
// A Store and its Logs may be used from any goroutine. Writing to a Log only
// adds to memory; the store's one goroutine writes and syncs, and is waited for
// by Close.
package recovery
