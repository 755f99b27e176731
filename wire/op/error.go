package op

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// A Code is an error code of the core protocol (core.md §4). Clients branch
// on the code and the reason alone.
type Code string

// The closed set of codes.
const (
	CodeBadRequest   Code = "bad_request"
	CodeUnknownOp    Code = "unknown_op"
	CodeUnauthorized Code = "unauthorized"
	CodeNotFound     Code = "not_found"
	CodeNoBuffer     Code = "no_buffer"
	CodeNoPath       Code = "no_path"
	CodeBadIndex     Code = "bad_index"
	CodeStale        Code = "stale"
	CodeConflict     Code = "conflict"
	CodeExists       Code = "exists"
	CodeOutsideRoot  Code = "outside_root"
	CodeTooLarge     Code = "too_large"
	CodeBinaryFile   Code = "binary_file"
	CodeNotText      Code = "not_text"
	CodeDenied       Code = "denied"
	CodeUnsupported  Code = "unsupported"
	CodeBusy         Code = "busy"
	CodeOverloaded   Code = "overloaded"
	CodeCancelled    Code = "cancelled"
	CodeTimeout      Code = "timeout"
	CodeIO           Code = "io_error"
	CodeAgent        Code = "agent_error"
	CodeInternal     Code = "internal"
)

// Codes is the closed set in the order of core.md §4.
func Codes() []Code {
	return []Code{
		CodeBadRequest, CodeUnknownOp, CodeUnauthorized, CodeNotFound, CodeNoBuffer,
		CodeNoPath, CodeBadIndex, CodeStale, CodeConflict, CodeExists, CodeOutsideRoot,
		CodeTooLarge, CodeBinaryFile, CodeNotText, CodeDenied, CodeUnsupported, CodeBusy,
		CodeOverloaded, CodeCancelled, CodeTimeout, CodeIO, CodeAgent, CodeInternal,
	}
}

// Reasons of conflict and busy (core.md §4).
const (
	ConflictModified    = "modified"
	ConflictDiskChanged = "disk_changed"
	ConflictMerge       = "merge"
	ConflictPathOpen    = "path_open"
	ConflictEncoding    = "encoding"
	ConflictTurnRunning = "turn_running"
	ConflictResolved    = "resolved"
	ConflictSessionLive = "session_live"
	ConflictGitRefused  = "git_refused"

	BusyIndexLock = "index_lock"
	BusyRunning   = "running"
	BusyUnsaved   = "unsaved"
	BusyDraining  = "draining"
)

// Data is the data object of an error.
type Data map[string]any

// An Error is a failure as the wire knows it. Message names the thing and
// the limit; it never holds a secret or a stack.
type Error struct {
	// Code is for programs.
	Code Code `json:"code"`
	// Message is for people.
	Message string `json:"message"`
	// Data is what the code's rule in core.md §4 says, with a reason.
	Data Data `json:"data,omitempty"`
}

// Error is the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Reason is the data's reason, "" when there is none.
func (e *Error) Reason() string {
	s, _ := e.Data["reason"].(string)
	return s
}

// With returns a copy with one more member of data.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Data = make(Data, len(e.Data)+1)
	for k, v := range e.Data {
		c.Data[k] = v
	}
	c.Data[key] = value
	return &c
}

// Fail makes an error with a message in the manner of fmt.Sprintf and no
// data; the named constructors add what their code asks for.
func Fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// BadRequest refuses params. key is the member's path ("edits[0].text"), ""
// for the request as a whole; reason is a word for programs.
func BadRequest(key, reason string) *Error {
	if key == "" {
		return Fail(CodeBadRequest, "the request is refused: %s", reason).With("reason", reason)
	}
	return Fail(CodeBadRequest, "%s: %s", key, reason).With("key", key).With("reason", reason)
}

// NotFound says that the thing isn't there. what is its kind: run, session,
// path, item…; name is the one that was asked for.
func NotFound(what, name string) *Error {
	return Fail(CodeNotFound, "no %s %q", what, name).With("what", what)
}

// NoBuffer says that no buffer has that id.
func NoBuffer(id string) *Error { return Fail(CodeNoBuffer, "no buffer %q", id) }

// NoPath says that a buffer has no path.
func NoPath(id string) *Error { return Fail(CodeNoPath, "buffer %q has no path", id) }

// BadIndex refuses a position. key is the member that holds it.
func BadIndex(key string, position any) *Error {
	return Fail(CodeBadIndex, "%s is outside the text or inside a character", key).
		With("key", key).With("position", position)
}

// Stale says that revision (the current one) isn't the one asked for.
func Stale(revision int64) *Error {
	return Fail(CodeStale, "the text is at revision %d", revision).With("revision", revision)
}

// Conflict refuses with one of the reasons of conflict.
func Conflict(reason, format string, args ...any) *Error {
	return Fail(CodeConflict, format, args...).With("reason", reason)
}

// Busy refuses with one of the reasons of busy.
func Busy(reason, format string, args ...any) *Error {
	return Fail(CodeBusy, format, args...).With("reason", reason)
}

// OutsideRoot says that a path leads out of the roots.
func OutsideRoot(path string) *Error {
	return Fail(CodeOutsideRoot, "%q is outside the roots", path)
}

// TooLarge names the limit and the size that passed it.
func TooLarge(what string, limit, size int64) *Error {
	return Fail(CodeTooLarge, "%s has %d bytes, the limit is %d", what, size, limit).
		With("limit", limit).With("size", size)
}

// Denied refuses what the caller may not do.
func Denied(reason, format string, args ...any) *Error {
	return Fail(CodeDenied, format, args...).With("reason", reason)
}

// Unsupported says what can't be done here.
func Unsupported(format string, args ...any) *Error {
	return Fail(CodeUnsupported, format, args...)
}

// Cancelled says why something ended early; reason may be "".
func Cancelled(reason string) *Error {
	e := Fail(CodeCancelled, "it was cancelled")
	if reason == "" {
		return e
	}
	e.Message = "it was cancelled: " + reason
	return e.With("reason", reason)
}

// AsError turns what a handler returned into an Error: itself, an ended
// context, or internal for anything else (wrapped is false then for none of
// the protocol's errors).
func AsError(err error) (e *Error, known bool) {
	switch {
	case errors.As(err, &e):
		return e, true
	case errors.Is(err, context.DeadlineExceeded):
		return Fail(CodeTimeout, "no answer in time"), true
	case errors.Is(err, context.Canceled):
		return Cancelled(""), true
	}
	return Fail(CodeInternal, "internal error"), false
}

// IO turns an error of the operating system about path into a protocol
// error: not_found of a path, exists, or io_error with the errno's name.
// Errors of the protocol and of contexts stay what they are.
func IO(err error, path string) *Error {
	if e, known := AsError(err); known {
		return e
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return NotFound("path", path)
	case errors.Is(err, fs.ErrExist):
		return Fail(CodeExists, "%q is there already", path)
	}
	name := "EIO"
	var errno syscall.Errno
	if errors.As(err, &errno) {
		name = errnoName(errno)
	}
	return Fail(CodeIO, "%q: %s", path, name).With("errno", name)
}

func errnoName(n syscall.Errno) string {
	switch n {
	case syscall.EACCES:
		return "EACCES"
	case syscall.EPERM:
		return "EPERM"
	case syscall.ENOSPC:
		return "ENOSPC"
	case syscall.EDQUOT:
		return "EDQUOT"
	case syscall.EROFS:
		return "EROFS"
	case syscall.EISDIR:
		return "EISDIR"
	case syscall.ENOTEMPTY:
		return "ENOTEMPTY"
	case syscall.ELOOP:
		return "ELOOP"
	case syscall.EMFILE:
		return "EMFILE"
	case syscall.ENAMETOOLONG:
		return "ENAMETOOLONG"
	case syscall.EXDEV:
		return "EXDEV"
	case syscall.EBUSY:
		return "EBUSY"
	case syscall.ETXTBSY:
		return "ETXTBSY"
	case syscall.EINVAL:
		return "EINVAL"
	case syscall.EPIPE:
		return "EPIPE"
	case syscall.ESRCH:
		return "ESRCH"
	case syscall.E2BIG:
		return "E2BIG"
	case syscall.ENXIO:
		return "ENXIO"
	case syscall.ENOEXEC:
		return "ENOEXEC"
	}
	return fmt.Sprintf("E%d", int(n))
}
