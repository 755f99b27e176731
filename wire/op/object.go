package op

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A field is one member of an object, promoted ones included.
type field struct {
	name     string
	index    []int
	typ      reflect.Type
	optional bool
}

// fieldsOf lists the members that a struct has on the wire, in order.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("json")
		if sf.Anonymous && !tagged {
			inner := sf.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			for _, f := range fieldsOf(inner) {
				// An embedded pointer may be nil: then none of them is there.
				f.optional = f.optional || inner != sf.Type
				f.index = append([]int{i}, f.index...)
				fields = append(fields, f)
			}
			continue
		}
		if !sf.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			panic(fmt.Sprintf("op: %s.%s has no json name", t, sf.Name))
		}
		fields = append(fields, field{
			name: name, index: []int{i}, typ: sf.Type,
			optional: strings.Contains(options, "omitzero") || strings.Contains(options, "omitempty"),
		})
	}
	return fields
}

// object decodes a closed struct.
func (c *compiler) object(t reflect.Type) decodeFunc {
	fields := fieldsOf(t)
	byName := make(map[string]int, len(fields))
	decoders := make([]decodeFunc, len(fields))
	for i, f := range fields {
		byName[f.name] = i
		if f.optional && f.typ.Kind() == reflect.Pointer {
			decoders[i] = c.optionalPointer(f.typ)
			continue
		}
		decoders[i] = c.typ(f.typ)
	}
	embedded := embeddedValidators(t)
	return func(d *jsontext.Decoder, v reflect.Value) error {
		if d.PeekKind() != '{' {
			return mismatch(d)
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		seen := make([]bool, len(fields))
		for d.PeekKind() != '}' {
			name, err := readString(d)
			if err != nil {
				return err
			}
			i, known := byName[name]
			if !known {
				return BadRequest(name, ReasonUnknownKey)
			}
			seen[i] = true
			if err := decoders[i](d, v.FieldByIndex(fields[i].index)); err != nil {
				return within(name, err)
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		for i, f := range fields {
			if !seen[i] && !f.optional {
				return BadRequest(f.name, ReasonMissing)
			}
		}
		for _, index := range embedded {
			if err := v.Field(index).Addr().Interface().(Validator).Validate(); err != nil {
				return err
			}
		}
		return nil
	}
}

// embeddedValidators are the embedded structs with a check of their own.
func embeddedValidators(t reflect.Type) []int {
	var indexes []int
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous && sf.Type.Kind() == reflect.Struct && reflect.PointerTo(sf.Type).Implements(checkType) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// optionalPointer takes a value, never null: an absent member says that.
func (c *compiler) optionalPointer(t reflect.Type) decodeFunc {
	inner := c.typ(t.Elem())
	return func(d *jsontext.Decoder, v reflect.Value) error {
		p := reflect.New(t.Elem())
		if err := inner(d, p.Elem()); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
}

// pointer takes a value or null.
func (c *compiler) pointer(t reflect.Type) decodeFunc {
	inner := c.optionalPointer(t)
	return func(d *jsontext.Decoder, v reflect.Value) error {
		if d.PeekKind() == 'n' {
			_, err := d.ReadToken()
			return err
		}
		return inner(d, v)
	}
}

func (c *compiler) slice(t reflect.Type) decodeFunc {
	inner := c.typ(t.Elem())
	return func(d *jsontext.Decoder, v reflect.Value) error {
		if d.PeekKind() != '[' {
			return mismatch(d)
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		s := reflect.MakeSlice(t, 0, 0)
		for i := 0; d.PeekKind() != ']'; i++ {
			item := reflect.New(t.Elem()).Elem()
			if err := inner(d, item); err != nil {
				return within("["+strconv.Itoa(i)+"]", err)
			}
			s = reflect.Append(s, item)
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		v.Set(s)
		return nil
	}
}

func (c *compiler) mapping(t reflect.Type) decodeFunc {
	inner := c.typ(t.Elem())
	return func(d *jsontext.Decoder, v reflect.Value) error {
		if d.PeekKind() != '{' {
			return mismatch(d)
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		m := reflect.MakeMap(t)
		for d.PeekKind() != '}' {
			name, err := readString(d)
			if err != nil {
				return err
			}
			item := reflect.New(t.Elem()).Elem()
			if err := inner(d, item); err != nil {
				return within(name, err)
			}
			m.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), item)
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		v.Set(m)
		return nil
	}
}
