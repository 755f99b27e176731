package core

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/agent"
	"dragoman/wire/op"
)

// Level is the level of the protocol that all declarations here belong to.
const Level = 1

// None is the params or result of operations that have none.
type None struct{}

// BufferKey names a buffer among the things that calls write.
func BufferKey(id string) string { return "buffer:" + id }

// PathKey names a path among the things that calls write.
func PathKey(path string) string { return "path:" + path }

// PathOfKey is the path that a key of [PathKey] names.
func PathOfKey(key string) (path string, ok bool) { return strings.CutPrefix(key, "path:") }

// PathIn is a path in params: path, or pathBytes for one that isn't UTF-8
// (core.md §1). Exactly one of them.
type PathIn struct {
	// Path is absolute or relative to the root.
	Path string `json:"path,omitzero"`
	// PathBytes are the path's bytes (base64) where it isn't UTF-8.
	PathBytes []byte `json:"pathBytes,omitzero"`
}

// Raw is the path as the system knows it; "" when absent.
func (p PathIn) Raw() string {
	if p.PathBytes != nil {
		return string(p.PathBytes)
	}
	return p.Path
}

// Validate refuses both, neither, and NUL.
func (p PathIn) Validate() error {
	if p.Raw() == "" {
		return op.BadRequest("path", op.ReasonMissing)
	}
	return PathMaybe(p).Validate()
}

// PathMaybe is a path in params that may be absent.
type PathMaybe struct {
	// Path is absolute or relative to the root.
	Path string `json:"path,omitzero"`
	// PathBytes are the path's bytes (base64) where it isn't UTF-8.
	PathBytes []byte `json:"pathBytes,omitzero"`
}

// Raw is the path as the system knows it; "" when absent.
func (p PathMaybe) Raw() string { return PathIn(p).Raw() }

// Validate refuses both, and NUL.
func (p PathMaybe) Validate() error {
	if p.Path != "" && p.PathBytes != nil {
		return op.BadRequest("pathBytes", "exclusive")
	}
	if strings.ContainsRune(p.Raw(), 0) {
		return op.BadRequest("path", "nul")
	}
	return nil
}

// PathOut is a path in results and events.
type PathOut struct {
	// Path is absolute; U+FFFD stands for what isn't UTF-8.
	Path string `json:"path"`
	// PathBytes are the bytes (base64), only where Path isn't exact.
	PathBytes []byte `json:"pathBytes,omitzero"`
}

// NewPath makes the wire form of a path.
func NewPath(raw string) PathOut {
	if utf8.ValidString(raw) {
		return PathOut{Path: raw}
	}
	return PathOut{Path: strings.ToValidUTF8(raw, "\uFFFD"), PathBytes: []byte(raw)}
}

// Raw is the path as the system knows it.
func (p PathOut) Raw() string { return PathIn(p).Raw() }

// In is the path as params take it.
func (p PathOut) In() PathIn {
	if p.PathBytes != nil {
		return PathIn{PathBytes: p.PathBytes}
	}
	return PathIn{Path: p.Path}
}

// PathOrNull is a path in results that may be null.
type PathOrNull struct {
	// Path is absolute, or null for what has none.
	Path *string `json:"path"`
	// PathBytes are the bytes (base64), only where Path isn't exact.
	PathBytes []byte `json:"pathBytes,omitzero"`
}

// NewPathOrNull makes the wire form of a path; "" is null.
func NewPathOrNull(raw string) PathOrNull {
	if raw == "" {
		return PathOrNull{}
	}
	p := NewPath(raw)
	return PathOrNull{Path: &p.Path, PathBytes: p.PathBytes}
}

// Position is a place in a text (core.md §5).
type Position struct {
	// Line counts from 0.
	Line int64 `json:"line"`
	// Character counts from 0 in the client's unit; the line end isn't counted.
	Character int64 `json:"character"`
}

// Range is half-open.
type Range struct {
	// Start is inside.
	Start Position `json:"start"`
	// End is outside.
	End Position `json:"end"`
}

// Edit puts text in the place of a range.
type Edit struct {
	// Range is replaced; an empty one inserts.
	Range Range `json:"range"`
	// Text takes its place, with LF as line end.
	Text string `json:"text"`
}

// Time is a moment, RFC 3339 UTC (core.md §1).
type Time = time.Time

// OriginKind says what changed a thing.
type OriginKind string

// The kinds of origin.
const (
	OriginClient OriginKind = "client"
	OriginAgent  OriginKind = "agent"
	OriginExec   OriginKind = "exec"
	OriginGit    OriginKind = "git"
	OriginDisk   OriginKind = "disk"
	OriginCore   OriginKind = "core"
)

// Enum lists the values.
func (OriginKind) Enum() []string {
	return []string{"client", "agent", "exec", "git", "disk", "core"}
}

// Certainty says how sure an attribution is (documents.md rule 3).
type Certainty string

// The certainties.
const (
	Exact     Certainty = "exact"
	Reported  Certainty = "reported"
	Inferred  Certainty = "inferred"
	Ambiguous Certainty = "ambiguous"
)

// Enum lists the values.
func (Certainty) Enum() []string {
	return []string{"exact", "reported", "inferred", "ambiguous"}
}

// ChangeReason says what an origin did.
type ChangeReason string

// Enum lists the values.
func (ChangeReason) Enum() []string {
	return []string{
		"edit", "undo", "redo", "replace", "write", "save", "reload", "merge", "resolve",
		"format", "recover", "revert", "create", "rename", "delete", "copy", "restore", "git",
	}
}

// Origin is who changed something, in buffer, fs and git events (core.md §6).
type Origin struct {
	// Kind is what changed it.
	Kind OriginKind `json:"kind"`
	// Client is the client whose call it was.
	Client string `json:"client,omitzero"`
	// Run is the run that it belongs to.
	Run string `json:"run,omitzero"`
	// Session is the agent session of the run.
	Session string `json:"session,omitzero"`
	// ToolCallID is the agent's call.
	ToolCallID string `json:"toolCallId,omitzero"`
	// Certainty says how sure that is.
	Certainty Certainty `json:"certainty"`
	// Runs are the candidates when it is ambiguous.
	Runs []string `json:"runs,omitempty"`
	// Reason is what was done.
	Reason ChangeReason `json:"reason,omitzero"`
}

// ClientOrigin is the origin of a client's own call.
func ClientOrigin(c op.Call, reason ChangeReason) Origin {
	return Origin{Kind: OriginClient, Client: c.Client, Certainty: Exact, Reason: reason}
}

// HunkLine is one line of a hunk.
type HunkLine struct {
	// Op is " ", "+" or "-".
	Op string `json:"op"`
	// Text is the line without its end.
	Text string `json:"text"`
	// NoEOL marks a last line without line end.
	NoEOL bool `json:"noEol,omitzero"`
}

// Hunk is one hunk of a diff, numbered from 1 as in unified diffs.
type Hunk struct {
	// OldStart is the first line in the old text.
	OldStart int `json:"oldStart"`
	// OldLines is how many lines of the old text it covers.
	OldLines int `json:"oldLines"`
	// NewStart is the first line in the new text.
	NewStart int `json:"newStart"`
	// NewLines is how many lines of the new text it covers.
	NewLines int `json:"newLines"`
	// Header is what stands behind the numbers.
	Header string `json:"header,omitzero"`
	// Lines are context, additions and removals.
	Lines []HunkLine `json:"lines"`
}

// FindOptions say how a query matches (core.md §6 buffer.find).
type FindOptions struct {
	// Regex reads the query as RE2.
	Regex bool `json:"regex,omitzero"`
	// IgnoreCase folds by simple Unicode folding.
	IgnoreCase bool `json:"ignoreCase,omitzero"`
	// WholeWord wants no letter, digit or _ on either side.
	WholeWord bool `json:"wholeWord,omitzero"`
}

// EOL is a line end.
type EOL string

// The line ends.
const (
	LF   EOL = "lf"
	CRLF EOL = "crlf"
)

// Enum lists the values.
func (EOL) Enum() []string { return []string{"lf", "crlf"} }

// BytesOrText is content in params: text, or base64 for what isn't UTF-8.
type BytesOrText struct {
	// Text is the content as text.
	Text *string `json:"text,omitzero"`
	// Base64 is the content as bytes.
	Base64 []byte `json:"base64,omitzero"`
}

// Validate wants exactly one of them.
func (b BytesOrText) Validate() error {
	switch {
	case b.Text == nil && b.Base64 == nil:
		return op.BadRequest("text", op.ReasonMissing)
	case b.Text != nil && b.Base64 != nil:
		return op.BadRequest("base64", "exclusive")
	}
	return nil
}

// Bytes is the content.
func (b BytesOrText) Bytes() []byte {
	if b.Text != nil {
		return []byte(*b.Text)
	}
	return b.Base64
}

// AgentError is the protocol's form of an agent's failure (core.md §4).
func AgentError(e *agent.Error) *op.Error {
	return &op.Error{Code: op.CodeAgent, Message: e.Error(), Data: op.Data{
		"code": e.Code, "stage": e.Stage,
		"retryable": e.Retryable, "uncertainEffect": e.UncertainEffect,
	}}
}

// oneString decodes a JSON string of a union; ok is false for other kinds.
func oneString(raw jsontext.Value) (s string, ok bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}
