package envelope

import (
	"strconv"
	"unicode/utf8"
)

// A Code names what is wrong with a line of the peer (envelope.md, the
// parse-level codes). The set is closed.
type Code string

// The parse-level codes.
const (
	LineTooLarge       Code = "LINE_TOO_LARGE"
	InvalidJSON        Code = "INVALID_JSON"
	InvalidUTF8        Code = "INVALID_UTF8"
	DuplicateKey       Code = "DUPLICATE_KEY"
	BudgetExceeded     Code = "BUDGET_EXCEEDED"
	UnsupportedVersion Code = "UNSUPPORTED_VERSION"
	UnknownKind        Code = "UNKNOWN_KIND"
	InvalidEnvelope    Code = "INVALID_ENVELOPE"
	DuplicateMessageID Code = "DUPLICATE_MESSAGE_ID"
	UnexpectedMessage  Code = "UNEXPECTED_MESSAGE"
)

// Codes that agents give to a request (envelope.md). Others are free.
const (
	UnsupportedOperation = "UNSUPPORTED_OPERATION"
	InvalidInput         = "INVALID_INPUT"
	Busy                 = "BUSY"
	Failed               = "FAILED"
	ResultTooLarge       = "RESULT_TOO_LARGE"
)

// Events that end a request (envelope.md, session rule 3).
const (
	EventCompleted = "completed"
	EventCancelled = "cancelled"
)

// An Error is a protocol error: what the peer's line breaks, and where.
type Error struct {
	// Code is one of the Code constants.
	Code Code
	// Offset is in bytes from the start of the line.
	Offset int
	// Detail is for people; it never shows the line's content.
	Detail string
}

// Error says code, offset and detail.
func (e *Error) Error() string {
	return string(e.Code) + " at byte " + strconv.Itoa(e.Offset) + ": " + e.Detail
}

// ExcerptBytes is how much of a refused line is reported (session rule 7).
const ExcerptBytes = 200

// Excerpt is the start of a refused line for a report: its first
// [ExcerptBytes] bytes in printable ASCII, everything else escaped as in a Go
// string.
func Excerpt(line []byte) string {
	if len(line) > ExcerptBytes {
		line = line[:ExcerptBytes]
		// A character that the cut went through isn't the peer's fault.
		for i := 1; i < utf8.UTFMax && i < len(line); i++ {
			if tail := line[len(line)-i:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					line = line[:len(line)-i]
				}
				break
			}
		}
	}
	quoted := strconv.QuoteToASCII(string(line))
	return quoted[1 : len(quoted)-1]
}
