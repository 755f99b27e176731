package envelope

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"dragoman/wire/ndjson"
)

// A Decoder judges lines and reads them, in one pass and without building
// anything for a line over its budgets. It keeps its memory between lines and
// isn't safe for concurrent use.
type Decoder struct {
	limits  Limits
	scan    ndjson.Scanner
	scratch []byte
}

// NewDecoder returns a Decoder with these budgets.
func NewDecoder(l Limits) *Decoder {
	l = l.Resolve()
	return &Decoder{limits: l, scan: ndjson.Scanner{Limits: l.scanner()}}
}

// Decode reads one line, given without its terminator. The envelope's Input
// and Output lie in line; everything else is its own. The error is an
// [*Error].
func (d *Decoder) Decode(line []byte) (*Envelope, error) {
	e := new(Envelope)
	if err := d.decode(line, e); err != nil {
		return nil, err
	}
	return e, nil
}

func (d *Decoder) decode(line []byte, e *Envelope) *Error {
	if len(line) > d.limits.LineBytes {
		return TooLarge(d.limits.LineBytes, int64(len(line)))
	}
	if err := d.scan.Scan(line); err != nil {
		return syntaxError(line, err)
	}
	if d.scan.Kind() != ndjson.Object {
		return &Error{Code: InvalidEnvelope, Offset: start(line), Detail: "the line is no object"}
	}
	var values [fieldCount]value
	for _, m := range d.scan.Members() {
		if f, ok := fieldOf(m.Key); ok {
			values[f] = value{rows[f].name, line, m.Value, m.Kind}
			e.at[f] = m.Value.Start
		}
	}
	kind, kindErr := d.kind(line, values[fieldKind])
	if err := d.countCapabilities(kind, values[fieldCapabilities]); err != nil {
		return err
	}
	if err := d.version(line, values[fieldVersion], e); err != nil {
		return err
	}
	if kindErr != nil {
		return kindErr
	}
	e.Kind = kind
	for f := fieldMessageID; f < fieldCount; f++ {
		if err := d.field(line, f, values[f], e); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) field(line []byte, f field, v value, e *Envelope) *Error {
	r := &rows[f]
	switch {
	case !r.in.has(e.Kind):
		return nil
	case v.line == nil && r.required.has(e.Kind):
		return missing(line, r.name)
	case v.line == nil:
		return nil
	}
	return r.read(d, v, e)
}

func (d *Decoder) version(line []byte, v value, e *Envelope) *Error {
	if v.line == nil {
		return missing(line, rows[fieldVersion].name)
	}
	text, err := d.text(v)
	if err != nil {
		return err
	}
	version, ok := parseVersion(text)
	if !ok {
		return v.invalid("is no version")
	}
	if version.Major != V1.Major {
		return &Error{UnsupportedVersion, v.span.Start, fmt.Sprintf("version %d.%d, not 1.x", version.Major, version.Minor)}
	}
	e.Version = version
	return nil
}

func (d *Decoder) kind(line []byte, v value) (Kind, *Error) {
	if v.line == nil {
		return 0, missing(line, rows[fieldKind].name)
	}
	text, err := d.text(v)
	if err != nil {
		return 0, err
	}
	k := kindOf(text)
	if k == 0 {
		return 0, &Error{UnknownKind, v.span.Start, "kind is none of hello, request, event, cancel, error"}
	}
	return k, nil
}

// countCapabilities holds the budget of a hello's list. Budgets come before
// the version and the fields.
func (d *Decoder) countCapabilities(k Kind, v value) *Error {
	if k != Hello || v.kind != ndjson.Array {
		return nil
	}
	var over *Error
	n := 0
	d.elements(v, func(item value) bool {
		if n++; n > d.limits.Capabilities {
			over = &Error{BudgetExceeded, item.span.Start, fmt.Sprintf("capabilities has more than %d elements", d.limits.Capabilities)}
		}
		return over == nil
	})
	return over
}

// elements walks an array of a scanned line until f says stop. A nested
// container counts as one element.
func (d *Decoder) elements(v value, f func(item value) bool) {
	name := v.name + " element"
	depth, begin := 0, -1
	emit := func(end int) bool {
		if begin < 0 {
			return true
		}
		for v.line[end-1] == ' ' || v.line[end-1] == '\t' || v.line[end-1] == '\r' || v.line[end-1] == '\n' {
			end--
		}
		span := ndjson.Span{Start: begin, End: end}
		begin = -1
		return f(value{name, v.line, span, kindAt(v.line[span.Start])})
	}
	for i := v.span.Start + 1; i < v.span.End; i++ {
		c := v.line[i]
		if depth == 0 && (c == ',' || c == ']') {
			if !emit(i) {
				return
			}
			continue
		}
		if begin < 0 && c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			begin = i
		}
		switch c {
		case '"':
			i = skipString(v.line, i)
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
	}
}

// skipString returns the index of the quote that ends the literal at i.
func skipString(line []byte, i int) int {
	for i++; line[i] != '"'; i++ {
		if line[i] == '\\' {
			i++
		}
	}
	return i
}

func kindAt(c byte) ndjson.Kind {
	switch c {
	case '"':
		return ndjson.String
	case '{':
		return ndjson.Object
	case '[':
		return ndjson.Array
	case 't':
		return ndjson.True
	case 'f':
		return ndjson.False
	case 'n':
		return ndjson.Null
	}
	return ndjson.Number
}

// TooLarge is the error for a line of size bytes that was dropped unread.
func TooLarge(limit int, size int64) *Error {
	return &Error{LineTooLarge, limit, fmt.Sprintf("the line has %d bytes, over the limit of %d", size, limit)}
}

// Unterminated is the error for a last line without its LF. size is its
// length in bytes.
func Unterminated(size int) *Error {
	return &Error{InvalidJSON, size, "the stream ended inside the line"}
}

func missing(line []byte, name string) *Error {
	return &Error{InvalidEnvelope, start(line), name + " is missing"}
}

// start is the offset of the line's value.
func start(line []byte) int {
	for i, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return i
		}
	}
	return 0
}

var syntaxCodes = map[ndjson.Code]Code{
	ndjson.InvalidUTF8:    InvalidUTF8,
	ndjson.InvalidJSON:    InvalidJSON,
	ndjson.LoneSurrogate:  InvalidJSON,
	ndjson.TrailingData:   InvalidJSON,
	ndjson.DuplicateKey:   DuplicateKey,
	ndjson.TooDeep:        BudgetExceeded,
	ndjson.TooManyValues:  BudgetExceeded,
	ndjson.TooManyMembers: BudgetExceeded,
	ndjson.ArrayTooLong:   BudgetExceeded,
	ndjson.StringTooLong:  BudgetExceeded,
	ndjson.NumberTooLong:  BudgetExceeded,
}

// syntaxError translates the scanner's first error by offset; UTF-8 comes
// before everything else in the line.
func syntaxError(line []byte, err error) *Error {
	var syntax *ndjson.SyntaxError
	if !errors.As(err, &syntax) {
		return &Error{InvalidJSON, 0, err.Error()}
	}
	if at := invalidUTF8(line); at >= 0 {
		return &Error{InvalidUTF8, at, "the line is no UTF-8"}
	}
	return &Error{syntaxCodes[syntax.Code], syntax.Offset, string(syntax.Code)}
}

// invalidUTF8 is the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(line []byte) int {
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
