// Package term is the face of one turn on a terminal: what `dragoman run`
// prints and asks. The answer's text goes to standard output as it comes,
// everything about it to standard error; with JSON each event is one line in
// the full form (lanes.md §1) on standard output.
//
// # Concurrency
//
// A [Host] is used by one session. Event is called by one goroutine at a
// time; Ask may be called from several, and asks the person one question
// after the other.
package term
