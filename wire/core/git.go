package core

import "dragoman/wire/op"

// GitRoot is embedded in the params of every git operation.
type GitRoot struct {
	// Root is the folder whose repository it is; the first root by default.
	Root string `json:"root,omitzero"`
}

// gitErrors are the codes of every git operation.
func gitErrors(more ...op.Code) []op.Code {
	return append([]op.Code{
		op.CodeUnsupported, op.CodeConflict, op.CodeBusy, op.CodeIO, op.CodeNotFound, op.CodeOutsideRoot,
	}, more...)
}

// GitPerson is an author or committer.
type GitPerson struct {
	// Name of the person.
	Name string `json:"name"`
	// Email of the person.
	Email string `json:"email"`
	// At is when.
	At Time `json:"at"`
}

// GitCommitInfo is one commit.
type GitCommitInfo struct {
	// OID is the full id.
	OID string `json:"oid"`
	// Short is an abbreviated id.
	Short string `json:"short"`
	// Parents are full ids.
	Parents []string `json:"parents"`
	// Author wrote it.
	Author GitPerson `json:"author"`
	// Committer made it.
	Committer GitPerson `json:"committer"`
	// Subject is the first line.
	Subject string `json:"subject"`
	// Body is the rest.
	Body string `json:"body"`
	// Refs that point to it.
	Refs []string `json:"refs"`
}

// GitStatusParams are the parameters of [GitStatus].
type GitStatusParams struct {
	GitRoot
	// PathMaybe is below which to look.
	PathMaybe
	// Ignored lists what is ignored too.
	Ignored bool `json:"ignored,omitzero"`
}

// GitBranchState is where HEAD is.
type GitBranchState struct {
	// Name of the branch.
	Name string `json:"name,omitzero"`
	// OID of the commit; absent before the first.
	OID string `json:"oid,omitzero"`
	// Upstream of the branch.
	Upstream string `json:"upstream,omitzero"`
	// Ahead of the upstream.
	Ahead int `json:"ahead"`
	// Behind the upstream.
	Behind int `json:"behind"`
	// Detached tells that HEAD is on no branch.
	Detached bool `json:"detached"`
}

// GitEntry is one path of a status.
type GitEntry struct {
	// PathOut is relative to the repository's top.
	PathOut
	// Orig is the old path of a renamed or copied one.
	Orig string `json:"orig,omitzero"`
	// OrigBytes are its bytes (base64), only where Orig isn't exact.
	OrigBytes []byte `json:"origBytes,omitzero"`
	// Index is git's letter, "." for unchanged.
	Index string `json:"index"`
	// Worktree is git's letter, "." for unchanged.
	Worktree string `json:"worktree"`
	// Kind is ordinary, renamed, copied, unmerged, untracked, ignored or submodule.
	Kind string `json:"kind"`
}

// GitStatusResult is the result of [GitStatus].
type GitStatusResult struct {
	// Branch is where HEAD is.
	Branch GitBranchState `json:"branch"`
	// State is merge, rebase, cherry-pick or bisect while one is under way.
	State string `json:"state,omitzero"`
	// Entries that aren't clean.
	Entries []GitEntry `json:"entries"`
	// Truncated tells that there are more.
	Truncated bool `json:"truncated"`
}

// GitStatus tells the state of the worktree.
var GitStatus = &op.Op[GitStatusParams, GitStatusResult]{
	Name: "git.status", Since: 1, Effect: op.Read, Doc: "tells branch, index and worktree.", Errors: gitErrors(),
}

// GitDiffParams are the parameters of [GitDiff].
type GitDiffParams struct {
	GitRoot
	// PathMaybe is what to compare; all by default.
	PathMaybe
	// Staged compares the index with HEAD.
	Staged bool `json:"staged,omitzero"`
	// From is a rev.
	From string `json:"from,omitzero"`
	// To is a rev.
	To string `json:"to,omitzero"`
	// Context lines around a change: 3 by default.
	Context *int `json:"context,omitzero"`
}

// GitFileDiff is the difference of one file.
type GitFileDiff struct {
	// PathOut is relative to the repository's top.
	PathOut
	// Orig is the old path of a renamed or copied one.
	Orig string `json:"orig,omitzero"`
	// OrigBytes are its bytes (base64), only where Orig isn't exact.
	OrigBytes []byte `json:"origBytes,omitzero"`
	// Status is git's letter.
	Status string `json:"status"`
	// Binary files have no hunks.
	Binary bool `json:"binary"`
	// DiffHash names this difference for git.stage.
	DiffHash string `json:"diffHash"`
	// Hunks of the difference.
	Hunks []Hunk `json:"hunks"`
	// Truncated tells that there is more.
	Truncated bool `json:"truncated"`
}

// GitDiffResult is the result of [GitDiff].
type GitDiffResult struct {
	// Files that differ.
	Files []GitFileDiff `json:"files"`
}

// GitDiff compares.
var GitDiff = &op.Op[GitDiffParams, GitDiffResult]{
	Name: "git.diff", Since: 1, Effect: op.Read,
	Doc: "compares worktree, index and revs.", Errors: gitErrors(),
}

// GitLogParams are the parameters of [GitLog].
type GitLogParams struct {
	GitRoot
	// PathMaybe is whose history it is.
	PathMaybe
	// From is a rev: HEAD by default.
	From string `json:"from,omitzero"`
	// Max of commits: 100 by default.
	Max *int `json:"max,omitzero"`
	// Skip that many first.
	Skip int `json:"skip,omitzero"`
}

// GitLogResult is the result of [GitLog].
type GitLogResult struct {
	// Commits, the newest first.
	Commits []GitCommitInfo `json:"commits"`
	// More tells that others follow.
	More bool `json:"more"`
}

// GitLog lists commits.
var GitLog = &op.Op[GitLogParams, GitLogResult]{
	Name: "git.log", Since: 1, Effect: op.Read, Doc: "lists commits.", Errors: gitErrors(),
}

// GitShowParams are the parameters of [GitShow].
type GitShowParams struct {
	GitRoot
	// Rev to show.
	Rev string `json:"rev"`
	// PathMaybe asks for the content of that file in rev.
	PathMaybe
}

// GitShowResult is the result of [GitShow]: a commit with files, or content.
type GitShowResult struct {
	// Commit without path; its members stand in the result.
	*GitCommitInfo
	// Files of the commit.
	Files []GitFileDiff `json:"files,omitempty"`
	// Text of the file.
	Text *string `json:"text,omitzero"`
	// Base64 of the file where it isn't UTF-8.
	Base64 []byte `json:"base64,omitzero"`
}

// GitShow shows a commit or a file in it.
var GitShow = &op.Op[GitShowParams, GitShowResult]{
	Name: "git.show", Since: 1, Effect: op.Read,
	Doc: "shows a commit with what it changed, or a file as it was.", Errors: gitErrors(),
}

// GitBlameParams are the parameters of [GitBlame].
type GitBlameParams struct {
	op.Streaming
	GitRoot
	// PathIn is the file.
	PathIn
	// Range of lines.
	Range *Range `json:"range,omitzero"`
}

// GitBlameSpan is a stretch of lines from one commit.
type GitBlameSpan struct {
	// Line is the first, from 0.
	Line int `json:"line"`
	// Lines is how many.
	Lines int `json:"lines"`
	// OID of the commit.
	OID string `json:"oid"`
	// OrigLine is the first line in that commit, from 0.
	OrigLine int `json:"origLine"`
	// PathOut is the path in that commit.
	PathOut
}

// GitBlameResult is the result of [GitBlame].
type GitBlameResult struct {
	// Spans in order of their lines.
	Spans []GitBlameSpan `json:"spans"`
	// Commits by id.
	Commits map[string]GitCommitInfo `json:"commits"`
}

// GitBlame tells where lines come from.
var GitBlame = &op.Op[GitBlameParams, GitBlameResult]{
	Name: "git.blame", Since: 1, Effect: op.Read, Streaming: true,
	Doc: "tells which commit each line comes from.", Errors: gitErrors(op.CodeBadIndex),
}

// GitHunkRef names a hunk of a difference.
type GitHunkRef struct {
	// PathIn is the file.
	PathIn
	// DiffHash is that of git.diff.
	DiffHash string `json:"diffHash"`
	// Index of the hunk, from 0.
	Index int `json:"index"`
}

// GitStageParams are the parameters of [GitStage] and [GitUnstage].
type GitStageParams struct {
	GitRoot
	// Paths as a whole.
	Paths []string `json:"paths,omitzero"`
	// Hunks one by one.
	Hunks []GitHunkRef `json:"hunks,omitzero"`
}

// Validate wants paths or hunks.
func (p GitStageParams) Validate() error {
	if (p.Paths == nil) == (p.Hunks == nil) {
		return op.BadRequest("paths", "one_of")
	}
	return nil
}

// GitStage stages.
var GitStage = &op.Op[GitStageParams, None]{
	Name: "git.stage", Since: 1, Effect: op.Write, Doc: "puts paths or hunks into the index.",
	Errors: gitErrors(op.CodeStale), Events: []string{"git.changed"},
}

// GitUnstage unstages.
var GitUnstage = &op.Op[GitStageParams, None]{
	Name: "git.unstage", Since: 1, Effect: op.Write, Doc: "takes paths or hunks out of the index.",
	Errors: gitErrors(op.CodeStale), Events: []string{"git.changed"},
}
