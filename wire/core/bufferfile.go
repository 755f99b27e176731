package core

import "dragoman/wire/op"

// BufferSaveParams are the parameters of [BufferSave].
type BufferSaveParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	PathMaybe
	// Force writes over a disk that changed and over a file that is there.
	Force bool `json:"force,omitzero"`
}

// BufferSave writes the file.
var BufferSave = &op.Op[BufferSaveParams, BufferInfo]{
	Name: "buffer.save", Since: 1, Effect: op.Write,
	Doc: "writes a buffer to its file, or to path, which becomes its file. It is atomic and refuses to lose what someone else wrote.",
	Errors: []op.Code{
		op.CodeNoBuffer, op.CodeNoPath, op.CodeConflict, op.CodeExists, op.CodeOutsideRoot,
		op.CodeNotText, op.CodeIO, op.CodeNotFound, op.CodeUnsupported,
	},
	Events: []string{"buffer.saved", "buffer.info", "fs.changed"},
	Keys:   bufferKeys(func(p *BufferSaveParams) string { return p.Buffer }),
}

// BufferReloadParams are the parameters of [BufferReload].
type BufferReloadParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Discard gives unsaved text up.
	Discard bool `json:"discard,omitzero"`
}

// BufferReload reads the file again.
var BufferReload = &op.Op[BufferReloadParams, BufferInfo]{
	Name: "buffer.reload", Since: 1, Effect: op.Write,
	Doc: "takes the file's content by minimal edits.",
	Errors: []op.Code{
		op.CodeNoBuffer, op.CodeNoPath, op.CodeConflict, op.CodeNotFound, op.CodeBinaryFile, op.CodeIO,
		op.CodeOutsideRoot, op.CodeUnsupported,
	},
	Events: []string{"buffer.changed", "buffer.info"},
	Keys:   bufferKeys(func(p *BufferReloadParams) string { return p.Buffer }),
}

// BufferKeepParams are the parameters of [BufferKeep].
type BufferKeepParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Hash is the disk state that becomes the base.
	Hash string `json:"hash"`
}

// BufferKeep keeps the buffer's text over a disk that changed.
var BufferKeep = &op.Op[BufferKeepParams, BufferInfo]{
	Name: "buffer.keep", Since: 1, Effect: op.Write,
	Doc: "makes the disk state with that hash the base and keeps the buffer's text.",
	Errors: []op.Code{
		op.CodeNoBuffer, op.CodeNoPath, op.CodeConflict, op.CodeNotFound, op.CodeIO, op.CodeOutsideRoot,
		op.CodeUnsupported,
	},
	Events: []string{"buffer.info"},
	Keys:   bufferKeys(func(p *BufferKeepParams) string { return p.Buffer }),
}

// Take says which side resolves a conflict.
type Take string

// The sides.
const (
	TakeBuffer Take = "buffer"
	TakeDisk   Take = "disk"
	TakeEdits  Take = "edits"
)

// Enum lists the values.
func (Take) Enum() []string { return []string{"buffer", "disk", "edits"} }

// BufferResolveParams are the parameters of [BufferResolve].
type BufferResolveParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Take says which text counts.
	Take Take `json:"take"`
	// Edits are made on the buffer's text, with take edits.
	Edits []Edit `json:"edits,omitzero"`
}

// Validate wants edits with take edits alone.
func (p BufferResolveParams) Validate() error {
	if (p.Take == TakeEdits) != (p.Edits != nil) {
		return op.BadRequest("edits", "one_of")
	}
	return nil
}

// BufferResolve ends a conflict.
var BufferResolve = &op.Op[BufferResolveParams, BufferInfo]{
	Name: "buffer.resolve", Since: 1, Effect: op.Write,
	Doc: "leads a buffer out of the state conflict.",
	Errors: []op.Code{
		op.CodeNoBuffer, op.CodeNoPath, op.CodeConflict, op.CodeBadIndex, op.CodeBinaryFile,
		op.CodeNotFound, op.CodeIO, op.CodeOutsideRoot, op.CodeUnsupported,
	},
	Events: []string{"buffer.changed", "buffer.info"},
	Keys:   bufferKeys(func(p *BufferResolveParams) string { return p.Buffer }),
}

// BufferSetPathParams are the parameters of [BufferSetPath].
type BufferSetPathParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	PathIn
}

// BufferSetPath gives a buffer another path.
var BufferSetPath = &op.Op[BufferSetPathParams, BufferInfo]{
	Name: "buffer.setPath", Since: 1, Effect: op.Write,
	Doc: "gives a buffer another path; nothing is written.",
	Errors: []op.Code{
		op.CodeNoBuffer, op.CodeOutsideRoot, op.CodeConflict, op.CodeIO, op.CodeUnsupported, op.CodeNotFound,
	},
	Events: []string{"buffer.info"},
	Keys:   bufferKeys(func(p *BufferSetPathParams) string { return p.Buffer }),
}

// BufferSetFormatParams are the parameters of [BufferSetFormat].
type BufferSetFormatParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// Encoding that the file gets.
	Encoding string `json:"encoding,omitzero"`
	// BOM puts one at the start.
	BOM *bool `json:"bom,omitzero"`
	// EOL of all lines.
	EOL EOL `json:"eol,omitzero"`
	// FinalNewline adds or removes the last one: it edits the text.
	FinalNewline *bool `json:"finalNewline,omitzero"`
}

// BufferSetFormat changes how a buffer is written.
var BufferSetFormat = &op.Op[BufferSetFormatParams, BufferInfo]{
	Name: "buffer.setFormat", Since: 1, Effect: op.Write,
	Doc:    "changes encoding, byte order mark, line ends or final newline, as one undo step.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeNotText, op.CodeUnsupported},
	Events: []string{"buffer.changed", "buffer.info"},
	Keys:   bufferKeys(func(p *BufferSetFormatParams) string { return p.Buffer }),
}

// BufferCheckDiskParams are the parameters of [BufferCheckDisk].
type BufferCheckDiskParams struct {
	// Buffers to look at; all of them by default.
	Buffers []string `json:"buffers,omitempty"`
}

// StaleBuffer is a buffer whose disk isn't its base.
type StaleBuffer struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	PathOut
	// Gone tells that the file isn't there.
	Gone bool `json:"gone"`
	// Hash of what is there.
	Hash *string `json:"hash"`
}

// BufferCheckDiskResult is the result of [BufferCheckDisk].
type BufferCheckDiskResult struct {
	// Stale are those whose disk isn't their base.
	Stale []StaleBuffer `json:"stale"`
}

// BufferCheckDisk compares buffers with their files.
var BufferCheckDisk = &op.Op[BufferCheckDiskParams, BufferCheckDiskResult]{
	Name: "buffer.checkDisk", Since: 1, Effect: op.Read,
	Doc:    "lists the buffers whose file isn't what was last read or written.",
	Errors: []op.Code{op.CodeNoBuffer, op.CodeIO},
}

// BufferRecoverParams are the parameters of [BufferRecover]: a buffer with
// recovery, or the id of an item of buffer.recoveries.
type BufferRecoverParams struct {
	// Buffer is the id of an open buffer.
	Buffer string `json:"buffer,omitzero"`
	// ID is that of an item.
	ID string `json:"id,omitzero"`
}

// Validate wants exactly one of them.
func (p BufferRecoverParams) Validate() error {
	if (p.Buffer == "") == (p.ID == "") {
		return op.BadRequest("id", "one_of")
	}
	return nil
}

// BufferRecover applies unsaved edits of an earlier core.
var BufferRecover = &op.Op[BufferRecoverParams, BufferInfo]{
	Name: "buffer.recover", Since: 1, Effect: op.Write,
	Doc: "applies the unsaved edits that an earlier core left, as one undo step.",
	Errors: []op.Code{
		op.CodeNoBuffer, op.CodeNotFound, op.CodeConflict, op.CodeIO, op.CodeOutsideRoot,
		op.CodeBinaryFile, op.CodeUnsupported,
	},
	Events: []string{"buffer.opened", "buffer.changed", "buffer.info"},
}

// BufferForgetParams are the parameters of [BufferForget].
type BufferForgetParams struct {
	// ID is that of an item of buffer.recoveries.
	ID string `json:"id"`
}

// BufferForget drops unsaved edits of an earlier core.
var BufferForget = &op.Op[BufferForgetParams, None]{
	Name: "buffer.forget", Since: 1, Effect: op.Write,
	Doc:    "drops unsaved edits that an earlier core left.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO}, Events: []string{"buffer.info"},
}

// RecoveryItem is what buffer.recoveries tells of unsaved edits.
type RecoveryItem struct {
	// ID names it.
	ID string `json:"id"`
	PathOrNull
	// Name is for people.
	Name string `json:"name"`
	// SavedAt is when the log was last synced.
	SavedAt Time `json:"savedAt"`
	// Edits is how many there are.
	Edits int64 `json:"edits"`
}

// BufferRecoveriesResult is the result of [BufferRecoveries].
type BufferRecoveriesResult struct {
	// Items are the logs with edits.
	Items []RecoveryItem `json:"items"`
}

// BufferRecoveries lists unsaved edits of earlier cores.
var BufferRecoveries = &op.Op[None, BufferRecoveriesResult]{
	Name: "buffer.recoveries", Since: 1, Effect: op.Read,
	Doc: "lists the unsaved edits that earlier cores left.", Errors: []op.Code{op.CodeIO},
}

// BufferOpened tells of a new buffer.
var BufferOpened = &op.Event[BufferInfo]{
	Name: "buffer.opened", Since: 1, Doc: "tells of a new buffer.",
}

// BufferClosedParams are the params of [BufferClosed].
type BufferClosedParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	PathOrNull
	// Reason says why: closed, discarded or detached.
	Reason string `json:"reason"`
}

// BufferClosed tells that a buffer is gone.
var BufferClosed = &op.Event[BufferClosedParams]{
	Name: "buffer.closed", Since: 1, Doc: "tells that a buffer is gone.",
}

// BufferSavedParams are the params of [BufferSaved].
type BufferSavedParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	PathOut
	// Revision that was written.
	Revision int64 `json:"revision"`
	// Hash of the bytes on disk.
	Hash *string `json:"hash"`
	// Bytes on disk.
	Bytes int64 `json:"bytes"`
	// Origin is who saved it.
	Origin Origin `json:"origin"`
}

// BufferSaved tells that a buffer was written.
var BufferSaved = &op.Event[BufferSavedParams]{
	Name: "buffer.saved", Since: 1, Doc: "tells that a buffer was written to its file.",
}

// BufferInfoChangedParams are the params of [BufferInfoChanged]: the members
// of BufferInfo that changed, under their names, and buffer.
type BufferInfoChangedParams map[string]any

// BufferInfoChanged tells changed members of BufferInfo; on the wire it is
// buffer.info.
var BufferInfoChanged = &op.Event[BufferInfoChangedParams]{
	Name: "buffer.info", Since: 1, Doc: "tells the members of a buffer's info that changed.",
}

// BufferChangedParams are the params of [BufferChanged].
type BufferChangedParams struct {
	// Buffer is the id.
	Buffer string `json:"buffer"`
	// From is the revision before.
	From int64 `json:"from"`
	// Revision is the one after.
	Revision int64 `json:"revision"`
	// Edits go from the last to the first: each range holds in the old text,
	// and when they are applied one after the other.
	Edits []Edit `json:"edits,omitzero"`
	// Reset stands instead of more than 1 MiB of text: read again.
	Reset bool `json:"reset,omitzero"`
	// LineCount after the change.
	LineCount int64 `json:"lineCount"`
	// Modified after the change.
	Modified bool `json:"modified"`
	// Origin is who changed it.
	Origin Origin `json:"origin"`
}

// BufferChanged tells that text changed.
var BufferChanged = &op.Event[BufferChangedParams]{
	Name: "buffer.changed", Since: 1, Doc: "tells how a buffer's text changed.",
}
