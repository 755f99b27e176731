package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A Level is a released level of the protocol: everything that a client of
// it may rely on.
type Level struct {
	// Level is its number.
	Level int `json:"level"`
	// Protocol is the version that hello tells.
	Protocol int `json:"protocol"`
	// Codes is the closed set of error codes.
	Codes []op.Code `json:"codes"`
	// Ops are sorted by name.
	Ops []op.Desc `json:"ops"`
	// Events are sorted by name.
	Events []op.EventDesc `json:"events"`
}

// Today is the level that the declarations make.
func Today() Level {
	l := Level{Level: core.Level, Protocol: op.Protocol, Codes: op.Codes()}
	for _, o := range core.Ops() {
		l.Ops = append(l.Ops, o.Describe())
	}
	for _, e := range core.Events() {
		l.Events = append(l.Events, e.DescribeEvent())
	}
	slices.SortFunc(l.Ops, func(a, b op.Desc) int { return strings.Compare(a.Op, b.Op) })
	slices.SortFunc(l.Events, func(a, b op.EventDesc) int { return strings.Compare(a.Event, b.Event) })
	return l
}

// Encode is the file's form.
func (l Level) Encode() ([]byte, error) {
	raw, err := json.Marshal(l, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(raw, '\n'), err
}

// Breaks lists what today breaks of a frozen level: things that are gone or
// that an old client would send or read otherwise. What is new breaks
// nothing.
func Breaks(frozen, today Level) []string {
	var breaks []string
	add := func(format string, args ...any) { breaks = append(breaks, fmt.Sprintf(format, args...)) }
	ops := map[string]op.Desc{}
	for _, d := range today.Ops {
		ops[d.Op] = d
	}
	for _, old := range frozen.Ops {
		now, ok := ops[old.Op]
		if !ok {
			add("%s is gone", old.Op)
			continue
		}
		if now.Effect != old.Effect || now.Streaming != old.Streaming || now.Since != old.Since {
			add("%s: effect, streaming or since changed", old.Op)
		}
		for _, b := range schemaBreaks(old.Params, now.Params, sent) {
			add("%s params%s", old.Op, b)
		}
		for _, b := range schemaBreaks(old.Result, now.Result, received) {
			add("%s result%s", old.Op, b)
		}
	}
	events := map[string]op.EventDesc{}
	for _, d := range today.Events {
		events[d.Event] = d
	}
	for _, old := range frozen.Events {
		now, ok := events[old.Event]
		if !ok {
			add("event %s is gone", old.Event)
			continue
		}
		for _, b := range schemaBreaks(old.Params, now.Params, received) {
			add("event %s%s", old.Event, b)
		}
	}
	for _, c := range frozen.Codes {
		if !slices.Contains(today.Codes, c) {
			add("code %s is gone", c)
		}
	}
	return breaks
}

// A direction is who writes the values of a schema.
type direction int

const (
	sent     direction = iota // by the client
	received                  // by the core
)

// schemaBreaks compares schemas that came out of JSON or of op.SchemaOf.
func schemaBreaks(old, now op.Schema, d direction) []string {
	var breaks []string
	compare(normal(old), normal(now), d, "", &breaks)
	return breaks
}

// normal gives a schema the types of decoded JSON.
func normal(s op.Schema) map[string]any {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	var m map[string]any
	_ = json.Unmarshal(raw, &m)
	return m
}

func compare(old, now map[string]any, d direction, at string, breaks *[]string) {
	oldProps, isObject := old["properties"].(map[string]any)
	if !isObject {
		compareValue(old, now, d, at, breaks)
		return
	}
	nowProps, _ := now["properties"].(map[string]any)
	for name, o := range oldProps {
		n, ok := nowProps[name]
		if !ok {
			*breaks = append(*breaks, at+"."+name+" is gone")
			continue
		}
		compare(o.(map[string]any), n.(map[string]any), d, at+"."+name, breaks)
	}
	oldNeeds, nowNeeds := names(old["required"]), names(now["required"])
	for _, name := range nowNeeds {
		if d == sent && !slices.Contains(oldNeeds, name) {
			*breaks = append(*breaks, at+"."+name+" is required now")
		}
	}
	for _, name := range oldNeeds {
		if d == received && !slices.Contains(nowNeeds, name) {
			*breaks = append(*breaks, at+"."+name+" may be absent now")
		}
	}
}

// compareValue compares what isn't a struct: element types are compared as
// objects, the rest must be equal, but for values added to an enum.
func compareValue(old, now map[string]any, d direction, at string, breaks *[]string) {
	if o, ok := old["items"].(map[string]any); ok {
		if n, ok := now["items"].(map[string]any); ok {
			compare(o, n, d, at+"[]", breaks)
			return
		}
	}
	if o, n := anyOf(old), anyOf(now); o != nil && n != nil {
		compare(o, n, d, at, breaks)
		return
	}
	if o, n := names(old["enum"]), names(now["enum"]); o != nil && n != nil {
		for _, v := range o {
			if !slices.Contains(n, v) {
				*breaks = append(*breaks, at+" lost the value "+v)
			}
		}
		return
	}
	a, _ := json.Marshal(old, json.Deterministic(true))
	b, _ := json.Marshal(now, json.Deterministic(true))
	if string(a) != string(b) {
		*breaks = append(*breaks, at+" has another type")
	}
}

// anyOf is the inner schema of a value that may be null.
func anyOf(s map[string]any) map[string]any {
	list, _ := s["anyOf"].([]any)
	if len(list) != 2 {
		return nil
	}
	inner, _ := list[0].(map[string]any)
	return inner
}

func names(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return out
}
