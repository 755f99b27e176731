package envelope

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/envelope/agent"
	"dragoman/wire/envelope"
	"dragoman/wire/ndjson"
)

// send sends one event within the default budgets: a batch that is too large
// is split, and so is a text.
func send(r *agent.Request, name string, params []byte) error {
	err := r.Event(name, params)
	if !tooLarge(err) {
		return err
	}
	first, second, ok := halves(params)
	if !ok {
		return &agent.Error{Code: envelope.ResultTooLarge, Message: "event " + name + ": " + err.Error()}
	}
	if err := send(r, name, first); err != nil {
		return err
	}
	return send(r, name, second)
}

// halves splits the largest member of an object, a list or a text, and
// repeats the other members. An offset beside a text moves with it. ok is
// false where nothing can be split.
func halves(params []byte) (first, second []byte, ok bool) {
	members, err := ndjson.Members(params)
	if err != nil {
		return nil, nil, false
	}
	var largest ndjson.Member
	for _, m := range members {
		if size := m.Value.End - m.Value.Start; (m.Kind == ndjson.Array || string(m.Key) == "text") && size > largest.Value.End-largest.Value.Start {
			largest = m
		}
	}
	value := largest.Value.Of(params)
	switch largest.Kind {
	case ndjson.Array:
		items := elements(value)
		if len(items) < 2 {
			return nil, nil, false
		}
		half := len(items) / 2
		return replaced(params, largest, list(items[:half])), replaced(params, largest, list(items[half:])), true
	case ndjson.String:
		return halvesOfText(params, largest)
	}
	return nil, nil, false
}

func halvesOfText(params []byte, text ndjson.Member) (first, second []byte, ok bool) {
	s, err := ndjson.Unquote(nil, text.Value.Of(params))
	half := len(s) / 2
	for half > 0 && half < len(s) && !utf8.RuneStart(s[half]) {
		half--
	}
	if err != nil || half == 0 {
		return nil, nil, false
	}
	first = replaced(params, text, ndjson.AppendQuote(nil, string(s[:half])))
	second = replaced(params, text, ndjson.AppendQuote(nil, string(s[half:])))
	members, _ := ndjson.Members(second)
	for _, m := range members {
		if n, err := strconv.ParseInt(string(m.Value.Of(second)), 10, 64); string(m.Key) == "offset" && err == nil {
			second = replaced(second, m, strconv.AppendInt(nil, n+int64(half), 10))
		}
	}
	return first, second, true
}

// replaced is the object with another value for one member.
func replaced(object []byte, m ndjson.Member, value []byte) []byte {
	return bytes.Join([][]byte{object[:m.Value.Start], value, object[m.Value.End:]}, nil)
}

func elements(array []byte) (items [][]byte) {
	d := jsontext.NewDecoder(bytes.NewReader(array))
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil
		}
		items = append(items, bytes.Clone(v))
	}
	return items
}

func list(items [][]byte) []byte {
	return append(append([]byte("["), bytes.Join(items, []byte(","))...), ']')
}

// A page is the member that bounds an operation's result, and the most that
// our output can carry: 512 KiB of text in its longest form, 1,024 elements
// of an array, 4,096 values in a line.
type page struct {
	member string
	most   int64
}

var pages = map[string]page{
	"buffer.text":    {"maxBytes", 128 << 10},
	"buffer.matches": {"max", 500}, // a range is 7 values
	"fs.list":        {"limit", 400},
	"fs.glob":        {"limit", 1000},
}

// paged asks for a result that our output can carry: it says itself where it
// goes on, or that it was truncated.
func paged(name string, input []byte) []byte {
	p, ok := pages[name]
	if !ok {
		return input
	}
	raw, _, given := ndjson.Get(input, p.member)
	if n, err := strconv.ParseInt(string(raw), 10, 64); given && (err != nil || n <= p.most) {
		return input // what is no number is the core's to refuse
	}
	rest := ndjson.Cut(input, p.member)
	first := fmt.Appendf(nil, `{%q:%d`, p.member, p.most)
	if members, _ := ndjson.Members(rest); len(members) > 0 {
		first = append(first, ',')
	}
	return append(first, bytes.TrimLeft(rest, " \t\r\n")[1:]...)
}
