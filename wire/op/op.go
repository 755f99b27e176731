package op

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Protocol is the version number of the core protocol (core.md §3).
const Protocol = 1

// AnswerTimeout is how long an operation that doesn't stream may take
// (core.md §2).
const AnswerTimeout = 20 * time.Second

// An Effect is what an operation touches; it decides who may call it
// (core.md §3 "Effects").
type Effect string

// The effects.
const (
	Read  Effect = "read"
	Write Effect = "write"
	Exec  Effect = "exec"
	Agent Effect = "agent"
	Admin Effect = "admin"
)

// An Op declares one operation with params P and result R. It is a variable
// in wire/core and isn't changed.
type Op[P, R any] struct {
	// Name is namespace.verb.
	Name string
	// Since is the protocol level that brought it.
	Since int
	// Doc continues the name: "opens a file as a buffer." More sentences may
	// follow.
	Doc string
	// Effect is what it touches.
	Effect Effect
	// Streaming makes it a run (core.md §2); bound by Stream, not by Handle.
	Streaming bool
	// Errors are the codes that it may answer with beyond [CommonCodes].
	Errors []Code
	// Events are the events that a call may cause.
	Events []string
	// Keys names the things that a call writes, to keep arrival order; nil
	// for the namespace as a whole (effect write) or none.
	Keys func(*P) []string

	once  sync.Once
	codec *codec
}

// CommonCodes may come from every operation.
func CommonCodes() []Code {
	return []Code{
		CodeBadRequest, CodeUnauthorized, CodeDenied, CodeOverloaded,
		CodeTooLarge, CodeCancelled, CodeTimeout, CodeInternal,
	}
}

// A Desc describes an operation as session.describe does (core.md §3).
type Desc struct {
	// Op is the name.
	Op string `json:"op"`
	// Doc is a sentence or more that continues the name.
	Doc string `json:"doc"`
	// Streaming operations acknowledge with a run.
	Streaming bool `json:"streaming"`
	// Effect is what it touches.
	Effect Effect `json:"effect"`
	// Since is the protocol level that brought it.
	Since int `json:"since"`
	// Params is the JSON Schema of the params.
	Params Schema `json:"params"`
	// Result is the JSON Schema of the result (of a run's result).
	Result Schema `json:"result"`
	// Events are the events that a call may cause.
	Events []string `json:"events"`
	// Errors are the codes beyond the common ones.
	Errors []Code `json:"errors"`
}

// Namespace is the part of the name before the dot.
func (d Desc) Namespace() string {
	ns, _, _ := strings.Cut(d.Op, ".")
	return ns
}

// A Declaration is an [Op] whatever its types.
type Declaration interface {
	// Describe returns the declaration as data.
	Describe() Desc
	// DecodeParams decodes and checks params as strictly as the core does.
	// The result is a P; the error is a bad_request.
	DecodeParams(raw []byte) (any, error)
	// Types returns zero values of params and result, for generators.
	Types() (params, result any)
}

// Describe returns the declaration as data.
func (o *Op[P, R]) Describe() Desc {
	d := Desc{
		Op: o.Name, Doc: o.Doc, Streaming: o.Streaming, Effect: o.Effect, Since: o.Since,
		Params: SchemaOf(*new(P), Closed), Result: SchemaOf(*new(R), Open),
		Events: o.Events, Errors: o.Errors,
	}
	if d.Events == nil {
		d.Events = []string{}
	}
	if d.Errors == nil {
		d.Errors = []Code{}
	}
	return d
}

// Types returns zero values of params and result.
func (o *Op[P, R]) Types() (params, result any) { return *new(P), *new(R) }

// Decode decodes and checks params (core.md §1: closed, typed, required
// keys). Absent or null params are {}. The error is an [*Error] bad_request.
func (o *Op[P, R]) Decode(raw []byte) (P, error) {
	o.once.Do(func() { o.codec = compile[P]() })
	var p P
	err := o.codec.decode(raw, &p)
	return p, err
}

// DecodeParams is Decode for callers that don't know P.
func (o *Op[P, R]) DecodeParams(raw []byte) (any, error) { return o.Decode(raw) }

// A Caller sends one request and waits for its response.
type Caller interface {
	// CallOp sends params (a struct) and decodes the result into result (a
	// pointer). An error response is an [*Error].
	CallOp(ctx context.Context, name string, params, result any) error
}

// A Started is the response to a streaming operation.
type Started struct {
	// Run is the id of the run.
	Run string `json:"run"`
}

// Call asks c for the operation and waits for its result. For a streaming
// operation use Start.
func (o *Op[P, R]) Call(ctx context.Context, c Caller, p P) (R, error) {
	var r R
	err := c.CallOp(ctx, o.Name, p, &r)
	return r, err
}

// Start asks c for a streaming operation and returns the run's id; its
// result comes with the event run.ended.
func (o *Op[P, R]) Start(ctx context.Context, c Caller, p P) (string, error) {
	var s Started
	err := c.CallOp(ctx, o.Name, p, &s)
	return s.Run, err
}
