package core

import (
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// ProjectRoot is one root of the core.
type ProjectRoot struct {
	// Root is the folder.
	Root string `json:"root"`
	// Name is for people.
	Name string `json:"name"`
	// VCS is git where there is a repository.
	VCS string `json:"vcs,omitzero"`
}

// ProjectOpenParams are the parameters of [ProjectOpen].
type ProjectOpenParams struct{ PathIn }

// ProjectOpen adds a root.
var ProjectOpen = &op.Op[ProjectOpenParams, ProjectRoot]{
	Name: "project.open", Since: 1, Effect: op.Admin, Doc: "adds a folder to the roots.",
	Errors: []op.Code{op.CodeNotFound, op.CodeUnsupported, op.CodeIO}, Events: []string{"project.opened"},
}

// ProjectClose takes a root away.
var ProjectClose = &op.Op[RootParams, None]{
	Name: "project.close", Since: 1, Effect: op.Admin, Doc: "takes a folder from the roots.",
	Errors: []op.Code{op.CodeNotFound, op.CodeUnsupported, op.CodeConflict}, Events: []string{"project.closed"},
}

// ProjectGetResult is the result of [ProjectGet].
type ProjectGetResult struct {
	// Roots in the order in which they were opened.
	Roots []ProjectRoot `json:"roots"`
}

// ProjectGet lists the roots.
var ProjectGet = &op.Op[None, ProjectGetResult]{
	Name: "project.get", Since: 1, Effect: op.Read, Doc: "lists the roots.",
}

// ProjectFilesParams are the parameters of [ProjectFiles].
type ProjectFilesParams struct {
	// Query is matched fuzzily; without it files come in order of their paths.
	Query string `json:"query,omitzero"`
	// Limit of files: 100 by default.
	Limit *int `json:"limit,omitzero"`
	// Root is the folder; all of them by default.
	Root string `json:"root,omitzero"`
}

// ProjectFile is one file that a query found.
type ProjectFile struct {
	// Root that holds it.
	Root string `json:"root"`
	// Path is relative to the root.
	Path string `json:"path"`
	// PathBytes are the bytes (base64), only where Path isn't exact.
	PathBytes []byte `json:"pathBytes,omitzero"`
	// Score is higher for better matches.
	Score int `json:"score"`
	// Positions that matched, in code points of Path.
	Positions []int `json:"positions"`
}

// ProjectFilesResult is the result of [ProjectFiles].
type ProjectFilesResult struct {
	// Files, the best first.
	Files []ProjectFile `json:"files"`
	// Total of the files that match.
	Total int `json:"total"`
	// Truncated tells that there are more.
	Truncated bool `json:"truncated"`
}

// ProjectFiles finds files by name.
var ProjectFiles = &op.Op[ProjectFilesParams, ProjectFilesResult]{
	Name: "project.files", Since: 1, Effect: op.Read, Doc: "finds files by a fuzzy match of their paths.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO},
}

// Overlay says how a search treats unsaved buffers.
type Overlay string

// The ways.
const (
	OverlayOn   Overlay = "overlay"
	OverlayOnly Overlay = "only"
	OverlayOff  Overlay = "off"
)

// Enum lists the values.
func (Overlay) Enum() []string { return []string{"overlay", "only", "off"} }

// ProjectSearchParams are the parameters of [ProjectSearch].
type ProjectSearchParams struct {
	op.Streaming
	// Query is what to find.
	Query string `json:"query"`
	// Options say how it matches.
	Options FindOptions `json:"options,omitzero"`
	// Globs that files must match.
	Globs []string `json:"globs,omitempty"`
	// Exclude are globs of files to pass over.
	Exclude []string `json:"exclude,omitempty"`
	// ContextLines before and after a match.
	ContextLines int `json:"contextLines,omitzero"`
	// Max of matches: 10,000 by default.
	Max *int `json:"max,omitzero"`
	// Buffers says how unsaved text counts: overlay by default.
	Buffers Overlay `json:"buffers,omitzero"`
	// Root is the folder; all of them by default.
	Root string `json:"root,omitzero"`
}

// SkippedFile is a file that wasn't searched.
type SkippedFile struct {
	// Path of the file.
	Path string `json:"path"`
	// Code says why.
	Code op.Code `json:"code"`
}

// ProjectSearchResult is the result of [ProjectSearch].
type ProjectSearchResult struct {
	// Matches found.
	Matches int `json:"matches"`
	// Files with matches.
	Files int `json:"files"`
	// SearchedFiles in all.
	SearchedFiles int `json:"searchedFiles"`
	// Skipped files.
	Skipped []SkippedFile `json:"skipped"`
	// Truncated tells that there are more matches.
	Truncated bool `json:"truncated"`
}

// ProjectSearch searches the files and unsaved buffers.
var ProjectSearch = &op.Op[ProjectSearchParams, ProjectSearchResult]{
	Name: "project.search", Since: 1, Effect: op.Read, Streaming: true,
	Doc:    "searches the files of the roots, with unsaved buffers over the disk.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO}, Events: []string{"project.matches", "run.progress"},
}

// SearchedFile is the file of a batch.
type SearchedFile struct {
	// Root that holds it, "" for none.
	Root string `json:"root,omitzero"`
	// Path is relative to the root, null for a scratch buffer.
	Path *string `json:"path"`
	// Buffer whose text it was.
	Buffer string `json:"buffer,omitzero"`
	// Revision of that buffer.
	Revision *int64 `json:"revision,omitzero"`
	// Hash of the file's bytes.
	Hash string `json:"hash,omitzero"`
}

// SearchMatch is one match.
type SearchMatch struct {
	// Range of the match.
	Range Range `json:"range"`
	// Text of its line, clipped where it is long.
	Text string `json:"text"`
	// TextStart is the offset of the clipped text in its line.
	TextStart int64 `json:"textStart"`
	// Before are lines of context.
	Before []string `json:"before,omitempty"`
	// After are lines of context.
	After []string `json:"after,omitempty"`
	// Truncated tells that the line was clipped.
	Truncated bool `json:"truncated,omitzero"`
}

// ProjectMatchesParams are the params of [ProjectMatches].
type ProjectMatchesParams struct {
	// Run is the search.
	Run string `json:"run"`
	// File of the batch.
	File *SearchedFile `json:"file,omitzero"`
	// Matches in it.
	Matches []SearchMatch `json:"matches,omitempty"`
	// SkippedTo stands alone where batches were left out for a slow client.
	SkippedTo *int64 `json:"skippedTo,omitzero"`
}

// ProjectMatches tells matches of a search.
var ProjectMatches = &op.Event[ProjectMatchesParams]{
	Name: "project.matches", Since: 1, Bulk: true, Doc: "tells matches of a search in batches.",
}

// ProjectReplaceParams are the parameters of [ProjectReplace].
type ProjectReplaceParams struct {
	op.Streaming
	// Query is what to find.
	Query string `json:"query"`
	// With takes its place; with regex $1, ${name} and $$ are expanded.
	With string `json:"with"`
	// Options say how it matches.
	Options FindOptions `json:"options,omitzero"`
	// Globs that files must match.
	Globs []string `json:"globs,omitempty"`
	// Buffers says how unsaved text counts: overlay by default.
	Buffers Overlay `json:"buffers,omitzero"`
}

// PreviewFile is one file of a preview.
type PreviewFile struct {
	// Path of the file.
	Path string `json:"path"`
	// Buffer whose text it was.
	Buffer string `json:"buffer,omitzero"`
	// Hash of the content that the edits were computed on.
	Hash string `json:"hash"`
	// Count of edits.
	Count int `json:"count"`
}

// ProjectReplaceResult is the result of [ProjectReplace].
type ProjectReplaceResult struct {
	// Preview names it for project.applyReplace, for ten minutes.
	Preview string `json:"preview"`
	// Files with edits.
	Files []PreviewFile `json:"files"`
	// Matches in all.
	Matches int `json:"matches"`
}

// ProjectReplace previews a replacement.
var ProjectReplace = &op.Op[ProjectReplaceParams, ProjectReplaceResult]{
	Name: "project.replace", Since: 1, Effect: op.Write, Streaming: true,
	Doc:    "computes a replacement over the roots and keeps it as a preview; nothing is changed.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO}, Events: []string{"project.edits", "run.progress"},
}

// PreviewEdit is one edit of a preview.
type PreviewEdit struct {
	// Range is replaced.
	Range Range `json:"range"`
	// Old is the text there.
	Old string `json:"old"`
	// Text takes its place.
	Text string `json:"text"`
}

// ProjectEditsParams are the params of [ProjectEdits].
type ProjectEditsParams struct {
	// Run is the preview's.
	Run string `json:"run"`
	// File of the batch.
	File *SearchedFile `json:"file,omitzero"`
	// Edits in it.
	Edits []PreviewEdit `json:"edits,omitempty"`
	// SkippedTo stands alone where batches were left out for a slow client.
	SkippedTo *int64 `json:"skippedTo,omitzero"`
}

// ProjectEdits tells edits of a preview.
var ProjectEdits = &op.Event[ProjectEditsParams]{
	Name: "project.edits", Since: 1, Bulk: true, Doc: "tells the edits of a preview in batches.",
}

// ProjectApplyReplaceParams are the parameters of [ProjectApplyReplace].
type ProjectApplyReplaceParams struct {
	op.Streaming
	// Preview is that of project.replace.
	Preview string `json:"preview"`
	// Paths to apply; all of them by default.
	Paths []string `json:"paths,omitempty"`
}

// FailedFile is a file that wasn't changed.
type FailedFile struct {
	// Path of the file.
	Path string `json:"path"`
	// Code says why.
	Code op.Code `json:"code"`
	// Message is for people.
	Message string `json:"message"`
}

// ProjectApplyReplaceResult is the result of [ProjectApplyReplace].
type ProjectApplyReplaceResult struct {
	// Applied is how many files were changed.
	Applied int `json:"applied"`
	// Failed files were left as they are.
	Failed []FailedFile `json:"failed"`
}

// ProjectApplyReplace applies a preview.
var ProjectApplyReplace = &op.Op[ProjectApplyReplaceParams, ProjectApplyReplaceResult]{
	Name: "project.applyReplace", Since: 1, Effect: op.Write, Streaming: true,
	Doc:    "applies a preview, through buffers where they are open and by atomic writes elsewhere.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO},
	Events: []string{"buffer.changed", "fs.changed", "run.progress"},
}

// ProjectStateParams are the parameters of [ProjectGetState].
type ProjectStateParams struct {
	// Root is the folder; the first by default.
	Root string `json:"root,omitzero"`
}

// ProjectStateResult is a root's stored value.
type ProjectStateResult struct {
	// Value is any JSON; null before it was set.
	Value jsontext.Value `json:"value"`
	// Revision rises by one a change.
	Revision int64 `json:"revision"`
}

// ProjectGetState reads a root's stored value.
var ProjectGetState = &op.Op[ProjectStateParams, ProjectStateResult]{
	Name: "project.getState", Since: 1, Effect: op.Read,
	Doc: "reads the value that clients keep with a root.", Errors: []op.Code{op.CodeNotFound, op.CodeIO},
}

// ProjectSetStateParams are the parameters of [ProjectSetState].
type ProjectSetStateParams struct {
	// Root is the folder; the first by default.
	Root string `json:"root,omitzero"`
	// Value is any JSON.
	Value jsontext.Value `json:"value"`
	// IfRevision refuses the call unless it is the current one.
	IfRevision *int64 `json:"ifRevision,omitzero"`
}

// ProjectSetState stores a root's value.
var ProjectSetState = &op.Op[ProjectSetStateParams, ProjectStateResult]{
	Name: "project.setState", Since: 1, Effect: op.Write,
	Doc:    "stores a value with a root, for all clients.",
	Errors: []op.Code{op.CodeNotFound, op.CodeStale, op.CodeIO}, Events: []string{"project.state"},
}

// ProjectOpened tells of a new root.
var ProjectOpened = &op.Event[ProjectRoot]{
	Name: "project.opened", Since: 1, Doc: "tells that a root was added.",
}

// ProjectClosed tells that a root is gone.
var ProjectClosed = &op.Event[RootParams]{
	Name: "project.closed", Since: 1, Doc: "tells that a root was taken away.",
}

// ProjectStateChangedParams are the params of [ProjectStateChanged].
type ProjectStateChangedParams struct {
	// Root is the folder.
	Root string `json:"root"`
	// Value is any JSON.
	Value jsontext.Value `json:"value"`
	// Revision of the value.
	Revision int64 `json:"revision"`
}

// ProjectStateChanged tells a root's new value; on the wire it is
// project.state.
var ProjectStateChanged = &op.Event[ProjectStateChangedParams]{
	Name: "project.state", Since: 1, Doc: "tells the new value that is kept with a root.",
}
