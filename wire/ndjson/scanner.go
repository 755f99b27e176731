package ndjson

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// DefaultDepth is the nesting that a Scanner allows where Limits.Depth is 0
// (sidecar.md §1).
const DefaultDepth = 1000

// MaxMembers is how many members one object may have.
const MaxMembers = 1_000_000

// maxScanBytes bounds a line because offsets in it are kept in 31 bits.
const maxScanBytes = math.MaxInt32 - 1

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
	Limit  int // the budget that was passed, 0 for other codes
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

	lenient bool   // duplicate keys are cut, not refused
	cuts    []Span // of superseded members, with the comma behind them

	line    []byte
	kind    Kind
	members []Member
	frames  []frame
	keys    keys
	left    Limits // the budgets without zeros; Values counts down
	code    Code   // of the error that stops the scan, "" if none
	at      int    // its offset
}

// A frame is an open container.
type frame struct {
	object bool
	n      int // members or elements begun
	keys   int // index of its first key
	table  int // 1 + index of its table, 0 if it has none
}

// Scan checks that line is one JSON value in strict UTF-8, without duplicate
// keys, lone surrogates or anything behind it, within the limits. It returns
// nil or a [*SyntaxError].
func (s *Scanner) Scan(line []byte) error {
	s.reset(line)
	i := s.space(0)
	end := s.run(i)
	if s.code == "" {
		if end = s.space(end); end < len(line) {
			s.fail(TrailingData, end)
		}
	}
	s.keys.shrink()
	if s.code == "" {
		return nil
	}
	s.kind = 0
	if c := s.code; c == InvalidJSON || c == TrailingData {
		if r, n := utf8.DecodeRune(line[s.at:]); r == utf8.RuneError && n == 1 {
			s.code = InvalidUTF8
		}
	}
	return &SyntaxError{Code: s.code, Offset: s.at, Limit: s.left.of(s.code, s.Limits.Values)}
}

// of is the budget behind a code. The one of values is counted down, so it
// comes from outside.
func (l Limits) of(c Code, values int) int {
	switch c {
	case TooDeep:
		return l.Depth
	case TooManyValues:
		return values
	case TooManyMembers:
		return MaxMembers
	case ArrayTooLong:
		return l.ArrayLen
	case StringTooLong:
		return l.StringBytes
	case NumberTooLong:
		return l.NumberDigits
	}
	return 0
}

func (s *Scanner) reset(line []byte) {
	orNone := func(n int) int {
		if n <= 0 {
			return math.MaxInt
		}
		return n
	}
	s.left = Limits{
		Depth:        s.Limits.Depth,
		Values:       orNone(s.Limits.Values),
		ArrayLen:     orNone(s.Limits.ArrayLen),
		StringBytes:  orNone(s.Limits.StringBytes),
		NumberDigits: orNone(s.Limits.NumberDigits),
	}
	if s.left.Depth <= 0 {
		s.left.Depth = DefaultDepth
	}
	if cap(s.members) > maxSpareKeys {
		s.members = nil
	}
	s.line, s.kind, s.code, s.at = line, 0, "", 0
	s.members, s.frames, s.cuts = s.members[:0], s.frames[:0], s.cuts[:0]
	s.keys.reset()
	if len(line) > maxScanBytes {
		s.fail(StringTooLong, maxScanBytes)
	}
}

// Kind is the kind of the last line's value, 0 if the line is broken.
func (s *Scanner) Kind() Kind { return s.kind }

// Members are the members of the last line's object in order, none if it isn't
// one; of a broken line those before its error, the last perhaps without a
// value. They are valid until the next Scan, and as long as the line is.
func (s *Scanner) Members() []Member { return s.members }

// Find returns the last member with exactly that key.
func (s *Scanner) Find(key string) (Member, bool) {
	for i := len(s.members) - 1; i >= 0; i-- {
		if string(s.members[i].Key) == key {
			return s.members[i], true
		}
	}
	return Member{}, false
}

// fail notes the first error and returns an offset that ends every loop.
func (s *Scanner) fail(c Code, at int) int {
	if s.code == "" {
		s.code, s.at = c, min(at, len(s.line))
	}
	return len(s.line)
}

func (s *Scanner) space(i int) int {
	for i < len(s.line) {
		switch s.line[i] {
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return i
		}
	}
	return i
}

// run scans the value at i and returns its end. It holds open containers in
// frames, not on the stack, so that depth costs no recursion.
func (s *Scanner) run(i int) int {
	for s.code == "" {
		i = s.value(i)
		// Close what ends here, up to where the next value begins.
		for {
			if s.code != "" || len(s.frames) == 0 {
				return i
			}
			f := &s.frames[len(s.frames)-1]
			if f.n > 0 && len(s.frames) == 1 && f.object {
				s.members[len(s.members)-1].Value.End = i
			}
			if i = s.next(f, i); i >= 0 {
				break
			}
			i = -i
			s.pop()
		}
	}
	return i
}

// next steps in an open container from behind its last value (or its bracket)
// to the start of its next value. It returns the negative end of the container
// if that closes.
func (s *Scanner) next(f *frame, i int) int {
	b := s.line
	if i >= len(b) || b[i] <= ' ' {
		i = s.space(i)
	}
	if i >= len(b) {
		return s.fail(InvalidJSON, i)
	}
	closing := byte(']')
	if f.object {
		closing = '}'
	}
	switch {
	case b[i] == closing:
		return -(i + 1)
	case f.n == 0:
	case b[i] == ',':
		if i++; i >= len(b) || b[i] <= ' ' {
			i = s.space(i)
		}
	default:
		return s.fail(InvalidJSON, i)
	}
	f.n++
	if f.object {
		return s.key(f, i)
	}
	if f.n > s.left.ArrayLen {
		return s.fail(ArrayTooLong, i)
	}
	return i
}

func (s *Scanner) pop() {
	f := s.frames[len(s.frames)-1]
	s.frames = s.frames[:len(s.frames)-1]
	if f.object {
		s.keys.close(f)
	}
}

// key scans a member's key and colon and returns the start of its value.
func (s *Scanner) key(f *frame, i int) int {
	b := s.line
	if i >= len(b) || b[i] != '"' {
		return s.fail(InvalidJSON, i)
	}
	if f.n > MaxMembers {
		return s.fail(TooManyMembers, i)
	}
	end, escaped := s.str(i)
	if s.code != "" {
		return end
	}
	k := s.keys.add(f, b, i, end, escaped)
	if dup := s.keys.find(f, b, k); dup >= 0 {
		if !s.lenient {
			return s.fail(DuplicateKey, i)
		}
		s.cuts = append(s.cuts, s.keys.cut(dup))
	}
	if len(s.frames) == 1 {
		s.members = append(s.members, Member{Key: s.keys.text(b, k), KeySpan: Span{i, end}})
	}
	if end >= len(b) || b[end] != ':' {
		if end = s.space(end); end >= len(b) || b[end] != ':' {
			return s.fail(InvalidJSON, end)
		}
	}
	if end++; end < len(b) && b[end] <= ' ' {
		end = s.space(end)
	}
	return end
}

// value scans a scalar, or opens a container, and returns its end.
func (s *Scanner) value(i int) int {
	b := s.line
	if i >= len(b) {
		return s.fail(InvalidJSON, i)
	}
	if s.left.Values--; s.left.Values < 0 {
		return s.fail(TooManyValues, i)
	}
	end, kind := i, Kind(0)
	switch c := b[i]; {
	case c == '"':
		kind = String
	case c == '{':
		kind = Object
	case c == '[':
		kind = Array
	case c == '-' || c >= '0' && c <= '9':
		kind = Number
	case c == 't':
		end, kind = s.word(i, "true"), True
	case c == 'f':
		end, kind = s.word(i, "false"), False
	case c == 'n':
		end, kind = s.word(i, "null"), Null
	default:
		return s.fail(InvalidJSON, i)
	}
	s.begin(i, kind)
	switch kind {
	case String:
		end, _ = s.str(i)
	case Object, Array:
		end = s.open(i, kind == Object)
	case Number:
		end = s.number(i)
	}
	return end
}

// begin notes where the top value or one of its members begins.
func (s *Scanner) begin(i int, kind Kind) {
	switch len(s.frames) {
	case 0:
		s.kind = kind
	case 1:
		if s.frames[0].object {
			m := &s.members[len(s.members)-1]
			m.Value.Start, m.Kind = i, kind
		}
	}
}

func (s *Scanner) open(i int, object bool) int {
	if len(s.frames) >= s.left.Depth {
		return s.fail(TooDeep, i)
	}
	s.frames = append(s.frames, frame{object: object, keys: s.keys.len()})
	return i + 1
}

func (s *Scanner) word(i int, w string) int {
	b := s.line[i:]
	for j := range len(w) {
		if j >= len(b) || b[j] != w[j] {
			return s.fail(InvalidJSON, i+j)
		}
	}
	return i + len(w)
}

// number scans a number by JSON's grammar and counts its digits.
func (s *Scanner) number(i int) int {
	b, start := s.line, i
	digits := func() int {
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i - from
	}
	if b[i] == '-' {
		i++
	}
	zero := i < len(b) && b[i] == '0'
	n := digits()
	if n == 0 {
		return s.fail(InvalidJSON, i)
	}
	if zero && n > 1 {
		return s.fail(InvalidJSON, i-n+1)
	}
	if i < len(b) && b[i] == '.' {
		i++
		m := digits()
		if n += m; m == 0 {
			return s.fail(InvalidJSON, i)
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		m := digits()
		if n += m; m == 0 {
			return s.fail(InvalidJSON, i)
		}
	}
	if n > s.left.NumberDigits {
		return s.fail(NumberTooLong, start)
	}
	return i
}
