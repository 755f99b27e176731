// Package checkpoint keeps the contents that files had before and after an
// agent's turn (documents.md rule 4), so that a turn can be looked at and taken
// back outside git too.
//
// The store is content-addressed: one file a content, named by its hash,
// readable by its owner alone, never redacted, removed by age (core.md §7). A
// content that is asked for again gets younger.
//
// # Concurrency
//
// A Store may be used from any goroutine and by several processes; a Budget
// from any goroutine.
package checkpoint
