package agent

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Fields reads the members of one JSON object of a spec, each at most once,
// by the rules of sidecar.md §4: a member is found under its camelCase name
// or its snake_case twin, null counts as absent, types are strict. The first
// fault sticks: read everything, then ask [Fields.Err] or [Fields.Close]. A
// nil *Fields is an absent object: all its members are absent.
type Fields struct {
	path    string
	members []field
	fault   *fault // shared with the objects within
}

type field struct {
	name  string
	value jsontext.Value
	read  bool
}

type fault struct{ err *SpecError }

// A Pair is one member of an object, in document order.
type Pair struct {
	Name string
	// Value is JSON.
	Value []byte
}

// ReadFields splits object. path is its name in messages, "" for the spec
// itself. Anything but an object is a fault.
func ReadFields(path string, object []byte) *Fields {
	return readFields(path, object, &fault{})
}

func readFields(path string, object []byte, to *fault) *Fields {
	f := &Fields{path: path, fault: to}
	pairs, err := splitObject(object)
	if err != nil {
		f.Fault("", err.Error())
		return f
	}
	for _, p := range pairs {
		f.members = append(f.members, field{name: p.Name, value: p.Value})
	}
	return f
}

// What is wrong with an object, as the end of a message.
var (
	errNotObject = errors.New("must be an object")
	errNotJSON   = errors.New("is no valid JSON")
)

// splitObject returns the members of a JSON object in order. The values are
// parts of a copy.
func splitObject(object []byte) ([]Pair, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	tok, err := dec.ReadToken()
	if err != nil || tok.Kind() != '{' {
		return nil, errNotObject
	}
	var pairs []Pair
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, errNotJSON
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, errNotJSON
		}
		pairs = append(pairs, Pair{Name: key, Value: value.Clone()})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return pairs, nil
}

// Fault records that member name (or, when it is "", the object itself) is
// wrong: "NAME TEXT". Only the first fault of a spec is kept.
func (f *Fields) Fault(name, text string) {
	if f.fault.err == nil {
		f.fault.err = BadSpec(f.pathOf(name) + " " + text)
	}
}

func (f *Fields) pathOf(name string) string {
	switch {
	case f.path == "" && name == "":
		return "spec"
	case f.path == "":
		return name
	case name == "":
		return f.path
	}
	return f.path + "." + name
}

// Err is the first fault so far, here or in an object within.
func (f *Fields) Err() error {
	if f == nil || f.fault.err == nil {
		return nil
	}
	return f.fault.err
}

// Close is Err, after a member that nobody has read became a fault.
func (f *Fields) Close() error {
	f.CheckUnknown()
	return f.Err()
}

// CheckUnknown makes a fault of a member that nobody has read. Call it for
// objects within before the outer one is closed.
func (f *Fields) CheckUnknown() {
	if f == nil {
		return
	}
	for _, m := range f.members {
		if !m.read {
			f.Fault(m.name, "is not a known member")
		}
	}
}

// Known marks members as read without looking at them.
func (f *Fields) Known(names ...string) {
	for _, name := range names {
		f.take(name)
	}
}

// Has reports whether the member is there and not null, without reading it.
func (f *Fields) Has(name string) bool {
	if f == nil {
		return false
	}
	snake := snakeCase(name)
	for _, m := range f.members {
		if (m.name == name || m.name == snake) && m.value.Kind() != 'n' {
			return true
		}
	}
	return false
}

// take finds a member by its name or twin and marks it as read; nil when
// absent or null.
func (f *Fields) take(name string) jsontext.Value {
	if f == nil {
		return nil
	}
	snake := snakeCase(name)
	var value jsontext.Value
	seen := false
	for i := range f.members {
		m := &f.members[i]
		if m.name != name && m.name != snake {
			continue
		}
		if seen {
			f.Fault(name, "is given twice")
		}
		seen, m.read = true, true
		if m.value.Kind() != 'n' {
			value = m.value
		}
	}
	return value
}

// Raw returns a member as JSON, nil when absent.
func (f *Fields) Raw(name string) []byte { return f.take(name) }

// Str returns a string member, "" when absent.
func (f *Fields) Str(name string) string {
	s, _ := f.StrOK(name)
	return s
}

// StrOK returns a string member and whether it is there.
func (f *Fields) StrOK(name string) (string, bool) {
	v := f.take(name)
	if v == nil {
		return "", false
	}
	s, ok := String(v)
	if !ok {
		f.Fault(name, "must be a string")
	}
	return s, ok
}

// Word returns a string member that is one of words; the first of them when
// absent.
func (f *Fields) Word(name string, words ...string) string {
	s, ok := f.StrOK(name)
	if !ok {
		return words[0]
	}
	if !slices.Contains(words, s) {
		f.Fault(name, "must be one of "+strings.Join(words, ", "))
		return words[0]
	}
	return s
}

// Bool returns a boolean member, false when absent.
func (f *Fields) Bool(name string) bool { return f.BoolOr(name, Absent(false)) }

// Absent is the value of a boolean member that isn't there.
type Absent bool

// BoolOr returns a boolean member, or absent's value.
func (f *Fields) BoolOr(name string, absent Absent) bool {
	v := f.take(name)
	switch {
	case v == nil:
		return bool(absent)
	case v.Kind() == 't':
		return true
	case v.Kind() != 'f':
		f.Fault(name, "must be true or false")
	}
	return false
}

// Int returns a member that is an integer of at least 0, and whether it is
// there.
func (f *Fields) Int(name string) (int64, bool) {
	v := f.take(name)
	if v == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 0 {
		f.Fault(name, "must be an integer from 0")
		return 0, false
	}
	return n, true
}

// Strings returns a member that is a list of strings; nil when absent.
func (f *Fields) Strings(name string) []string {
	var list []string
	for i, v := range f.List(name) {
		s, ok := String(v)
		if !ok {
			f.Fault(name+"["+strconv.Itoa(i)+"]", "must be a string")
			return nil
		}
		list = append(list, s)
	}
	return list
}

// List returns the values of a member that is a list, as JSON.
func (f *Fields) List(name string) [][]byte {
	v := f.take(name)
	if v == nil {
		return nil
	}
	list, ok := SplitArray(v)
	if !ok {
		f.Fault(name, "must be a list")
	}
	return list
}

// Obj returns a member that is an object; nil when absent.
func (f *Fields) Obj(name string) *Fields {
	v := f.take(name)
	if v == nil {
		return nil
	}
	return readFields(f.pathOf(name), v, f.fault)
}

// Objs returns a member that is a list of objects.
func (f *Fields) Objs(name string) []*Fields {
	var list []*Fields
	for i, v := range f.List(name) {
		list = append(list, readFields(f.pathOf(name+"["+strconv.Itoa(i)+"]"), v, f.fault))
	}
	return list
}

// Pairs returns a member that is an object with free names, in document
// order and without those that are null; nil when absent.
func (f *Fields) Pairs(name string) []Pair {
	v := f.take(name)
	if v == nil {
		return nil
	}
	pairs, err := splitObject(v)
	if err != nil {
		f.Fault(name, err.Error())
		return nil
	}
	return slices.DeleteFunc(pairs, func(p Pair) bool { return jsontext.Value(p.Value).Kind() == 'n' })
}

// String returns the text of a JSON string; ok is false for any other value.
func String(value []byte) (text string, ok bool) {
	if jsontext.Value(value).Kind() != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, value)
	return string(b), err == nil
}

// SplitArray returns the values of a JSON array; ok is false for any other
// value.
func SplitArray(array []byte) (values [][]byte, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(array))
	tok, err := dec.ReadToken()
	if err != nil || tok.Kind() != '[' {
		return nil, false
	}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		values = append(values, v.Clone())
	}
	return values, true
}

// snakeCase turns a camelCase name into its twin. Names are ASCII.
func snakeCase(camel string) string {
	var b []byte
	for i := range len(camel) {
		c := camel[i]
		if 'A' <= c && c <= 'Z' {
			b = append(b, '_', c+'a'-'A')
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}
