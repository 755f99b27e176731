package core

import (
	"slices"

	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// A Checker judges single lines of either side: requests, responses and
// events. It isn't safe for concurrent use.
type Checker struct {
	scanner ndjson.Scanner
	ops     map[string]op.Declaration
	events  map[string]bool
}

// NewChecker makes a Checker for the declarations of this package.
func NewChecker() *Checker {
	c := &Checker{ops: map[string]op.Declaration{}, events: map[string]bool{}}
	c.scanner.Limits.Depth = MaxDepth
	for _, o := range Ops() {
		c.ops[o.Describe().Op] = o
	}
	for _, e := range Events() {
		c.events[e.DescribeEvent().Event] = true
	}
	return c
}

// Check returns nil for a good line. A request is judged as the core does; a
// response and an event by their frame, since both are open: members that
// this program doesn't know may come from a newer core.
func (c *Checker) Check(line []byte) *op.Error {
	if err := c.scanner.Scan(line); err != nil {
		return LineError(err)
	}
	if _, ok := c.scanner.Find("event"); ok {
		return c.checkEvent(line)
	}
	if _, ok := c.scanner.Find("ok"); ok {
		return c.checkResponse(line)
	}
	r, err := ParseRequest(&c.scanner, line)
	if err == nil {
		o, known := c.ops[r.Op]
		if !known {
			return op.Fail(op.CodeUnknownOp, "no operation %q", r.Op)
		}
		_, err = o.DecodeParams(r.Params)
	}
	if err != nil {
		e, _ := op.AsError(err)
		return e
	}
	return nil
}

// member wants a top-level member of a kind.
func (c *Checker) member(key string, kinds ...ndjson.Kind) (ndjson.Member, *op.Error) {
	m, ok := c.scanner.Find(key)
	if !ok {
		return m, op.BadRequest(key, op.ReasonMissing)
	}
	if len(kinds) > 0 && !slices.Contains(kinds, m.Kind) {
		return m, op.BadRequest(key, op.ReasonWrongType)
	}
	return m, nil
}

func (c *Checker) checkEvent(line []byte) *op.Error {
	m, e := c.member("event", ndjson.String)
	if e != nil {
		return e
	}
	name, err := ndjson.Unquote(nil, m.Value.Of(line))
	if err != nil || !c.events[string(name)] {
		return op.BadRequest("event", op.ReasonNotOneOf)
	}
	if _, e := c.member("params", ndjson.Object); e != nil {
		return e
	}
	if _, ok := c.scanner.Find("seq"); ok {
		_, e = c.member("seq", ndjson.Number)
	}
	return e
}

func (c *Checker) checkResponse(line []byte) *op.Error {
	id, e := c.member("id")
	if e != nil {
		return e
	}
	if id.Kind == ndjson.Object || id.Kind == ndjson.Array {
		return op.BadRequest("id", op.ReasonWrongType)
	}
	ok, e := c.member("ok", ndjson.True, ndjson.False)
	if e != nil {
		return e
	}
	if ok.Kind == ndjson.True {
		_, e = c.member("result", ndjson.Object)
		return e
	}
	m, e := c.member("error", ndjson.Object)
	if e != nil {
		return e
	}
	raw, kind, _ := ndjson.Get(m.Value.Of(line), "code")
	if kind != ndjson.String {
		return op.BadRequest("error.code", op.ReasonWrongType)
	}
	if code, err := ndjson.Unquote(nil, raw); err != nil || !slices.Contains(op.Codes(), op.Code(code)) {
		return op.BadRequest("error.code", op.ReasonNotOneOf)
	}
	if _, kind, _ := ndjson.Get(m.Value.Of(line), "message"); kind != ndjson.String {
		return op.BadRequest("error.message", op.ReasonWrongType)
	}
	return nil
}
