// Package diff compares texts by lines: the changes between two, hunks for
// people, edits that lead from one to the other, and three-way merges
// (core.md §6 buffer.diff, documents.md rules 6 and 8).
//
// A line includes its end: a line that ends with CR LF isn't the one that ends
// with LF. Space is linear in the lines that differ; time is bounded, at the
// price of a result that isn't the shortest when texts have little in common.
//
// # Concurrency
//
// Functions only; each may be called from any goroutine.
package diff
