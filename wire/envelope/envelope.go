package envelope

// A Kind is what an envelope is. The zero value is none.
type Kind uint8

// The kinds; the set is closed.
const (
	Hello Kind = iota + 1
	Request
	Event
	Cancel
	ErrorKind
)

var kindNames = [...]string{Hello: "hello", Request: "request", Event: "event", Cancel: "cancel", ErrorKind: "error"}

// String is the kind's name on the wire.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "none"
	}
	return kindNames[k]
}

func kindOf(name []byte) Kind {
	for k := Hello; k <= ErrorKind; k++ {
		if string(name) == kindNames[k] {
			return k
		}
	}
	return 0
}

// A Version is a protocol version.
type Version struct{ Major, Minor int }

// V1 is what this package writes. It reads every minor version of major 1.
var V1 = Version{Major: 1, Minor: 0}

// An Envelope is one message. Only the members of its kind count; the zero
// value of an optional one is "absent".
type Envelope struct {
	Version   Version
	Kind      Kind
	MessageID string
	// SentAt is an RFC 3339 date-time as it was written.
	SentAt string

	// Capabilities of a hello.
	Capabilities []string
	// Implementation of a hello says who speaks; it is informational and
	// never used to infer support.
	Implementation string

	// RequestID of a request, event and cancel, and of an error that concerns
	// a request.
	RequestID string
	// Operation of a request.
	Operation string
	// Input of a request: a JSON object by its bytes.
	Input []byte
	// Event of an event: its name.
	Event string
	// Output of an event: a JSON object by its bytes, nil if absent.
	Output []byte

	// Code of an error.
	Code string
	// Message of an error, for people.
	Message string
	// Retryable of an error; nil if absent.
	Retryable *bool

	// at says where each field's value stood in the line.
	at [fieldCount]int
}

// Ends reports whether e is an event that ends its request.
func (e *Envelope) Ends() bool {
	return e.Kind == Event && (e.Event == EventCompleted || e.Event == EventCancelled)
}

// MayRetry reports whether an error says that it is retryable.
func (e *Envelope) MayRetry() bool { return e.Retryable != nil && *e.Retryable }
