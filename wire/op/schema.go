package op

import (
	"reflect"
	"slices"
)

// A Schema is a JSON Schema (draft 2020-12) as a value.
type Schema map[string]any

// Openness tells whether objects take members that aren't declared.
type Openness int

// Params are closed, results and events open (core.md §1).
const (
	Closed Openness = iota
	Open
)

// SchemaOf derives the schema of a value's type from its fields and tags.
func SchemaOf(v any, o Openness) Schema {
	return (&schemer{openness: o}).typ(reflect.TypeOf(v))
}

type schemer struct {
	openness Openness
	stack    []reflect.Type
}

func nullable(s Schema) Schema { return Schema{"anyOf": []any{s, Schema{"type": "null"}}} }

func (s *schemer) typ(t reflect.Type) Schema {
	switch {
	case t == nil, t == valueType:
		return Schema{}
	case t == timeType:
		return Schema{"type": "string", "format": "date-time"}
	case t == bytesType:
		return Schema{"type": "string", "contentEncoding": "base64"}
	case reflect.PointerTo(t).Implements(customType):
		return reflect.New(t).Interface().(Custom).JSONSchema()
	}
	switch t.Kind() {
	case reflect.String:
		if t.Implements(enumType) {
			return Schema{"type": "string", "enum": anySlice(reflect.Zero(t).Interface().(Enum).Enum())}
		}
		return Schema{"type": "string"}
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Pointer:
		return nullable(s.typ(t.Elem()))
	case reflect.Slice:
		return Schema{"type": "array", "items": s.typ(t.Elem())}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": s.typ(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	}
	return integer(t)
}

func anySlice(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

func integer(t reflect.Type) Schema {
	sch := Schema{"type": "integer", "minimum": -MaxInteger, "maximum": MaxInteger}
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
		sch["minimum"] = 0
	}
	return sch
}

func (s *schemer) object(t reflect.Type) Schema {
	// A type inside itself isn't unrolled.
	if slices.Contains(s.stack, t) {
		return Schema{"type": "object"}
	}
	s.stack = append(s.stack, t)
	defer func() { s.stack = s.stack[:len(s.stack)-1] }()
	properties := Schema{}
	required := []any{}
	for _, f := range fieldsOf(t) {
		ft := f.typ
		if f.optional && ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		properties[f.name] = s.typ(ft)
		if !f.optional {
			required = append(required, f.name)
		}
	}
	sch := Schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		sch["required"] = required
	}
	if s.openness == Closed {
		sch["additionalProperties"] = false
	}
	return sch
}
