// Package tidy holds the tests of the repository itself: who may import
// whom, which package owns which part of the standard library, sizes, doc
// comments, and what no file may name. It has no code of its own; a rule
// that matters is a test with a message.
package tidy
