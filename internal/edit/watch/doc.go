// Package watch tells what changes in folders (core.md §6 fs events,
// documents.md rules 1 and 2).
//
// An event of the operating system only means "look": each branch keeps a
// manifest of what is in it, and what counts is how that differs from what is
// there. So one's own changes, told by [Watcher.Expect], make no echo, lost
// events are made up for by a rescan, and polling is a rescan by the clock.
//
// # Concurrency
//
// One goroutine owns all state; the methods of [Watcher] may be called from any
// other one and hand it what to do. It calls the [Sink], which must not call
// back.
package watch
