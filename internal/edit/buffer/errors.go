package buffer

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/match"
	"dragoman/internal/edit/text"
)

// A Code is an error code of core.md §4.
type Code string

// The codes that this package uses.
const (
	BadRequest  Code = "bad_request"
	NotFound    Code = "not_found"
	NoBuffer    Code = "no_buffer"
	NoPath      Code = "no_path"
	BadIndex    Code = "bad_index"
	Stale       Code = "stale"
	Conflict    Code = "conflict"
	Exists      Code = "exists"
	TooLarge    Code = "too_large"
	BinaryFile  Code = "binary_file"
	NotText     Code = "not_text"
	Unsupported Code = "unsupported"
	IO          Code = "io_error"
	Cancelled   Code = "cancelled"
)

// The reasons of Conflict.
const (
	ReasonModified    = "modified"
	ReasonDiskChanged = "disk_changed"
	ReasonMerge       = "merge"
	ReasonPathOpen    = "path_open"
	ReasonEncoding    = "encoding"
)

// An Error is what an operation refuses with. Only the members that its code
// has are set.
type Error struct {
	Code    Code
	Reason  string
	Message string
	// Key names the param at fault: BadRequest and BadIndex.
	Key string
	// Position is the place: BadIndex and NotText.
	Position *text.Position
	// Char is the character that an encoding can't hold: NotText.
	Char rune
	// Revision is the current one: Stale.
	Revision int64
	// Limit and Size: TooLarge.
	Limit, Size int64
	// Disk is what is there: Exists, and Conflict with ReasonDiskChanged.
	Disk *Disk
	// Err is the cause, if the operating system had one.
	Err error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errno is the name of the operating system's error, or "".
func (e *Error) Errno() string {
	var no syscall.Errno
	if errors.As(e.Err, &no) {
		return errnoName(no)
	}
	return ""
}

// CodeOf is an error's code, or "" for one that isn't an *Error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func conflict(reason, format string, args ...any) *Error {
	e := fail(Conflict, format, args...)
	e.Reason = reason
	return e
}

func badRequest(key, reason, format string, args ...any) *Error {
	e := fail(BadRequest, format, args...)
	e.Key, e.Reason = key, reason
	return e
}

func stale(current int64) *Error {
	e := fail(Stale, "revision is %d", current)
	e.Revision = current
	return e
}

func badIndex(key string, err error) *Error {
	e := fail(BadIndex, "%s: %v", key, err)
	e.Key = key
	var bad *text.PositionError
	if errors.As(err, &bad) {
		e.Position = &bad.Position
	}
	return e
}

// diskError turns what file access, loading and queries fail with into an
// *Error about path.
func diskError(path string, err error) error {
	var own *Error
	var query *match.QueryError
	var undecodable *charset.UndecodableError
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &query):
		e = badRequest("query", "syntax", "%v", err)
	case errors.Is(err, charset.ErrBinary):
		e = fail(BinaryFile, "%s: %v", path, err)
	case errors.Is(err, charset.ErrUnknown):
		e = badRequest("encoding", "unknown", "%v", err)
	case errors.As(err, &undecodable):
		e = fail(NotText, "%s: %v", path, err)
	case errors.Is(err, file.ErrNotRegular):
		e = fail(Unsupported, "%s: %v", path, file.ErrNotRegular)
	case errors.Is(err, fs.ErrNotExist):
		e = fail(NotFound, "%s isn't there", path)
	default:
		e = fail(IO, "%s: %v", path, err)
	}
	e.Err = err
	return e
}
