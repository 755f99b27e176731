// Package match finds a literal or a regular expression in text: the one
// matcher of buffer.find, buffer.matches, buffer.replaceAll and project.search
// (core.md §6).
//
// A query is literal, or a regular expression in RE2 syntax in which ^ and $
// are by line and . never is a line end; case is ignored by Unicode simple
// folding. The matches are those that the standard library's regexp gives:
// leftmost-first, one after the other, no empty one right after another match.
// It does 55 MB/s; so matches are found here by bytes.Index where the query is
// or holds a literal, and else by two lazy automata: a forward one that gives
// the end of the leftmost match and a backward one that gives its start.
//
// Text is valid UTF-8 in the wire's form: '\n' ends a line. Offsets are bytes.
//
// # Concurrency
//
// A Pattern may be used by any number of goroutines; each search takes its
// automata from a pool.
package match
