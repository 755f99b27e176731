package core

import "dragoman/wire/op"

// FileType is what a path is.
type FileType string

// The types.
const (
	TypeFile    FileType = "file"
	TypeDir     FileType = "dir"
	TypeSymlink FileType = "symlink"
	TypeOther   FileType = "other"
)

// Enum lists the values.
func (FileType) Enum() []string { return []string{"file", "dir", "symlink", "other"} }

// FsEntry is one file or folder.
type FsEntry struct {
	// Name is the last part of the path.
	Name string `json:"name"`
	PathOut
	// Type of the thing itself, a symlink isn't followed.
	Type FileType `json:"type"`
	// Size in bytes.
	Size int64 `json:"size"`
	// Mtime is the modification time with nanoseconds.
	Mtime Time `json:"mtime"`
	// Mode is octal: "0644".
	Mode string `json:"mode"`
	// Target of a symlink, as written.
	Target string `json:"target,omitzero"`
	// TargetType is what the symlink leads to, absent for a dangling one.
	TargetType FileType `json:"targetType,omitzero"`
}

// FsPathParams name a path.
type FsPathParams struct{ PathIn }

func pathKeys[P any](path func(*P) string) func(*P) []string {
	return func(p *P) []string { return []string{PathKey(path(p))} }
}

// fsErrors are the codes of every call that resolves a path.
func fsErrors(more ...op.Code) []op.Code {
	return append([]op.Code{op.CodeNotFound, op.CodeOutsideRoot, op.CodeUnsupported, op.CodeIO}, more...)
}

// FsListParams are the parameters of [FsList].
type FsListParams struct {
	PathMaybe
	// Depth of folders: 1 by default.
	Depth *int `json:"depth,omitzero"`
	// Hidden lists dot files too.
	Hidden bool `json:"hidden,omitzero"`
	// Ignored lists what git ignores too.
	Ignored bool `json:"ignored,omitzero"`
	// Limit of entries: 10,000 by default.
	Limit *int `json:"limit,omitzero"`
}

// FsListResult is the result of [FsList].
type FsListResult struct {
	PathOut
	// Entries in natural order.
	Entries []FsEntry `json:"entries"`
	// Truncated tells that there are more.
	Truncated bool `json:"truncated"`
}

// FsList lists a folder.
var FsList = &op.Op[FsListParams, FsListResult]{
	Name: "fs.list", Since: 1, Effect: op.Read, Doc: "lists a folder.", Errors: fsErrors(),
}

// FsStatResult is the result of [FsStat].
type FsStatResult struct {
	FsEntry
	// Real is the path after all symlinks.
	Real string `json:"real"`
	// Writable tells whether the core may write it.
	Writable bool `json:"writable"`
	// Hash of a file's bytes.
	Hash *string `json:"hash,omitzero"`
	// Buffer is open for it.
	Buffer string `json:"buffer,omitzero"`
}

// FsStat tells about a path.
var FsStat = &op.Op[FsPathParams, FsStatResult]{
	Name: "fs.stat", Since: 1, Effect: op.Read, Doc: "tells what a path is.", Errors: fsErrors(),
}

// ByteRange is a part of a file.
type ByteRange struct {
	// From is the first byte.
	From int64 `json:"from"`
	// Length in bytes.
	Length int64 `json:"length"`
}

// FsReadParams are the parameters of [FsRead].
type FsReadParams struct {
	PathIn
	// Range asks for that part of the text.
	Range *Range `json:"range,omitzero"`
	// Bytes asks for that part of the bytes, as base64.
	Bytes *ByteRange `json:"bytes,omitzero"`
	// Encoding is used instead of the one that the bytes suggest.
	Encoding string `json:"encoding,omitzero"`
}

// Validate refuses range beside bytes, and negative numbers.
func (p FsReadParams) Validate() error {
	switch {
	case p.Range != nil && p.Bytes != nil:
		return op.BadRequest("bytes", "exclusive")
	case p.Bytes != nil && (p.Bytes.From < 0 || p.Bytes.Length < 0):
		return op.BadRequest("bytes", op.ReasonOutOfRange)
	}
	return nil
}

// FsReadResult is the result of [FsRead]: text with its format, or base64.
type FsReadResult struct {
	PathOut
	// Text with LF as line end.
	Text *string `json:"text,omitzero"`
	// Encoding of the file.
	Encoding string `json:"encoding,omitzero"`
	// BOM tells whether the file begins with one.
	BOM *bool `json:"bom,omitzero"`
	// EOL is the majority.
	EOL EOL `json:"eol,omitzero"`
	// Mixed tells that the lines end differently.
	Mixed *bool `json:"mixed,omitzero"`
	// Hash of the whole file.
	Hash *string `json:"hash,omitzero"`
	// Base64 are the bytes asked for.
	Base64 *[]byte `json:"base64,omitzero"`
	// From is where the bytes begin.
	From *int64 `json:"from,omitzero"`
	// Next is where to go on: a position for text, a byte for bytes.
	Next *FsReadNext `json:"next,omitzero"`
	// Size of the file in bytes.
	Size int64 `json:"size"`
}

// FsWriteParams are the parameters of [FsWrite].
type FsWriteParams struct {
	PathIn
	BytesOrText
	// Encoding that the text gets.
	Encoding string `json:"encoding,omitzero"`
	// EOL of all lines.
	EOL EOL `json:"eol,omitzero"`
	// BOM puts one at the start.
	BOM *bool `json:"bom,omitzero"`
	// CreateFolders makes missing folders.
	CreateFolders bool `json:"createFolders,omitzero"`
	// IfHash is the hash of the file that may be replaced; null means that
	// there must be none.
	IfHash op.Nullable[string] `json:"ifHash,omitzero"`
}

// Validate checks the path and the content.
func (p FsWriteParams) Validate() error {
	if err := p.PathIn.Validate(); err != nil {
		return err
	}
	return p.BytesOrText.Validate()
}

// FsWriteResult is the result of [FsWrite].
type FsWriteResult struct {
	PathOut
	// Bytes written.
	Bytes int64 `json:"bytes"`
	// Hash of what is there now.
	Hash string `json:"hash"`
	// Buffer that it went through.
	Buffer string `json:"buffer,omitzero"`
	// Saved is false when it went to a modified buffer alone.
	Saved bool `json:"saved"`
}

// FsWrite writes a file.
var FsWrite = &op.Op[FsWriteParams, FsWriteResult]{
	Name: "fs.write", Since: 1, Effect: op.Write,
	Doc:    "writes a whole file atomically, through its buffer where one is open. Over a file that is there it needs the hash.",
	Errors: fsErrors(op.CodeExists, op.CodeNotText, op.CodeConflict),
	Events: []string{"fs.changed", "buffer.changed", "buffer.saved"},
	Keys:   pathKeys(func(p *FsWriteParams) string { return p.Raw() }),
}

// FsCreateParams are the parameters of [FsCreate].
type FsCreateParams struct {
	PathIn
	// Type is file or dir.
	Type FileType `json:"type"`
}

// Validate checks the path and the type.
func (p FsCreateParams) Validate() error {
	if p.Type != TypeFile && p.Type != TypeDir {
		return op.BadRequest("type", op.ReasonNotOneOf)
	}
	return p.PathIn.Validate()
}

// FsCreate makes an empty file or a folder.
var FsCreate = &op.Op[FsCreateParams, FsEntry]{
	Name: "fs.create", Since: 1, Effect: op.Write, Doc: "makes an empty file or a folder.",
	Errors: fsErrors(op.CodeExists), Events: []string{"fs.changed"},
	Keys: pathKeys(func(p *FsCreateParams) string { return p.Raw() }),
}

// FsMkdir makes a folder.
var FsMkdir = &op.Op[FsPathParams, FsEntry]{
	Name: "fs.mkdir", Since: 1, Effect: op.Write, Doc: "makes a folder and those above it.",
	Errors: fsErrors(op.CodeExists), Events: []string{"fs.changed"},
	Keys: pathKeys(func(p *FsPathParams) string { return p.Raw() }),
}

// FsRenameParams are the parameters of [FsRename].
type FsRenameParams struct {
	// From is the path now.
	From string `json:"from"`
	// To is the path to be.
	To string `json:"to"`
	// Overwrite replaces what is there.
	Overwrite bool `json:"overwrite,omitzero"`
}

// FsRename moves a file or folder.
var FsRename = &op.Op[FsRenameParams, FsEntry]{
	Name: "fs.rename", Since: 1, Effect: op.Write, Doc: "moves a file or folder; open buffers follow.",
	Errors: fsErrors(op.CodeExists, op.CodeConflict), Events: []string{"fs.changed", "buffer.info"},
	Keys: func(p *FsRenameParams) []string { return []string{PathKey(p.From), PathKey(p.To)} },
}

// FsCopyParams are the parameters of [FsCopy].
type FsCopyParams struct {
	op.Streaming
	// From is what to copy.
	From string `json:"from"`
	// To is the path of the copy.
	To string `json:"to"`
}

// FsCopy copies a file or folder.
var FsCopy = &op.Op[FsCopyParams, None]{
	Name: "fs.copy", Since: 1, Effect: op.Write, Streaming: true,
	Doc: "copies a file or a folder with all that is in it.", Errors: fsErrors(op.CodeExists, op.CodeConflict),
	Events: []string{"fs.changed", "run.progress"},
	Keys:   func(p *FsCopyParams) []string { return []string{PathKey(p.From), PathKey(p.To)} },
}

// FsDeleteParams are the parameters of [FsDelete].
type FsDeleteParams struct {
	op.Streaming
	PathIn
	// Recursive takes a folder that isn't empty.
	Recursive bool `json:"recursive,omitzero"`
	// Permanent passes the trash.
	Permanent bool `json:"permanent,omitzero"`
}

// FsDelete deletes a file or folder.
var FsDelete = &op.Op[FsDeleteParams, None]{
	Name: "fs.delete", Since: 1, Effect: op.Write, Streaming: true,
	Doc: "moves a file or folder to the trash, or deletes it for good.", Errors: fsErrors(op.CodeConflict),
	Events: []string{"fs.changed", "buffer.info", "run.progress"},
	Keys:   pathKeys(func(p *FsDeleteParams) string { return p.Raw() }),
}

// TrashItem is one thing in the trash.
type TrashItem struct {
	// Item names it.
	Item string `json:"item"`
	PathOut
	// Type of the thing.
	Type FileType `json:"type"`
	// Size in bytes, of all that is in it.
	Size int64 `json:"size"`
	// DeletedAt is when it went there.
	DeletedAt Time `json:"deletedAt"`
	// Origin is who deleted it.
	Origin Origin `json:"origin"`
}

// FsListTrashResult is the result of [FsListTrash].
type FsListTrashResult struct {
	// Items, the newest first.
	Items []TrashItem `json:"items"`
}

// FsListTrash lists the trash.
var FsListTrash = &op.Op[None, FsListTrashResult]{
	Name: "fs.listTrash", Since: 1, Effect: op.Read, Doc: "lists what is in the trash.",
	Errors: []op.Code{op.CodeIO},
}

// FsRestoreParams are the parameters of [FsRestore].
type FsRestoreParams struct {
	op.Streaming
	// Item names it.
	Item string `json:"item"`
	// To is another path than the old one.
	To string `json:"to,omitzero"`
}

// FsRestore takes a thing out of the trash.
var FsRestore = &op.Op[FsRestoreParams, FsEntry]{
	Name: "fs.restore", Since: 1, Effect: op.Write, Streaming: true,
	Doc: "takes a thing out of the trash, to its old path or another.", Errors: fsErrors(op.CodeExists),
	Events: []string{"fs.changed"},
}

// FsEmptyTrashParams are the parameters of [FsEmptyTrash].
type FsEmptyTrashParams struct {
	op.Streaming
	// Items to delete; all of them by default.
	Items []string `json:"items,omitempty"`
}

// FsEmptyTrash deletes what is in the trash.
var FsEmptyTrash = &op.Op[FsEmptyTrashParams, None]{
	Name: "fs.emptyTrash", Since: 1, Effect: op.Write, Streaming: true,
	Doc: "deletes items of the trash for good.", Errors: fsErrors(), Events: []string{"run.progress"},
}

// FsGlobParams are the parameters of [FsGlob].
type FsGlobParams struct {
	op.Streaming
	// Pattern in gitignore syntax.
	Pattern string `json:"pattern"`
	PathMaybe
	// Hidden finds dot files too.
	Hidden bool `json:"hidden,omitzero"`
	// Ignored finds what git ignores too.
	Ignored bool `json:"ignored,omitzero"`
	// Limit of paths: 10,000 by default.
	Limit *int `json:"limit,omitzero"`
}

// FsGlobResult is the result of [FsGlob].
type FsGlobResult struct {
	// Paths that match.
	Paths []string `json:"paths"`
	// Truncated tells that there are more.
	Truncated bool `json:"truncated"`
}

// FsGlob finds paths.
var FsGlob = &op.Op[FsGlobParams, FsGlobResult]{
	Name: "fs.glob", Since: 1, Effect: op.Read, Streaming: true,
	Doc: "finds paths by a pattern.", Errors: fsErrors(),
}

// FsWatchParams are the parameters of [FsWatch].
type FsWatchParams struct {
	PathIn
	// Recursive watches the folders in it too.
	Recursive bool `json:"recursive,omitzero"`
}

// FsWatchResult is the result of [FsWatch].
type FsWatchResult struct {
	// Watch names it for fs.unwatch.
	Watch string `json:"watch"`
}

// FsWatch watches a path beyond what is watched already.
var FsWatch = &op.Op[FsWatchParams, FsWatchResult]{
	Name: "fs.watch", Since: 1, Effect: op.Read,
	Doc: "watches a path beyond what the roots watch, until fs.unwatch or the client's end.", Errors: fsErrors(),
	Events: []string{"fs.changed"},
}

// FsUnwatch ends a watch.
var FsUnwatch = &op.Op[FsWatchResult, None]{
	Name: "fs.unwatch", Since: 1, Effect: op.Read, Doc: "ends a watch.", Errors: []op.Code{op.CodeNotFound},
}
