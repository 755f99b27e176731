package core

import (
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// AgentAuditParams are the parameters of [AgentAudit].
type AgentAuditParams struct {
	// Session is the id; all of them by default.
	Session string `json:"session,omitzero"`
	// From is the first index: 0 by default.
	From int64 `json:"from,omitzero"`
	// Limit of entries: 100 by default.
	Limit *int `json:"limit,omitzero"`
}

// AuditEntry is one decision about a tool call.
type AuditEntry struct {
	// Index in the audit.
	Index int64 `json:"index"`
	// At is when.
	At Time `json:"at"`
	// Run whose turn it was.
	Run *string `json:"run"`
	// ToolCall that it is about.
	ToolCall jsontext.Value `json:"toolCall"`
	// Asked tells whether somebody was asked.
	Asked bool `json:"asked"`
	// Decision that was made.
	Decision string `json:"decision"`
	// By whom, as in agent.permitted.
	By jsontext.Value `json:"by"`
	// Rule that made it.
	Rule string `json:"rule,omitzero"`
}

// AgentAuditResult is the result of [AgentAudit].
type AgentAuditResult struct {
	// Entries in order.
	Entries []AuditEntry `json:"entries"`
	// Next is From of the next page.
	Next *int64 `json:"next,omitzero"`
}

// AgentAudit lists decisions.
var AgentAudit = &op.Op[AgentAuditParams, AgentAuditResult]{
	Name: "agent.audit", Since: 1, Effect: op.Read, Doc: "lists who decided what about tool calls.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO},
}

// AgentChangesParams are the parameters of [AgentChanges].
type AgentChangesParams struct {
	// Run whose changes they are.
	Run string `json:"run,omitzero"`
	// Session whose runs together.
	Session string `json:"session,omitzero"`
	// Paths to tell of; all of them by default.
	Paths []string `json:"paths,omitempty"`
}

// Validate wants exactly one of run and session.
func (p AgentChangesParams) Validate() error {
	if (p.Run == "") == (p.Session == "") {
		return op.BadRequest("run", "one_of")
	}
	return nil
}

// FileVersion is a content that a run met or left.
type FileVersion struct {
	// Hash of the bytes.
	Hash string `json:"hash"`
	// Size in bytes.
	Size int64 `json:"size"`
	// Mode is octal: "0644".
	Mode string `json:"mode"`
}

// ChangedFile is one file that a run changed (documents.md rule 11).
type ChangedFile struct {
	// Path of the file.
	Path string `json:"path"`
	// PathBytes are the bytes (base64), only where Path isn't exact.
	PathBytes []byte `json:"pathBytes,omitzero"`
	// Kind is created, changed, deleted or renamed.
	Kind string `json:"kind"`
	// From is the old path of a renamed one.
	From string `json:"from,omitzero"`
	// Certainty says how sure the attribution is.
	Certainty Certainty `json:"certainty"`
	// Before is null where there was none.
	Before *FileVersion `json:"before"`
	// After is null where there is none.
	After *FileVersion `json:"after"`
	// Buffer that is open for it.
	Buffer string `json:"buffer,omitzero"`
	// Binary files have no hunks.
	Binary bool `json:"binary"`
	// Hunks of the difference.
	Hunks []Hunk `json:"hunks"`
	// Revertible tells that agent.revert can take it back.
	Revertible bool `json:"revertible"`
	// Why it isn't.
	Why string `json:"why,omitzero"`
	// Mixed tells that others changed it between.
	Mixed bool `json:"mixed,omitzero"`
	// OverwrittenBy is a later run that wrote it.
	OverwrittenBy string `json:"overwrittenBy,omitzero"`
}

// GitHeads tells that HEAD moved during a run.
type GitHeads struct {
	// HeadBefore the run.
	HeadBefore string `json:"headBefore"`
	// HeadAfter the run.
	HeadAfter string `json:"headAfter"`
}

// AgentChangesResult is the result of [AgentChanges].
type AgentChangesResult struct {
	// Run whose changes they are; null for a session.
	Run *string `json:"run"`
	// Complete is false where the look at the end ran out of time.
	Complete bool `json:"complete"`
	// Git is there when HEAD moved.
	Git *GitHeads `json:"git,omitzero"`
	// Files that changed.
	Files []ChangedFile `json:"files"`
}

// AgentChanges tells what a run changed.
var AgentChanges = &op.Op[AgentChangesParams, AgentChangesResult]{
	Name: "agent.changes", Since: 1, Effect: op.Read, Doc: "tells which files a run or session changed, and how.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO},
}

// AgentRevertParams are the parameters of [AgentRevert].
type AgentRevertParams struct {
	op.Streaming
	// Run to take back.
	Run string `json:"run"`
	// Paths to take back; all but ambiguous ones by default.
	Paths []string `json:"paths,omitempty"`
	// Force takes the content before, with the current text to the trash.
	Force bool `json:"force,omitzero"`
}

// RevertConflict is a file that wasn't taken back.
type RevertConflict struct {
	// Path of the file.
	Path string `json:"path"`
	// Reason is overlap, changed, exists, unavailable, ambiguous or git.
	Reason string `json:"reason"`
	// Hunks that conflict.
	Hunks []Hunk `json:"hunks,omitempty"`
}

// AgentRevertResult is the result of [AgentRevert].
type AgentRevertResult struct {
	// Reverted paths.
	Reverted []string `json:"reverted"`
	// Conflicts are files that were left as they are.
	Conflicts []RevertConflict `json:"conflicts"`
	// Already are paths that were as before.
	Already []string `json:"already"`
}

// AgentRevert takes a run's changes back.
var AgentRevert = &op.Op[AgentRevertParams, AgentRevertResult]{
	Name: "agent.revert", Since: 1, Effect: op.Agent, Streaming: true,
	Doc:    "takes back what a run changed, file by file, by merging with what came after.",
	Errors: []op.Code{op.CodeNotFound, op.CodeBusy, op.CodeIO, op.CodeConflict},
	Events: []string{"buffer.changed", "fs.changed"},
}

// PolicyScope says whom a policy is for.
type PolicyScope string

// The scopes.
const (
	ScopeUser    PolicyScope = "user"
	ScopeProject PolicyScope = "project"
	ScopeSession PolicyScope = "session"
)

// Enum lists the values.
func (PolicyScope) Enum() []string { return []string{"user", "project", "session"} }

// PolicyAction is what a rule says.
type PolicyAction string

// The actions.
const (
	ActionAllow PolicyAction = "allow"
	ActionDeny  PolicyAction = "deny"
	ActionAsk   PolicyAction = "ask"
)

// Enum lists the values.
func (PolicyAction) Enum() []string { return []string{"allow", "deny", "ask"} }

// PolicyRule matches when all its given members do.
type PolicyRule struct {
	// ID names it.
	ID string `json:"id"`
	// Action when it matches.
	Action PolicyAction `json:"action"`
	// Kinds of tool calls.
	Kinds []string `json:"kinds,omitempty"`
	// Argv is a prefix of a plain simple command.
	Argv []string `json:"argv,omitempty"`
	// Paths are patterns.
	Paths []string `json:"paths,omitempty"`
	// Agents are ids.
	Agents []string `json:"agents,omitempty"`
}

// UnattendedAction is what happens when nobody can answer.
type UnattendedAction string

// Enum lists the values.
func (UnattendedAction) Enum() []string { return []string{"wait", "reject", "cancel"} }

// Policy decides about tool calls.
type Policy struct {
	// Rules of the scope.
	Rules []PolicyRule `json:"rules"`
	// DeadlineMs until a question is answered with a rejection.
	DeadlineMs *int64 `json:"deadlineMs,omitzero"`
	// Unattended says what happens when nobody can answer: wait by default.
	Unattended UnattendedAction `json:"unattended,omitzero"`
}

// AgentGetPolicyParams are the parameters of [AgentGetPolicy].
type AgentGetPolicyParams struct {
	// Scope to read; the effective policy without it.
	Scope PolicyScope `json:"scope,omitzero"`
	// Root of the project; the first by default.
	Root string `json:"root,omitzero"`
	// Session is the id.
	Session string `json:"session,omitzero"`
}

// AgentGetPolicy reads a policy.
var AgentGetPolicy = &op.Op[AgentGetPolicyParams, Policy]{
	Name: "agent.getPolicy", Since: 1, Effect: op.Read, Doc: "reads the policy of a scope, or the effective one.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO},
}

// AgentSetPolicyParams are the parameters of [AgentSetPolicy].
type AgentSetPolicyParams struct {
	// Scope to write.
	Scope PolicyScope `json:"scope"`
	// Root of the project; the first by default.
	Root string `json:"root,omitzero"`
	// Session is the id.
	Session string `json:"session,omitzero"`
	// Policy that takes the place of the scope's.
	Policy Policy `json:"policy"`
}

// AgentSetPolicy writes a policy.
var AgentSetPolicy = &op.Op[AgentSetPolicyParams, Policy]{
	Name: "agent.setPolicy", Since: 1, Effect: op.Admin, Doc: "replaces the policy of a scope.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO},
}

// AgentExplainPolicyParams are the parameters of [AgentExplainPolicy].
type AgentExplainPolicyParams struct {
	// Session is the id.
	Session string `json:"session"`
	// ToolCall as in a Request.
	ToolCall jsontext.Value `json:"toolCall"`
}

// AgentExplainPolicyResult is the result of [AgentExplainPolicy].
type AgentExplainPolicyResult struct {
	// Action that the policy takes.
	Action PolicyAction `json:"action"`
	// Rule that decides.
	Rule string `json:"rule,omitzero"`
	// Reason is for people.
	Reason string `json:"reason"`
}

// AgentExplainPolicy tells what the policy would do.
var AgentExplainPolicy = &op.Op[AgentExplainPolicyParams, AgentExplainPolicyResult]{
	Name: "agent.explainPolicy", Since: 1, Effect: op.Read,
	Doc: "tells what the policy would do with a tool call, and why.", Errors: []op.Code{op.CodeNotFound},
}
