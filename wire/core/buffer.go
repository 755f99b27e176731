package core

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// DiskState is what is known of a buffer's file.
type DiskState struct {
	// Hash is sha256:HEX of the bytes; null until computed for large files.
	Hash *string `json:"hash"`
	// Mtime is the modification time with nanoseconds.
	Mtime Time `json:"mtime"`
	// Size in bytes.
	Size int64 `json:"size"`
	// Mode is octal: "0644".
	Mode string `json:"mode"`
}

// RecoveryInfo tells of unsaved edits that a recovery log holds.
type RecoveryInfo struct {
	// ID names them for buffer.recover.
	ID string `json:"id"`
	// SavedAt is when the log was last synced.
	SavedAt Time `json:"savedAt"`
	// Edits is how many there are.
	Edits int64 `json:"edits"`
	// BaseChanged tells that the file isn't what they were made on.
	BaseChanged bool `json:"baseChanged"`
}

// BufferState is how a buffer stands to its file (documents.md rule 6).
type BufferState string

// The states.
const (
	BufferOK       BufferState = "ok"
	BufferStale    BufferState = "stale"
	BufferGone     BufferState = "gone"
	BufferConflict BufferState = "conflict"
)

// Enum lists the values.
func (BufferState) Enum() []string { return []string{"ok", "stale", "gone", "conflict"} }

// BufferInfo describes a buffer.
type BufferInfo struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	PathOrNull
	// Name is for people.
	Name string `json:"name"`
	// Revision rises by one a call that changes the text.
	Revision int64 `json:"revision"`
	// SavedRevision is the revision last saved or loaded.
	SavedRevision int64 `json:"savedRevision"`
	// Modified tells that the text differs from the saved one.
	Modified bool `json:"modified"`
	// LineCount is the number of LFs and one.
	LineCount int64 `json:"lineCount"`
	// Bytes is the size of the text on the wire (UTF-8, LF).
	Bytes int64 `json:"bytes"`
	// Encoding of the file.
	Encoding string `json:"encoding"`
	// BOM tells whether the file begins with one.
	BOM bool `json:"bom"`
	// EOL is what new lines get.
	EOL EOL `json:"eol"`
	// Mixed tells that the lines end differently.
	Mixed bool `json:"mixed"`
	// FinalNewline tells that the text ends with one.
	FinalNewline bool `json:"finalNewline"`
	// New tells that there is no file yet.
	New bool `json:"new"`
	// ReadOnly tells that the file can't be written.
	ReadOnly bool `json:"readOnly"`
	// Language is a guess by name and first line.
	Language *string `json:"language"`
	// Disk is the base: what was last read or written.
	Disk *DiskState `json:"disk"`
	// State is how the buffer stands to its file.
	State BufferState `json:"state"`
	// Recovery is there while a recovery log holds edits of an earlier core.
	Recovery *RecoveryInfo `json:"recovery"`
	// Clients use the buffer.
	Clients []string `json:"clients"`
}

// BufferParams name a buffer.
type BufferParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
}

// bufferKeys makes the Keys of params that name a buffer.
func bufferKeys[P any](id func(*P) string) func(*P) []string {
	return func(p *P) []string { return []string{BufferKey(id(p))} }
}

// BufferOpenParams are the parameters of [BufferOpen].
type BufferOpenParams struct {
	PathIn
	// Encoding is used instead of the one that the bytes suggest.
	Encoding string `json:"encoding,omitzero"`
	// Force opens what is too large or binary.
	Force bool `json:"force,omitzero"`
}

// BufferOpenResult is the result of [BufferOpen].
type BufferOpenResult struct {
	BufferInfo
	// Existing tells that the buffer was open before.
	Existing bool `json:"existing"`
}

// BufferOpen opens a file.
var BufferOpen = &op.Op[BufferOpenParams, BufferOpenResult]{
	Name: "buffer.open", Since: 1, Effect: op.Read,
	Doc: "opens a file as a buffer. The same file gives the same buffer; a path that isn't there gives an empty buffer that is new, which needs the right to write.",
	Errors: []op.Code{
		op.CodeOutsideRoot, op.CodeBinaryFile, op.CodeConflict, op.CodeUnsupported, op.CodeIO, op.CodeNotFound,
	},
	Events: []string{"buffer.opened", "buffer.info"},
	// Ids are given in the order of the calls, so opening holds the namespace.
	Keys: func(p *BufferOpenParams) []string { return []string{"buffer", PathKey(p.Raw())} },
}

// BufferNewParams are the parameters of [BufferNew].
type BufferNewParams struct {
	// Name is for people.
	Name string `json:"name,omitzero"`
	// Text is the first content.
	Text string `json:"text,omitzero"`
}

// BufferNew makes a scratch buffer.
var BufferNew = &op.Op[BufferNewParams, BufferInfo]{
	Name: "buffer.new", Since: 1, Effect: op.Write,
	Doc: "makes a scratch buffer, which has no path.", Events: []string{"buffer.opened"},
}

// BufferCloseParams are the parameters of [BufferClose].
type BufferCloseParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Discard gives unsaved text up.
	Discard bool `json:"discard,omitzero"`
	// All closes it for every client.
	All bool `json:"all,omitzero"`
}

// BufferClose drops a client's use of a buffer.
var BufferClose = &op.Op[BufferCloseParams, None]{
	Name: "buffer.close", Since: 1, Effect: op.Read,
	Doc:    "drops this client's use of a buffer; with the last use an unmodified buffer goes. With discard or all it needs the right to write.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeConflict}, Events: []string{"buffer.closed", "buffer.info"},
	Keys: bufferKeys(func(p *BufferCloseParams) string { return p.Buffer }),
}

// BufferListResult is the result of [BufferList].
type BufferListResult struct {
	// Buffers are all of them, the oldest first.
	Buffers []BufferInfo `json:"buffers"`
}

// BufferList lists the buffers.
var BufferList = &op.Op[None, BufferListResult]{
	Name: "buffer.list", Since: 1, Effect: op.Read, Doc: "lists the buffers.",
}

// BufferGet tells one buffer.
var BufferGet = &op.Op[BufferParams, BufferInfo]{
	Name: "buffer.get", Since: 1, Effect: op.Read,
	Doc: "tells the state of a buffer.", Errors: []op.Code{op.CodeNoBuffer},
}

// BufferTextParams are the parameters of [BufferText].
type BufferTextParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Range asks for that part.
	Range *Range `json:"range,omitzero"`
	// From asks for what follows a position.
	From *Position `json:"from,omitzero"`
	// MaxBytes bounds the page: 1 MiB by default, 16 MiB at most.
	MaxBytes *int64 `json:"maxBytes,omitzero"`
	// Revision asks for a snapshot that is still held.
	Revision *int64 `json:"revision,omitzero"`
}

// Validate refuses range beside from, and a page without room.
func (p BufferTextParams) Validate() error {
	switch {
	case p.Range != nil && p.From != nil:
		return op.BadRequest("from", "exclusive")
	case p.MaxBytes != nil && *p.MaxBytes < 1:
		return op.BadRequest("maxBytes", op.ReasonOutOfRange)
	}
	return nil
}

// BufferTextResult is the result of [BufferText].
type BufferTextResult struct {
	// Text of the page, with LF as line end.
	Text string `json:"text"`
	// Revision of the snapshot.
	Revision int64 `json:"revision"`
	// Start of the page.
	Start Position `json:"start"`
	// End of the page.
	End Position `json:"end"`
	// Next is where the next page begins.
	Next *Position `json:"next,omitzero"`
	// EOF tells that nothing follows.
	EOF bool `json:"eof"`
}

// BufferText reads text.
var BufferText = &op.Op[BufferTextParams, BufferTextResult]{
	Name: "buffer.text", Since: 1, Effect: op.Read,
	Doc:    "reads a page of a buffer's text, from a snapshot that lives 60 s for the pages that follow.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeBadIndex, op.CodeStale},
}

// BufferEditParams are the parameters of [BufferEdit].
type BufferEditParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Edits all refer to the text before the call; they may touch, not overlap.
	Edits []Edit `json:"edits"`
	// Revision refuses the call unless it is the current one.
	Revision *int64 `json:"revision,omitzero"`
	// Coalesce joins edits with the same word within 1 s to one undo step.
	Coalesce string `json:"coalesce,omitzero"`
}

// BufferEditResult is the result of [BufferEdit].
type BufferEditResult struct {
	// Revision after the edit.
	Revision int64 `json:"revision"`
	// Ranges tell where each text now lies.
	Ranges []Range `json:"ranges"`
}

// BufferEdit changes text.
var BufferEdit = &op.Op[BufferEditParams, BufferEditResult]{
	Name: "buffer.edit", Since: 1, Effect: op.Write,
	Doc:    "replaces ranges of a buffer's text, all of them or none, as one undo step.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeBadIndex, op.CodeStale},
	Events: []string{"buffer.changed"},
	Keys:   bufferKeys(func(p *BufferEditParams) string { return p.Buffer }),
}

// BufferUndoParams are the parameters of [BufferUndo] and [BufferRedo].
type BufferUndoParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Revision refuses the call unless it is the current one.
	Revision *int64 `json:"revision,omitzero"`
}

// BufferUndoResult is the result of [BufferUndo] and [BufferRedo].
type BufferUndoResult struct {
	// Revision after the step.
	Revision int64 `json:"revision"`
	// Changed is false when there was no step.
	Changed bool `json:"changed"`
}

// BufferUndo takes a step back.
var BufferUndo = &op.Op[BufferUndoParams, BufferUndoResult]{
	Name: "buffer.undo", Since: 1, Effect: op.Write,
	Doc:    "takes back the last step of a buffer, whoever made it.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeStale}, Events: []string{"buffer.changed"},
	Keys: bufferKeys(func(p *BufferUndoParams) string { return p.Buffer }),
}

// BufferRedo makes a step again.
var BufferRedo = &op.Op[BufferUndoParams, BufferUndoResult]{
	Name: "buffer.redo", Since: 1, Effect: op.Write,
	Doc:    "makes the step again that undo took back.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeStale}, Events: []string{"buffer.changed"},
	Keys: bufferKeys(func(p *BufferUndoParams) string { return p.Buffer }),
}

// BufferFindParams are the parameters of [BufferFind].
type BufferFindParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Query is what to find.
	Query string `json:"query"`
	// Options say how it matches.
	Options FindOptions `json:"options,omitzero"`
	// From is where to begin; the start of the text by default.
	From *Position `json:"from,omitzero"`
	// Backwards finds the last match that starts before From.
	Backwards bool `json:"backwards,omitzero"`
}

// BufferFindResult is the result of [BufferFind].
type BufferFindResult struct {
	// Found tells whether there is a match.
	Found bool `json:"found"`
	// Range of the match.
	Range *Range `json:"range,omitzero"`
	// Wrapped tells that the search went on at the other end.
	Wrapped bool `json:"wrapped,omitzero"`
}

// BufferFind finds one match.
var BufferFind = &op.Op[BufferFindParams, BufferFindResult]{
	Name: "buffer.find", Since: 1, Effect: op.Read,
	Doc:    "finds the next match in a buffer, forward or backwards.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeBadIndex},
}

// BufferMatchesParams are the parameters of [BufferMatches].
type BufferMatchesParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Query is what to find.
	Query string `json:"query"`
	// Options say how it matches.
	Options FindOptions `json:"options,omitzero"`
	// Max bounds the ranges: 10,000 by default.
	Max *int `json:"max,omitzero"`
}

// BufferMatchesResult is the result of [BufferMatches].
type BufferMatchesResult struct {
	// Count of the matches in ranges.
	Count int `json:"count"`
	// Ranges of the matches.
	Ranges []Range `json:"ranges"`
	// Truncated tells that there are more.
	Truncated bool `json:"truncated"`
}

// BufferMatches finds all matches.
var BufferMatches = &op.Op[BufferMatchesParams, BufferMatchesResult]{
	Name: "buffer.matches", Since: 1, Effect: op.Read,
	Doc: "finds all matches in a buffer.", Errors: []op.Code{op.CodeNoBuffer},
}

// BufferReplaceAllParams are the parameters of [BufferReplaceAll].
type BufferReplaceAllParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Query is what to find.
	Query string `json:"query"`
	// With takes its place; with regex $1, ${name} and $$ are expanded.
	With string `json:"with"`
	// Options say how it matches.
	Options FindOptions `json:"options,omitzero"`
	// Revision refuses the call unless it is the current one.
	Revision *int64 `json:"revision,omitzero"`
}

// BufferReplaceAllResult is the result of [BufferReplaceAll].
type BufferReplaceAllResult struct {
	// Count of the replacements.
	Count int `json:"count"`
	// Revision after the call.
	Revision int64 `json:"revision"`
}

// BufferReplaceAll replaces all matches.
var BufferReplaceAll = &op.Op[BufferReplaceAllParams, BufferReplaceAllResult]{
	Name: "buffer.replaceAll", Since: 1, Effect: op.Write,
	Doc:    "replaces every match in a buffer, as one undo step.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeStale}, Events: []string{"buffer.changed"},
	Keys: bufferKeys(func(p *BufferReplaceAllParams) string { return p.Buffer }),
}

// Against is what a buffer is compared with: "disk", "head", a buffer or a
// text. Exactly one member is set.
type Against struct {
	// Word is disk or head.
	Word string
	// Buffer is an id.
	Buffer *string
	// Text is a text.
	Text *string
}

// DecodeParam reads the union.
func (a *Against) DecodeParam(raw jsontext.Value) error {
	*a = Against{}
	if s, ok := oneString(raw); ok {
		if s != "disk" && s != "head" {
			return op.BadRequest("", op.ReasonNotOneOf)
		}
		a.Word = s
		return nil
	}
	var o struct {
		Buffer *string `json:"buffer,omitzero"`
		Text   *string `json:"text,omitzero"`
	}
	if err := op.DecodeStrict(raw, &o); err != nil {
		return err
	}
	if (o.Buffer == nil) == (o.Text == nil) {
		return op.BadRequest("", "one_of")
	}
	a.Buffer, a.Text = o.Buffer, o.Text
	return nil
}

// MarshalJSON writes the union.
func (a Against) MarshalJSON() ([]byte, error) {
	switch {
	case a.Buffer != nil:
		return json.Marshal(map[string]string{"buffer": *a.Buffer})
	case a.Text != nil:
		return json.Marshal(map[string]string{"text": *a.Text})
	}
	return json.Marshal(a.Word)
}

// JSONSchema describes the union.
func (Against) JSONSchema() op.Schema {
	return op.Schema{"oneOf": []any{
		op.Schema{"enum": []any{"disk", "head"}}, stringMember("buffer"), stringMember("text"),
	}}
}

// stringMember is the schema of an object with one string.
func stringMember(name string) op.Schema {
	return op.Schema{
		"type": "object", "properties": op.Schema{name: op.Schema{"type": "string"}},
		"required": []any{name}, "additionalProperties": false,
	}
}

// BufferDiffParams are the parameters of [BufferDiff].
type BufferDiffParams struct {
	// Buffer is the id; its text is the new side.
	Buffer string `json:"buffer"`
	// Against is the old side.
	Against Against `json:"against"`
}

// BufferDiffResult is the result of [BufferDiff].
type BufferDiffResult struct {
	// Hunks of the difference.
	Hunks []Hunk `json:"hunks"`
	// Unified is the same as text.
	Unified string `json:"unified"`
	// Truncated tells that there is more.
	Truncated bool `json:"truncated"`
}

// BufferDiff compares a buffer.
var BufferDiff = &op.Op[BufferDiffParams, BufferDiffResult]{
	Name: "buffer.diff", Since: 1, Effect: op.Read,
	Doc: "compares a buffer with its file, its last commit, another buffer or a text.",
	Errors: []op.Code{
		op.CodeNoBuffer, op.CodeNoPath, op.CodeNotFound, op.CodeUnsupported, op.CodeIO, op.CodeOutsideRoot,
		op.CodeBinaryFile,
	},
}
