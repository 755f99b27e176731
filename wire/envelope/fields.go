package envelope

import (
	"strconv"

	"dragoman/wire/ndjson"
)

type field uint8

const (
	fieldVersion field = iota
	fieldKind
	fieldMessageID
	fieldSentAt
	fieldCapabilities
	fieldImplementation
	fieldRequestID
	fieldOperation
	fieldInput
	fieldEvent
	fieldOutput
	fieldCode
	fieldMessage
	fieldRetryable
	fieldCount
)

// kinds is a set of kinds.
type kinds uint8

func in(list ...Kind) (s kinds) {
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

func (s kinds) has(k Kind) bool { return s>>k&1 == 1 }

// A row is one line of the specification's table of fields.
type row struct {
	name     string
	in       kinds
	required kinds
	// read stores a value in e, or says what is wrong with it.
	read func(d *Decoder, v value, e *Envelope) *Error
}

// rows are the fields in the order of the specification's table, which is
// the order in which they are judged.
var rows = [fieldCount]row{
	fieldVersion:        {"protocolVersion", every, every, nil}, // judged before the rest: [Decoder.version]
	fieldKind:           {"kind", every, every, nil},            // the same: [Decoder.kind]
	fieldMessageID:      {"messageId", every, every, readMessageID},
	fieldSentAt:         {"sentAt", every, every, readSentAt},
	fieldCapabilities:   {"capabilities", in(Hello), in(Hello), readCapabilities},
	fieldImplementation: {"implementation", in(Hello), 0, readImplementation},
	fieldRequestID:      {"requestId", in(Request, Event, Cancel, ErrorKind), in(Request, Event, Cancel), readRequestID},
	fieldOperation:      {"operation", in(Request), in(Request), readOperation},
	fieldInput:          {"input", in(Request), in(Request), readInput},
	fieldEvent:          {"event", in(Event), in(Event), readEvent},
	fieldOutput:         {"output", in(Event), 0, readOutput},
	fieldCode:           {"code", in(ErrorKind), in(ErrorKind), readCode},
	fieldMessage:        {"message", in(ErrorKind), in(ErrorKind), readMessage},
	fieldRetryable:      {"retryable", in(ErrorKind), 0, readRetryable},
}

var every = in(Hello, Request, Event, Cancel, ErrorKind)

func fieldOf(key []byte) (field, bool) {
	for f := range rows {
		if string(key) == rows[f].name {
			return field(f), true
		}
	}
	return 0, false
}

// A value is one field's value in a line.
type value struct {
	name string
	line []byte
	span ndjson.Span
	kind ndjson.Kind
}

func (v value) raw() []byte { return v.span.Of(v.line) }

func (v value) invalid(why string) *Error {
	return &Error{Code: InvalidEnvelope, Offset: v.span.Start, Detail: v.name + " " + why}
}

// text is the decoded text of a string value, valid until the next call.
func (d *Decoder) text(v value) ([]byte, *Error) {
	if v.kind != ndjson.String {
		return nil, v.invalid("is no string")
	}
	return d.unquote(v.raw()), nil
}

// unquote decodes a string literal of a scanned line, without copying where
// it has no escapes.
func (d *Decoder) unquote(literal []byte) []byte {
	body := literal[1 : len(literal)-1]
	for _, c := range body {
		if c == '\\' {
			d.scratch, _ = ndjson.Unquote(d.scratch[:0], literal)
			return d.scratch
		}
	}
	return body
}

// matching is the text of a string that match accepts.
func (d *Decoder) matching(v value, match func([]byte) bool, what string) (string, *Error) {
	text, err := d.text(v)
	if err != nil {
		return "", err
	}
	if !match(text) {
		return "", v.invalid("is no valid " + what)
	}
	return string(text), nil
}

func readMessageID(d *Decoder, v value, e *Envelope) (err *Error) {
	e.MessageID, err = d.matching(v, validID, "id")
	return err
}

func readSentAt(d *Decoder, v value, e *Envelope) (err *Error) {
	e.SentAt, err = d.matching(v, validTime, "RFC 3339 date-time")
	return err
}

func readImplementation(d *Decoder, v value, e *Envelope) *Error {
	text, err := d.text(v)
	e.Implementation = string(text)
	return err
}

func readRequestID(d *Decoder, v value, e *Envelope) (err *Error) {
	e.RequestID, err = d.matching(v, validID, "id")
	return err
}

func readOperation(d *Decoder, v value, e *Envelope) (err *Error) {
	e.Operation, err = d.matching(v, validCapability, "capability")
	return err
}

func readEvent(d *Decoder, v value, e *Envelope) (err *Error) {
	e.Event, err = d.matching(v, validCapability, "event name")
	return err
}

func readCode(d *Decoder, v value, e *Envelope) (err *Error) {
	e.Code, err = d.matching(v, validCode, "error code")
	return err
}

func readInput(_ *Decoder, v value, e *Envelope) *Error {
	if v.kind != ndjson.Object {
		return v.invalid("is no object")
	}
	e.Input = v.raw()
	return nil
}

func readOutput(_ *Decoder, v value, e *Envelope) *Error {
	if v.kind != ndjson.Object {
		return v.invalid("is no object")
	}
	e.Output = v.raw()
	return nil
}

func readMessage(d *Decoder, v value, e *Envelope) *Error {
	text, err := d.text(v)
	if err != nil {
		return err
	}
	if len(text) > MaxMessageBytes {
		return v.invalid("has " + strconv.Itoa(len(text)) + " bytes, over the limit of " + strconv.Itoa(MaxMessageBytes))
	}
	e.Message = string(text)
	return nil
}

func readRetryable(_ *Decoder, v value, e *Envelope) *Error {
	if v.kind != ndjson.True && v.kind != ndjson.False {
		return v.invalid("is no boolean")
	}
	b := v.kind == ndjson.True
	e.Retryable = &b
	return nil
}

// readCapabilities keeps the list, whose length was judged before.
func readCapabilities(d *Decoder, v value, e *Envelope) *Error {
	if v.kind != ndjson.Array {
		return v.invalid("is no array")
	}
	var err *Error
	d.elements(v, func(item value) bool {
		var name string
		if name, err = d.matching(item, validCapability, "capability"); err != nil {
			return false
		}
		for _, have := range e.Capabilities {
			if have == name {
				err = item.invalid("stands there twice")
				return false
			}
		}
		e.Capabilities = append(e.Capabilities, name)
		return true
	})
	return err
}
