// Package ndjson frames, checks, repairs and writes newline-delimited JSON.
//
// A [Reader] cuts a stream into lines within a limit and survives lines that
// break it. A [Scanner] checks one line in one pass, without building values,
// and tells where the members of its object lie, so that callers carry values
// byte for byte. [Repair] is the lenient reading for agents' lines. A [Writer]
// takes whole lines from many goroutines and writes them from one.
//
// It implements sidecar.md §1, the framing of core.md §1, and "Line and
// budgets" of envelope.md.
package ndjson
