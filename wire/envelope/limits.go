package envelope

import "dragoman/wire/ndjson"

// The default budgets (envelope.md "Line and budgets").
const (
	DefaultLineBytes    = 1 << 20   // bytes of one line without its terminator
	DefaultDepth        = 32        // containers inside each other, the envelope being 1
	DefaultValues       = 4096      // JSON values in a line, the envelope counted, keys not
	DefaultArrayLen     = 1024      // elements of one array
	DefaultStringBytes  = 512 << 10 // bytes of one string or key, decoded to UTF-8
	DefaultNumberDigits = 128       // digits of one number, mantissa and exponent together
	DefaultCapabilities = 128       // capabilities in a hello
	DefaultInFlight     = 1024      // requests that run at once
)

// Window is how many messageIds of one direction, and how many retired
// requestIds, a session remembers (session rule 3, field messageId).
const Window = 1024

// MaxMessageBytes is the longest `message` of an error, in bytes of UTF-8.
const MaxMessageBytes = 4096

// Limits are the budgets of a connection. A member that is 0 or less has its
// default.
type Limits struct {
	LineBytes    int
	Depth        int
	Values       int
	ArrayLen     int
	StringBytes  int
	NumberDigits int
	Capabilities int
	InFlight     int
}

// Resolve returns l with every default filled in.
func (l Limits) Resolve() Limits {
	for _, m := range []struct {
		member *int
		value  int
	}{
		{&l.LineBytes, DefaultLineBytes},
		{&l.Depth, DefaultDepth},
		{&l.Values, DefaultValues},
		{&l.ArrayLen, DefaultArrayLen},
		{&l.StringBytes, DefaultStringBytes},
		{&l.NumberDigits, DefaultNumberDigits},
		{&l.Capabilities, DefaultCapabilities},
		{&l.InFlight, DefaultInFlight},
	} {
		if *m.member <= 0 {
			*m.member = m.value
		}
	}
	return l
}

// scanner is the part of l that concerns any JSON line.
func (l Limits) scanner() ndjson.Limits {
	return ndjson.Limits{
		Depth:        l.Depth,
		Values:       l.Values,
		ArrayLen:     l.ArrayLen,
		StringBytes:  l.StringBytes,
		NumberDigits: l.NumberDigits,
	}
}
