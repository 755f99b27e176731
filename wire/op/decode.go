package op

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxInteger bounds integers on the wire on both sides (core.md §1).
const MaxInteger = 1 << 53

// Reasons of bad_request that decoding gives.
const (
	ReasonUnknownKey  = "unknown_key"
	ReasonMissing     = "missing"
	ReasonWrongType   = "wrong_type"
	ReasonOutOfRange  = "out_of_range"
	ReasonNotOneOf    = "not_one_of"
	ReasonDuplicate   = "duplicate_key"
	ReasonInvalidJSON = "invalid_json"
)

// A codec decodes one type strictly. It is compiled once a type.
type codec struct{ decodeValue decodeFunc }

// A decodeFunc reads the next value of d into v, which is settable.
type decodeFunc func(d *jsontext.Decoder, v reflect.Value) error

func compile[P any]() *codec {
	c := &compiler{seen: map[reflect.Type]*decodeFunc{}}
	return &codec{decodeValue: c.typ(reflect.TypeFor[P]())}
}

// DecodeStrict decodes one JSON value into the value that into points to, as
// params are decoded. It compiles the type at each call: for custom types'
// inner values.
func DecodeStrict(raw []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	c := &compiler{seen: map[reflect.Type]*decodeFunc{}}
	return (&codec{decodeValue: c.typ(v.Type())}).decodeInto(raw, v)
}

func (c *codec) decode(raw []byte, into any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		raw = []byte("{}")
	}
	return c.decodeInto(raw, reflect.ValueOf(into).Elem())
}

func (c *codec) decodeInto(raw []byte, v reflect.Value) error {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if err := c.decodeValue(d, v); err != nil {
		return asBadRequest(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return BadRequest("", ReasonInvalidJSON)
	}
	return nil
}

// asBadRequest gives errors of the JSON library a reason.
func asBadRequest(err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, jsontext.ErrDuplicateName):
		return BadRequest("", ReasonDuplicate)
	}
	return BadRequest("", ReasonInvalidJSON)
}

// within puts a key before the key of a bad_request.
func within(key string, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeBadRequest {
		return err
	}
	if inner, _ := e.Data["key"].(string); inner != "" {
		if inner[0] != '[' {
			inner = "." + inner
		}
		key += inner
	}
	b := BadRequest(key, e.Reason())
	for k, v := range e.Data {
		if k != "key" && k != "reason" {
			b.Data[k] = v
		}
	}
	return b
}

func wrongType() error { return BadRequest("", ReasonWrongType) }

type compiler struct{ seen map[reflect.Type]*decodeFunc }

var (
	customType = reflect.TypeFor[Custom]()
	enumType   = reflect.TypeFor[Enum]()
	checkType  = reflect.TypeFor[Validator]()
	valueType  = reflect.TypeFor[jsontext.Value]()
	timeType   = reflect.TypeFor[time.Time]()
	bytesType  = reflect.TypeFor[[]byte]()
)

func (c *compiler) typ(t reflect.Type) decodeFunc {
	if f, ok := c.seen[t]; ok {
		return func(d *jsontext.Decoder, v reflect.Value) error { return (*f)(d, v) }
	}
	f := new(decodeFunc)
	c.seen[t] = f
	*f = c.build(t)
	if reflect.PointerTo(t).Implements(checkType) && t.Kind() != reflect.Pointer {
		*f = validated(*f)
	}
	return *f
}

func (c *compiler) build(t reflect.Type) decodeFunc {
	switch {
	case t == valueType:
		return decodeRaw
	case t == timeType:
		return decodeTime
	case t == bytesType:
		return decodeBytes
	case reflect.PointerTo(t).Implements(customType):
		return decodeCustom
	}
	switch t.Kind() {
	case reflect.String:
		return stringDecoder(t)
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return decodeInt
	case reflect.Float64:
		return decodeFloat
	case reflect.Pointer:
		return c.pointer(t)
	case reflect.Slice:
		return c.slice(t)
	case reflect.Map:
		return c.mapping(t)
	case reflect.Struct:
		return c.object(t)
	}
	panic(fmt.Sprintf("op: no decoding for %s", t))
}

func validated(f decodeFunc) decodeFunc {
	return func(d *jsontext.Decoder, v reflect.Value) error {
		if err := f(d, v); err != nil {
			return err
		}
		return v.Addr().Interface().(Validator).Validate()
	}
}

func decodeRaw(d *jsontext.Decoder, v reflect.Value) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	v.SetBytes(slices.Clone(raw))
	return nil
}

func decodeCustom(d *jsontext.Decoder, v reflect.Value) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	return v.Addr().Interface().(Custom).DecodeParam(raw)
}

func readString(d *jsontext.Decoder) (string, error) {
	if d.PeekKind() != '"' {
		return "", mismatch(d)
	}
	t, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// mismatch is wrong_type, or what is wrong with the JSON itself.
func mismatch(d *jsontext.Decoder) error {
	if err := d.SkipValue(); err != nil {
		return err
	}
	return wrongType()
}

func decodeTime(d *jsontext.Decoder, v reflect.Value) error {
	s, err := readString(d)
	if err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return wrongType()
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

func decodeBytes(d *jsontext.Decoder, v reflect.Value) error {
	s, err := readString(d)
	if err != nil {
		return err
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return wrongType()
	}
	v.SetBytes(b)
	return nil
}

func stringDecoder(t reflect.Type) decodeFunc {
	var values []string
	if t.Implements(enumType) {
		values = reflect.Zero(t).Interface().(Enum).Enum()
	}
	return func(d *jsontext.Decoder, v reflect.Value) error {
		s, err := readString(d)
		if err != nil {
			return err
		}
		if values != nil && !slices.Contains(values, s) {
			return BadRequest("", ReasonNotOneOf).With("values", values)
		}
		v.SetString(s)
		return nil
	}
}

func decodeBool(d *jsontext.Decoder, v reflect.Value) error {
	if k := d.PeekKind(); k != 't' && k != 'f' {
		return mismatch(d)
	}
	t, err := d.ReadToken()
	if err != nil {
		return err
	}
	v.SetBool(t.Bool())
	return nil
}

func readNumber(d *jsontext.Decoder) (string, error) {
	if d.PeekKind() != '0' {
		return "", mismatch(d)
	}
	t, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// decodeInt takes every spelling of an integer within ±2^53 (1.0 too: some
// JSON writers know no other number).
func decodeInt(d *jsontext.Decoder, v reflect.Value) error {
	s, err := readNumber(d)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, _ := strconv.ParseFloat(s, 64)
		if f != math.Trunc(f) {
			return wrongType()
		}
		if math.Abs(f) > MaxInteger {
			return BadRequest("", ReasonOutOfRange)
		}
		n = int64(f)
	}
	if n > MaxInteger || n < -MaxInteger {
		return BadRequest("", ReasonOutOfRange)
	}
	if v.CanInt() {
		if v.OverflowInt(n) {
			return BadRequest("", ReasonOutOfRange)
		}
		v.SetInt(n)
		return nil
	}
	if n < 0 || v.OverflowUint(uint64(n)) {
		return BadRequest("", ReasonOutOfRange)
	}
	v.SetUint(uint64(n))
	return nil
}

func decodeFloat(d *jsontext.Decoder, v reflect.Value) error {
	s, err := readNumber(d)
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return BadRequest("", ReasonOutOfRange)
	}
	v.SetFloat(f)
	return nil
}
