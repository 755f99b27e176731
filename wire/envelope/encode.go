package envelope

import (
	"bytes"
	"strconv"
	"time"

	"dragoman/wire/ndjson"
)

// Append appends e as one line without its terminator, and judges nothing:
// that is [Encoder.Encode]. Line breaks between the tokens of Input and
// Output become spaces; every other byte of theirs stays as it is.
func Append(dst []byte, e *Envelope) []byte {
	dst = append(dst, `{"protocolVersion":"`...)
	dst = strconv.AppendInt(dst, int64(e.Version.Major), 10)
	dst = append(dst, '.')
	dst = strconv.AppendInt(dst, int64(e.Version.Minor), 10)
	dst = append(dst, `","kind":"`...)
	dst = append(dst, e.Kind.String()...)
	dst = append(dst, '"')
	dst = appendString(dst, "messageId", e.MessageID)
	dst = appendString(dst, "sentAt", e.SentAt)
	switch e.Kind {
	case Hello:
		dst = appendHello(dst, e)
	case Request:
		dst = appendString(dst, "requestId", e.RequestID)
		dst = appendString(dst, "operation", e.Operation)
		dst = appendObject(dst, "input", e.Input)
	case Event:
		dst = appendString(dst, "requestId", e.RequestID)
		dst = appendString(dst, "event", e.Event)
		if e.Output != nil {
			dst = appendObject(dst, "output", e.Output)
		}
	case Cancel:
		dst = appendString(dst, "requestId", e.RequestID)
	case ErrorKind:
		dst = appendError(dst, e)
	}
	return append(dst, '}')
}

func appendHello(dst []byte, e *Envelope) []byte {
	dst = append(dst, `,"capabilities":[`...)
	for i, c := range e.Capabilities {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = ndjson.AppendQuote(dst, c)
	}
	dst = append(dst, ']')
	if e.Implementation != "" {
		dst = appendString(dst, "implementation", e.Implementation)
	}
	return dst
}

func appendError(dst []byte, e *Envelope) []byte {
	if e.RequestID != "" {
		dst = appendString(dst, "requestId", e.RequestID)
	}
	dst = appendString(dst, "code", e.Code)
	dst = appendString(dst, "message", e.Message)
	if e.Retryable != nil {
		dst = append(dst, `,"retryable":`...)
		dst = strconv.AppendBool(dst, *e.Retryable)
	}
	return dst
}

func appendString(dst []byte, name, value string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return ndjson.AppendQuote(dst, value)
}

func appendObject(dst []byte, name string, object []byte) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	at := len(dst)
	dst = append(dst, object...)
	if bytes.ContainsAny(object, "\r\n") {
		// In valid JSON they stand between tokens only.
		for i := at; i < len(dst); i++ {
			if dst[i] == '\n' || dst[i] == '\r' {
				dst[i] = ' '
			}
		}
	}
	return dst
}

// An Encoder writes the envelopes of one direction: version 1.0, messageIds
// that never repeat, and nothing that a peer with the same budgets would
// refuse. It isn't safe for concurrent use.
type Encoder struct {
	check *Decoder
	now   func() time.Time
	count uint64
	line  []byte
}

// NewEncoder returns an Encoder with the peer's budgets and a clock, which
// gives sentAt.
func NewEncoder(l Limits, now func() time.Time) *Encoder {
	return &Encoder{check: NewDecoder(l), now: now}
}

// maxKeptBytes is the largest line buffer that an Encoder keeps.
const maxKeptBytes = 1 << 20

// Encode stamps e with version, messageId and sentAt and returns it as one
// line without its terminator, valid until the next call. An envelope that
// the peer would refuse is not written: the error is the [*Error] that it
// would get.
func (c *Encoder) Encode(e *Envelope) ([]byte, error) {
	c.count++
	e.Version = V1
	e.MessageID = "m" + strconv.FormatUint(c.count, 10)
	e.SentAt = c.now().UTC().Format("2006-01-02T15:04:05.000Z")
	line := Append(c.line[:0], e)
	if cap(line) <= maxKeptBytes {
		c.line = line
	}
	var back Envelope
	if err := c.check.decode(line, &back); err != nil {
		return nil, err
	}
	return line, nil
}
