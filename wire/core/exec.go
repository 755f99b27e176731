package core

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// Inherit says what a process gets of the core's environment.
type Inherit string

// The ways.
const (
	InheritSafe Inherit = "safe"
	InheritCore Inherit = "core"
)

// Enum lists the values.
func (Inherit) Enum() []string { return []string{"safe", "core"} }

// ExecStdin is what a process reads: "none", "open", {text} or {base64}.
type ExecStdin struct {
	// Word is none or open; "" when Content counts.
	Word string
	// Content is written, then the input ends.
	Content *BytesOrText
}

// IsZero reports that the member is absent.
func (s ExecStdin) IsZero() bool { return s.Word == "" && s.Content == nil }

// DecodeParam reads the union.
func (s *ExecStdin) DecodeParam(raw jsontext.Value) error {
	*s = ExecStdin{}
	if w, ok := oneString(raw); ok {
		if w != "none" && w != "open" {
			return op.BadRequest("", op.ReasonNotOneOf)
		}
		s.Word = w
		return nil
	}
	s.Content = new(BytesOrText)
	return op.DecodeStrict(raw, s.Content)
}

// MarshalJSON writes the union.
func (s ExecStdin) MarshalJSON() ([]byte, error) {
	if s.Content != nil {
		return json.Marshal(s.Content)
	}
	return json.Marshal(s.Word)
}

// JSONSchema describes the union.
func (ExecStdin) JSONSchema() op.Schema {
	return op.Schema{"oneOf": []any{
		op.Schema{"enum": []any{"none", "open"}}, stringMember("text"), stringMember("base64"),
	}}
}

// PTYSize is the size of a terminal in characters.
type PTYSize struct {
	// Cols across.
	Cols uint16 `json:"cols"`
	// Rows down.
	Rows uint16 `json:"rows"`
}

// ExecRunParams are the parameters of [ExecRun].
type ExecRunParams struct {
	op.Streaming
	// Argv is the program and its arguments; never a shell.
	Argv []string `json:"argv"`
	// Cwd is the working folder; the root by default.
	Cwd string `json:"cwd,omitzero"`
	// Env is set over what is inherited; null takes a name away.
	Env map[string]*string `json:"env,omitempty"`
	// Inherit says what the process gets of the core's environment.
	Inherit Inherit `json:"inherit,omitzero"`
	// Stdin is what it reads: none by default.
	Stdin ExecStdin `json:"stdin,omitzero"`
	// PTY gives it a terminal of that size.
	PTY *PTYSize `json:"pty,omitzero"`
	// TimeoutMs ends it.
	TimeoutMs *int64 `json:"timeoutMs,omitzero"`
	// MaxBytes bounds the output that is kept.
	MaxBytes *int64 `json:"maxBytes,omitzero"`
}

// Validate refuses an empty argv, NUL, and stdin beside pty.
func (p ExecRunParams) Validate() error {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return op.BadRequest("argv", op.ReasonMissing)
	}
	for i, a := range p.Argv {
		if strings.ContainsRune(a, 0) {
			return op.BadRequest(fmt.Sprintf("argv[%d]", i), "nul")
		}
	}
	for name, value := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || value != nil && strings.ContainsRune(*value, 0) {
			return op.BadRequest("env", "invalid")
		}
	}
	switch {
	case strings.ContainsRune(p.Cwd, 0):
		return op.BadRequest("cwd", "nul")
	case p.PTY != nil && !p.Stdin.IsZero():
		return op.BadRequest("stdin", "exclusive")
	case p.PTY != nil && (p.PTY.Cols == 0 || p.PTY.Rows == 0):
		return op.BadRequest("pty", op.ReasonOutOfRange)
	case p.TimeoutMs != nil && *p.TimeoutMs < 1:
		return op.BadRequest("timeoutMs", op.ReasonOutOfRange)
	case p.MaxBytes != nil && *p.MaxBytes < 0:
		return op.BadRequest("maxBytes", op.ReasonOutOfRange)
	}
	return nil
}

// ExecRunResult is the result of [ExecRun].
type ExecRunResult struct {
	// ExitCode where it exited.
	ExitCode *int `json:"exitCode,omitzero"`
	// Signal where that ended it.
	Signal string `json:"signal,omitzero"`
	// TimedOut tells that timeoutMs passed.
	TimedOut bool `json:"timedOut"`
	// Truncated tells that output was dropped.
	Truncated bool `json:"truncated"`
	// Bytes of output in all.
	Bytes int64 `json:"bytes"`
	// Survivors are processes that couldn't be ended.
	Survivors []int `json:"survivors"`
}

// ExecRun runs a program.
var ExecRun = &op.Op[ExecRunParams, ExecRunResult]{
	Name: "exec.run", Since: 1, Effect: op.Exec, Streaming: true,
	Doc:    "runs a program, with pipes or a terminal; its output comes as exec.output and stays in a log.",
	Errors: []op.Code{op.CodeNotFound, op.CodeOutsideRoot, op.CodeIO, op.CodeUnsupported},
	Events: []string{"exec.output"},
}

// OutputStream is where output came from.
type OutputStream string

// The streams.
const (
	Stdout OutputStream = "stdout"
	Stderr OutputStream = "stderr"
	PTY    OutputStream = "pty"
)

// Enum lists the values.
func (OutputStream) Enum() []string { return []string{"stdout", "stderr", "pty"} }

// ExecOutputParams are the params of [ExecOutput].
type ExecOutputParams struct {
	// Run is the process's.
	Run string `json:"run"`
	// Stream that it was written to.
	Stream OutputStream `json:"stream"`
	// Offset of the first byte in the stream.
	Offset *int64 `json:"offset,omitzero"`
	// Text is the output.
	Text *string `json:"text,omitzero"`
	// Base64 is the output where it isn't UTF-8.
	Base64 []byte `json:"base64,omitzero"`
	// SkippedTo stands alone where output was left out for a slow client: the
	// offset that comes next; exec.readOutput has the rest.
	SkippedTo *int64 `json:"skippedTo,omitzero"`
}

// ExecOutput tells output.
var ExecOutput = &op.Event[ExecOutputParams]{
	Name: "exec.output", Since: 1, Bulk: true, Doc: "tells what a process wrote.",
}

// ExecWriteParams are the parameters of [ExecWrite].
type ExecWriteParams struct {
	// Run is the process's.
	Run string `json:"run"`
	// Text to write.
	Text *string `json:"text,omitzero"`
	// Base64 to write where it isn't UTF-8.
	Base64 []byte `json:"base64,omitzero"`
	// EOF ends the input behind it.
	EOF bool `json:"eof,omitzero"`
}

// Validate wants content or eof, and one kind of content.
func (p ExecWriteParams) Validate() error {
	if p.EOF && p.Text == nil && p.Base64 == nil {
		return nil
	}
	return BytesOrText{Text: p.Text, Base64: p.Base64}.Validate()
}

// RunKey names a run among the things that calls write.
func RunKey(run string) string { return "run:" + run }

// ExecWrite writes to a process.
var ExecWrite = &op.Op[ExecWriteParams, None]{
	Name: "exec.write", Since: 1, Effect: op.Exec, Doc: "writes to a process's standard input or terminal.",
	Errors: []op.Code{op.CodeNotFound, op.CodeUnsupported, op.CodeIO},
	Keys:   func(p *ExecWriteParams) []string { return []string{RunKey(p.Run)} },
}

// ExecResizeParams are the parameters of [ExecResize].
type ExecResizeParams struct {
	// Run is the process's.
	Run string `json:"run"`
	// Cols across.
	Cols uint16 `json:"cols"`
	// Rows down.
	Rows uint16 `json:"rows"`
}

// ExecResize changes a terminal's size.
var ExecResize = &op.Op[ExecResizeParams, None]{
	Name: "exec.resize", Since: 1, Effect: op.Exec, Doc: "changes the size of a process's terminal.",
	Errors: []op.Code{op.CodeNotFound, op.CodeUnsupported, op.CodeIO},
}

// ExecSignalParams are the parameters of [ExecSignal].
type ExecSignalParams struct {
	// Run is the process's.
	Run string `json:"run"`
	// Signal by name: SIGINT, SIGTERM, …
	Signal string `json:"signal"`
}

// ExecSignal sends a signal.
var ExecSignal = &op.Op[ExecSignalParams, None]{
	Name: "exec.signal", Since: 1, Effect: op.Exec, Doc: "sends a signal to a process's group.",
	Errors: []op.Code{op.CodeNotFound, op.CodeUnsupported, op.CodeIO},
}

// ExecInfo is one process.
type ExecInfo struct {
	// Run is the id.
	Run string `json:"run"`
	// Argv is the program and its arguments.
	Argv []string `json:"argv"`
	// Cwd is the working folder.
	Cwd string `json:"cwd"`
	// PID of the process.
	PID int `json:"pid"`
	// PTY tells that it has a terminal.
	PTY bool `json:"pty"`
	// State is how far its run is.
	State RunState `json:"state"`
	// ExitCode where it exited.
	ExitCode *int `json:"exitCode,omitzero"`
	// Bytes of output so far.
	Bytes int64 `json:"bytes"`
	// Session is the agent session that it belongs to.
	Session string `json:"session,omitzero"`
	// StartedAt is when it started.
	StartedAt Time `json:"startedAt"`
}

// ExecListResult is the result of [ExecList].
type ExecListResult struct {
	// Runs are the processes, the oldest first.
	Runs []ExecInfo `json:"runs"`
}

// ExecList lists the processes.
var ExecList = &op.Op[None, ExecListResult]{
	Name: "exec.list", Since: 1, Effect: op.Read, Doc: "lists the processes that run or ended lately.",
}

// ExecReadOutputParams are the parameters of [ExecReadOutput].
type ExecReadOutputParams struct {
	// Run is the process's.
	Run string `json:"run"`
	// Stream to read.
	Stream OutputStream `json:"stream"`
	// From is the offset of the first byte.
	From int64 `json:"from"`
	// MaxBytes bounds the page.
	MaxBytes *int64 `json:"maxBytes,omitzero"`
}

// ExecReadOutputResult is the result of [ExecReadOutput].
type ExecReadOutputResult struct {
	// Text is the output.
	Text *string `json:"text,omitzero"`
	// Base64 is the output where it isn't UTF-8.
	Base64 []byte `json:"base64,omitzero"`
	// From is the offset of the first byte.
	From int64 `json:"from"`
	// Next is the offset behind the last one.
	Next int64 `json:"next"`
	// EOF tells that the stream has ended there.
	EOF bool `json:"eof"`
}

// ExecReadOutput reads a process's log.
var ExecReadOutput = &op.Op[ExecReadOutputParams, ExecReadOutputResult]{
	Name: "exec.readOutput", Since: 1, Effect: op.Read, Doc: "reads the log of a process's output.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO},
}
