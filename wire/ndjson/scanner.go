package ndjson

import "fmt"

// DefaultDepth is the nesting that a Scanner allows where Limits.Depth is 0
// (sidecar.md §1).
const DefaultDepth = 1000

// MaxMembers is how many members one object may have.
const MaxMembers = 1_000_000

// Limits are budgets of one line (envelope.md "Line and budgets"). 0 means
// none, except for Depth.
type Limits struct {
	Depth        int // containers inside each other; 0 means DefaultDepth
	Values       int // JSON values, containers and the top one counted, keys not
	ArrayLen     int // elements of one array
	StringBytes  int // bytes of one string or key, decoded to UTF-8
	NumberDigits int // digits of one number's mantissa and exponent together
}

// A Code says what is wrong with a line.
type Code string

// The codes of a [SyntaxError]; the set is closed.
const (
	InvalidUTF8    Code = "invalid UTF-8"
	InvalidJSON    Code = "invalid JSON"
	DuplicateKey   Code = "duplicate key"
	LoneSurrogate  Code = "lone surrogate"
	TooDeep        Code = "nesting too deep"
	TooManyValues  Code = "too many values"
	TooManyMembers Code = "too many members"
	ArrayTooLong   Code = "array too long"
	StringTooLong  Code = "string too long"
	NumberTooLong  Code = "number too long"
	TrailingData   Code = "trailing data"
)

// A SyntaxError is the first thing wrong with a line, by its offset.
type SyntaxError struct {
	Code   Code
	Offset int // in bytes from the start of the line
	Limit  int // of the budget that was passed, else 0
}

// Error never shows the line's content.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Code, e.Offset)
}

// A Kind is the type of a JSON value.
type Kind byte

// The kinds; 0 is none.
const (
	Object Kind = iota + 1
	Array
	String
	Number
	True
	False
	Null
)

// A Span is a half-open range of bytes.
type Span struct{ Start, End int }

// Of returns the bytes of line that s covers.
func (s Span) Of(line []byte) []byte { return line[s.Start:s.End:s.End] }

// A Member is one member of an object.
type Member struct {
	Key     []byte // decoded
	KeySpan Span   // of the key with its quotes
	Value   Span
	Kind    Kind // of the value
}

// A Scanner checks lines and finds the members of their objects. It keeps
// its memory between lines, and isn't safe for concurrent use.
type Scanner struct {
	// Limits are the budgets of each line.
	Limits Limits
}

// Scan checks that line is one JSON value in strict UTF-8, without duplicate
// keys, lone surrogates or anything behind it, within the limits. It returns
// nil or a [*SyntaxError].
func (s *Scanner) Scan(line []byte) error { panic("todo") }

// Kind is the kind of the last line's value.
func (s *Scanner) Kind() Kind { panic("todo") }

// Members are the members of the last line's object in order, nil if it isn't
// one. They are valid until the next Scan, and as long as the line is.
func (s *Scanner) Members() []Member { panic("todo") }

// Find returns the member with exactly that key.
func (s *Scanner) Find(key string) (Member, bool) { panic("todo") }
