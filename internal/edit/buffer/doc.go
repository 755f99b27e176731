// Package buffer is the engine of the buffer namespace (core.md §5 and §6,
// documents.md rules 1, 2 and 6): which documents are open, what changes them,
// and how they meet the disk.
//
// It knows no connection and no JSON: its functions take and give plain Go
// values, its errors are *Error with the codes of core.md §4, and what clients
// are told goes to an [Observer].
//
// # Concurrency
//
// A [Set] may be used from any goroutine. Each buffer has one lock for its
// text, held for microseconds, and one for its file, held while reading or
// writing it and taken before the other. What takes long works on a snapshot
// and commits if the revision still stands. The observer is called with the
// text's lock held, so that its calls come in the order of the revisions: it
// must not block or call back.
package buffer
