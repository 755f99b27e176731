package host

import "dragoman/wire/envelope"

// Codes of an [Error] that the host gives (envelope.md "Host-side error
// codes"). An error that comes from the agent bears the agent's own code.
const (
	CodeCancelled              = "CANCELLED"
	CodeInvalidConfiguration   = "INVALID_CONFIGURATION"
	CodeMalformedProtocol      = "MALFORMED_PROTOCOL"
	CodeProcessFailure         = "PROCESS_FAILURE"
	CodeRequestTimeout         = "REQUEST_TIMEOUT"
	CodeUnauthorizedCapability = "UNAUTHORIZED_CAPABILITY"
	CodeUnsupportedCapability  = "UNSUPPORTED_CAPABILITY"
)

// An Origin says who gave an error.
type Origin uint8

// The origins.
const (
	// FromHost: this package, by one of its codes.
	FromHost Origin = iota
	// FromAgent: the agent's error for the request.
	FromAgent
	// FromConnection: the agent's error without a request.
	FromConnection
)

// An Error is how a request, or a connection, fails.
type Error struct {
	// Code is one of the host's codes or, by Origin, the agent's.
	Code string
	// Message is for people; never a secret.
	Message string
	Origin  Origin
	// Retryable is the agent's word.
	Retryable bool
	// UncertainEffect: the agent may have acted all the same.
	UncertainEffect bool
	// Protocol is what the agent's line broke, with CodeMalformedProtocol.
	Protocol *envelope.Error
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap is the protocol error, if there is one.
func (e *Error) Unwrap() error {
	if e.Protocol == nil {
		return nil
	}
	return e.Protocol
}

func refuse(code, message string) *Error { return &Error{Code: code, Message: message} }
