package op

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Custom decodes itself: a union, or a value with a rule of its own. The
// pointer to the type implements it.
type Custom interface {
	// DecodeParam reads a valid JSON value. Its error may be an [*Error] made
	// by BadRequest; key is then relative to the value.
	DecodeParam(raw jsontext.Value) error
	// JSONSchema describes the values.
	JSONSchema() Schema
}

// An Enum is a string type with a closed set of values.
type Enum interface {
	// Enum lists the values.
	Enum() []string
}

// A Validator checks rules between members that need no state. The error
// may be an [*Error] made by BadRequest; key is then relative to the value.
type Validator interface{ Validate() error }

// A Nullable is a member that may be absent, null or a T. It needs the tag
// omitzero.
type Nullable[T any] struct {
	// Given is false when the member is absent.
	Given bool
	// Value is nil for null.
	Value *T
}

// Null returns a Nullable that is null.
func Null[T any]() Nullable[T] { return Nullable[T]{Given: true} }

// Some returns a Nullable with a value.
func Some[T any](v T) Nullable[T] { return Nullable[T]{Given: true, Value: &v} }

// IsZero reports that the member is absent.
func (n Nullable[T]) IsZero() bool { return !n.Given }

// MarshalJSON writes null or the value.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// UnmarshalJSON reads null or a value.
func (n *Nullable[T]) UnmarshalJSON(raw []byte) error {
	n.Given, n.Value = true, nil
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	n.Value = new(T)
	return json.Unmarshal(raw, n.Value)
}

// DecodeParam reads null or a value strictly.
func (n *Nullable[T]) DecodeParam(raw jsontext.Value) error {
	n.Given, n.Value = true, nil
	if raw.Kind() == 'n' {
		return nil
	}
	n.Value = new(T)
	return DecodeStrict(raw, n.Value)
}

// JSONSchema is T's or null.
func (n Nullable[T]) JSONSchema() Schema { return nullable(SchemaOf(*new(T), Closed)) }
