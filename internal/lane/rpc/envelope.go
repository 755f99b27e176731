package rpc

import (
	"errors"

	"dragoman/wire/agent"
	"dragoman/wire/ndjson"

	"github.com/go-json-experiment/json/jsontext"
)

// envelope says how messages are wrapped (sidecar.md §7). A "" is not
// declared.
type envelope struct {
	methodField        string
	stringIDs          bool
	paramsInline       bool
	responseMethod     string
	dataField          string
	resultField        string
	errorField         string
	successField       string
	commandField       string
	discriminantField  string
	requestMarker      string
	notificationMarker string
	constFields        []agent.Pair
	dataDeclared       bool
}

func parseEnvelope(f *agent.Fields) *envelope {
	e := &envelope{methodField: "method", dataField: "params", resultField: "result", errorField: "error"}
	if f == nil {
		e.discriminantField = e.methodField
		return e
	}
	defer f.CheckUnknown()
	set := func(to *string, name string) bool {
		text, ok := f.StrOK(name)
		if ok {
			*to = text
		}
		return ok
	}
	set(&e.methodField, "methodField")
	e.discriminantField = e.methodField
	e.stringIDs = f.Bool("stringIds")
	e.paramsInline = f.Bool("paramsInline")
	set(&e.responseMethod, "responseMethod")
	e.dataDeclared = set(&e.dataField, "dataField")
	set(&e.resultField, "resultField")
	set(&e.errorField, "errorField")
	set(&e.successField, "successField")
	set(&e.commandField, "commandField")
	set(&e.discriminantField, "discriminantField")
	set(&e.requestMarker, "requestMarker")
	set(&e.notificationMarker, "notificationMarker")
	e.constFields = f.Pairs("constFields")
	return e
}

// line is an object that is being written; a later member of a name takes
// the place of an earlier one.
type line []agent.Pair

func (l *line) set(name string, value []byte) {
	for i := range *l {
		if (*l)[i].Name == name {
			(*l)[i].Value = value
			return
		}
	}
	*l = append(*l, agent.Pair{Name: name, Value: value})
}

func (l *line) setText(name, text string) { l.set(name, quote(text)) }

func (l line) bytes() []byte {
	b := []byte{'{'}
	for i, p := range l {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ndjson.AppendQuote(b, p.Name), ':')
		b = append(b, p.Value...)
	}
	return append(b, '}')
}

func quote(text string) []byte { return ndjson.AppendQuote(nil, text) }

var null = []byte("null")

// call is the frame of a request of ours; id is JSON.
func (e *envelope) call(method string, params, id []byte) []byte {
	l := e.outgoing(e.requestMarker, method, params)
	l.set("id", id)
	return l.bytes()
}

// notification is the frame of a notification of ours.
func (e *envelope) notification(method string, params []byte) []byte {
	return e.outgoing(e.notificationMarker, method, params).bytes()
}

// outgoing writes inline params, then the constant fields, the marker and
// the method.
func (e *envelope) outgoing(marker, method string, params []byte) line {
	var l line
	members, err := ndjson.Members(params)
	switch {
	case e.paramsInline && err == nil:
		for _, m := range members {
			l.set(string(m.Key), m.Value.Of(params))
		}
	case e.paramsInline && string(params) == "null":
	default:
		l.set(e.dataField, params)
	}
	for _, p := range e.constFields {
		l.set(p.Name, p.Value)
	}
	if marker != "" {
		l.setText(e.discriminantField, marker)
	}
	l.setText(e.methodField, method)
	return l
}

// refusal answers a request of the agent's: none has a method of ours.
func (e *envelope) refusal(m message) []byte {
	var l line
	if e.responseMethod != "" {
		l.setText(e.discriminantField, e.responseMethod)
	}
	if e.commandField != "" {
		l.setText(e.commandField, m.method)
	}
	l.set("id", []byte(compact(m.id)))
	if e.successField != "" {
		l.set(e.successField, []byte("false"))
	}
	l.set(e.errorField, []byte(`{"code":-32601,"message":"method not found"}`))
	return l.bytes()
}

// kind is what a frame is.
type kind int

const (
	notification kind = iota
	request
	reply
)

// message is a frame that was read. Its bytes are its own.
type message struct {
	kind   kind
	id     []byte // JSON
	method string
	params []byte // JSON; of a notification or request
	result []byte // JSON; of a reply
	failed bool   // of a reply
	fault  []byte // the error, JSON; nil where there is none
}

// errFrame: a frame that isn't a JSON object.
var errFrame = errors.New("invalid_frame")

// decoder reads frames. It isn't safe for concurrent use.
type decoder struct {
	envelope *envelope
	scanner  ndjson.Scanner
}

// decode reads a frame, leniently.
func (d *decoder) decode(frame []byte) (message, error) {
	fixed, _, err := d.scanner.Repair(nil, frame)
	if err != nil {
		return message{}, errFrame
	}
	if len(frame) > 0 && len(fixed) > 0 && &fixed[0] == &frame[0] {
		fixed = append([]byte(nil), frame...)
	}
	members, err := ndjson.Members(fixed)
	if err != nil {
		return message{}, errFrame
	}
	return d.envelope.message(fixed, members), nil
}

func (e *envelope) message(frame []byte, members []ndjson.Member) message {
	get := func(name string) []byte {
		for _, m := range members {
			if string(m.Key) == name {
				return m.Value.Of(frame)
			}
		}
		return nil
	}
	text := func(name string) (string, bool) { return agent.String(get(name)) }
	var m message
	method, named := text(e.methodField)
	m.method = method
	if id := get("id"); id != nil && string(id) != "null" {
		m.id = id
	}
	discriminant, _ := text(e.discriminantField)
	switch {
	case m.id == nil:
		m.kind = notification
	case e.responseMethod != "" && discriminant == e.responseMethod, e.responseMethod == "" && !named:
		m.kind = reply
		m.result, m.fault = get(e.resultField), get(e.errorField)
		if m.result == nil {
			m.result = null
		}
		m.failed = m.fault != nil || e.successField != "" && string(get(e.successField)) != "true"
		return m
	default:
		m.kind = request
	}
	m.params = get(e.dataField)
	if m.params == nil && (e.dataDeclared || !named) {
		m.params = frame
	}
	if m.params == nil {
		m.params = null
	}
	return m
}

// faultText is what an error reply says, for people and for quota texts.
func (m message) faultText() string {
	if text, ok := agent.String(m.fault); ok {
		return text
	}
	if raw, _, ok := ndjson.Get(m.fault, "message"); ok {
		if text, ok := agent.String(raw); ok {
			return text
		}
	}
	if m.fault == nil || string(m.fault) == "null" {
		return "the agent refused"
	}
	return string(m.fault)
}

// compact is value without blanks between its tokens.
func compact(value []byte) string {
	v := jsontext.Value(append([]byte(nil), value...))
	if err := v.Compact(); err != nil {
		return string(value)
	}
	return string(v)
}
