package core

import "dragoman/wire/op"

// GitCommitParams are the parameters of [GitCommit].
type GitCommitParams struct {
	op.Streaming
	GitRoot
	// Message of the commit.
	Message string `json:"message"`
	// Amend replaces the last commit.
	Amend bool `json:"amend,omitzero"`
	// Paths to commit alone.
	Paths []string `json:"paths,omitempty"`
}

// GitCommitResult is the result of [GitCommit].
type GitCommitResult struct {
	// OID is the full id.
	OID string `json:"oid"`
	// Short is an abbreviated id.
	Short string `json:"short"`
}

// GitCommit commits the index.
var GitCommit = &op.Op[GitCommitParams, GitCommitResult]{
	Name: "git.commit", Since: 1, Effect: op.Write, Streaming: true,
	Doc: "commits the index or paths; hooks run.", Errors: gitErrors(), Events: []string{"git.changed"},
}

// GitDiscardParams are the parameters of [GitDiscard].
type GitDiscardParams struct {
	op.Streaming
	GitRoot
	// Paths to bring back to the index; untracked ones go.
	Paths []string `json:"paths"`
}

// GitDiscard gives up changes of the worktree.
var GitDiscard = &op.Op[GitDiscardParams, None]{
	Name: "git.discard", Since: 1, Effect: op.Write, Streaming: true,
	Doc:    "gives up changes of the worktree; the files go to the trash first.",
	Errors: gitErrors(), Events: []string{"fs.changed", "git.changed"},
}

// GitBranch is one local branch.
type GitBranch struct {
	// Name of the branch.
	Name string `json:"name"`
	// OID of its commit.
	OID string `json:"oid"`
	// Upstream of the branch.
	Upstream string `json:"upstream,omitzero"`
	// Ahead of the upstream.
	Ahead int `json:"ahead"`
	// Behind the upstream.
	Behind int `json:"behind"`
	// Gone tells that the upstream isn't there any more.
	Gone bool `json:"gone"`
}

// GitRemoteBranch is one branch of a remote.
type GitRemoteBranch struct {
	// Name with the remote's.
	Name string `json:"name"`
	// OID of its commit.
	OID string `json:"oid"`
}

// GitBranchesResult is the result of [GitBranches].
type GitBranchesResult struct {
	// Current branch, null when HEAD is detached.
	Current *string `json:"current"`
	// Local branches.
	Local []GitBranch `json:"local"`
	// Remote branches.
	Remote []GitRemoteBranch `json:"remote"`
}

// GitBranches lists branches.
var GitBranches = &op.Op[GitRoot, GitBranchesResult]{
	Name: "git.branches", Since: 1, Effect: op.Read, Doc: "lists the branches.", Errors: gitErrors(),
}

// GitSwitchParams are the parameters of [GitSwitch].
type GitSwitchParams struct {
	op.Streaming
	GitRoot
	// Branch to switch to.
	Branch string `json:"branch"`
	// Create makes it first.
	Create bool `json:"create,omitzero"`
}

// GitSwitch switches the branch.
var GitSwitch = &op.Op[GitSwitchParams, None]{
	Name: "git.switch", Since: 1, Effect: op.Write, Streaming: true,
	Doc:    "switches to a branch; hooks run.",
	Errors: gitErrors(), Events: []string{"git.changed", "fs.changed"},
}

// StashAction is what to do with the stash.
type StashAction string

// Enum lists the values.
func (StashAction) Enum() []string { return []string{"list", "push", "pop", "apply", "drop"} }

// GitStashParams are the parameters of [GitStash].
type GitStashParams struct {
	op.Streaming
	GitRoot
	// Action to take.
	Action StashAction `json:"action"`
	// Index of the entry: 0 by default.
	Index int `json:"index,omitzero"`
	// Message of a new entry.
	Message string `json:"message,omitzero"`
}

// GitStashEntry is one entry of the stash.
type GitStashEntry struct {
	// Index from 0, the newest.
	Index int `json:"index"`
	// OID of its commit.
	OID string `json:"oid"`
	// Message of the entry.
	Message string `json:"message"`
	// At is when.
	At Time `json:"at"`
}

// GitStashResult is the result of [GitStash].
type GitStashResult struct {
	// Entries after the action.
	Entries []GitStashEntry `json:"entries"`
}

// GitStash works with the stash.
var GitStash = &op.Op[GitStashParams, GitStashResult]{
	Name: "git.stash", Since: 1, Effect: op.Write, Streaming: true,
	Doc: "lists, makes, applies or drops entries of the stash.", Errors: gitErrors(),
	Events: []string{"git.changed", "fs.changed"},
}

// GitWorktree is one worktree.
type GitWorktree struct {
	// PathOut is the folder.
	PathOut
	// OID of its commit.
	OID string `json:"oid"`
	// Branch that is checked out.
	Branch string `json:"branch,omitzero"`
}

// GitWorktreesResult is the result of [GitWorktrees].
type GitWorktreesResult struct {
	// Worktrees, the main one first.
	Worktrees []GitWorktree `json:"worktrees"`
}

// GitWorktrees lists worktrees.
var GitWorktrees = &op.Op[GitRoot, GitWorktreesResult]{
	Name: "git.worktrees", Since: 1, Effect: op.Read, Doc: "lists the worktrees.", Errors: gitErrors(),
}

// GitRemoteParams are the parameters of [GitFetch], [GitPull] and [GitPush].
type GitRemoteParams struct {
	op.Streaming
	GitRoot
}

// GitFetch fetches.
var GitFetch = &op.Op[GitRemoteParams, None]{
	Name: "git.fetch", Since: 1, Effect: op.Write, Streaming: true,
	Doc:    "fetches from the branch's remote.",
	Errors: gitErrors(), Events: []string{"git.changed", "run.progress"},
}

// GitPull pulls.
var GitPull = &op.Op[GitRemoteParams, None]{
	Name: "git.pull", Since: 1, Effect: op.Write, Streaming: true,
	Doc:    "fetches and takes the upstream's commits.",
	Errors: gitErrors(), Events: []string{"git.changed", "fs.changed", "run.progress"},
}

// GitPush pushes.
var GitPush = &op.Op[GitRemoteParams, None]{
	Name: "git.push", Since: 1, Effect: op.Write, Streaming: true,
	Doc:    "pushes the branch to its upstream.",
	Errors: gitErrors(), Events: []string{"git.changed", "run.progress"},
}

// GitCloneParams are the parameters of [GitClone].
type GitCloneParams struct {
	op.Streaming
	// URL of the repository.
	URL string `json:"url"`
	// PathIn is the new folder.
	PathIn
	// Depth of the history.
	Depth *int `json:"depth,omitzero"`
	GitRoot
}

// GitClone clones a repository.
var GitClone = &op.Op[GitCloneParams, None]{
	Name: "git.clone", Since: 1, Effect: op.Write, Streaming: true,
	Doc: "clones a repository into a folder below a root.", Errors: gitErrors(op.CodeExists),
	Events: []string{"fs.changed", "run.progress"},
}

// GitChanged tells that HEAD, index or refs moved.
var GitChanged = &op.Event[RootParams]{
	Name: "git.changed", Since: 1, Doc: "tells that HEAD, index or refs moved.",
}
