package core

import (
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// AgentListed is one agent that the core knows.
type AgentListed struct {
	// ID names it.
	ID string `json:"id"`
	// Name is for people.
	Name string `json:"name"`
	// Lane is the dialect that it speaks.
	Lane string `json:"lane"`
	// Installed tells that its program was found.
	Installed bool `json:"installed"`
	// Version that it tells.
	Version string `json:"version,omitzero"`
	// Path of its program.
	Path string `json:"path,omitzero"`
	// Auth tells whether it is signed in.
	Auth string `json:"auth,omitzero"`
	// Hint is what a person can do about it.
	Hint string `json:"hint,omitzero"`
	// Capabilities as far as they are known.
	Capabilities jsontext.Value `json:"capabilities"`
}

// AgentListResult is the result of [AgentList].
type AgentListResult struct {
	// Agents by id.
	Agents []AgentListed `json:"agents"`
}

// AgentList lists the agents.
var AgentList = &op.Op[None, AgentListResult]{
	Name: "agent.list", Since: 1, Effect: op.Read, Doc: "lists the agents that the core knows, from a cache.",
	Events: []string{"agent.listed"},
}

// AgentListRefreshed tells that the cache of agent.list was refreshed; on
// the wire it is agent.listed.
var AgentListRefreshed = &op.Event[AgentListResult]{
	Name: "agent.listed", Since: 1, Doc: "tells the refreshed list of agents.",
}

// AgentSession is one session (core.md §6 "Session").
type AgentSession struct {
	// Session is the id.
	Session string `json:"session"`
	// Agent is the agent's id.
	Agent string `json:"agent"`
	// Title is for people.
	Title string `json:"title"`
	// NativeSessionID is the agent's own id.
	NativeSessionID *string `json:"nativeSessionId"`
	// State of the session: opening, ready, running, closed, failed…
	State string `json:"state"`
	// Cwd is the working folder.
	Cwd string `json:"cwd"`
	// Run is the one that is under way.
	Run *string `json:"run"`
	// Turn is the number of the last turn.
	Turn int64 `json:"turn"`
	// Queue are runs that wait.
	Queue []string `json:"queue"`
	// Pending are ids of open requests for permission.
	Pending []string `json:"pending"`
	// Capabilities as negotiated.
	Capabilities jsontext.Value `json:"capabilities"`
	// Options in force.
	Options AgentOptions `json:"options"`
	// ConfigOptions as in ACP.
	ConfigOptions jsontext.Value `json:"configOptions"`
	// Modes as in ACP.
	Modes jsontext.Value `json:"modes"`
	// Commands as in ACP.
	Commands jsontext.Value `json:"commands"`
	// Usage so far.
	Usage jsontext.Value `json:"usage"`
	// CreatedAt is when it was opened first.
	CreatedAt Time `json:"createdAt"`
	// UpdatedAt is when it changed last.
	UpdatedAt Time `json:"updatedAt"`
	// HistoryCount is the number of entries of its history.
	HistoryCount int64 `json:"historyCount"`
}

// AgentOptions are the selectors of a session.
type AgentOptions struct {
	// Model by the agent's name.
	Model *string `json:"model,omitzero"`
	// Mode by the agent's name.
	Mode *string `json:"mode,omitzero"`
	// Effort by the agent's name.
	Effort *string `json:"effort,omitzero"`
	// Permission by the agent's name.
	Permission *string `json:"permission,omitzero"`
}

// AgentWrites says what becomes of an agent's edits (documents.md rule 9).
type AgentWrites string

// The policies.
const (
	WritesSaveClean AgentWrites = "save-clean"
	WritesSave      AgentWrites = "save"
	WritesKeep      AgentWrites = "keep"
)

// Enum lists the values.
func (AgentWrites) Enum() []string { return []string{"save-clean", "save", "keep"} }

// SessionParams name a session.
type SessionParams struct {
	// Session is the id.
	Session string `json:"session"`
}

// SessionRunParams name a session, for streaming operations.
type SessionRunParams struct {
	op.Streaming
	// Session is the id.
	Session string `json:"session"`
}

// agentErrors are the codes of operations that talk to an agent.
func agentErrors(more ...op.Code) []op.Code {
	return append([]op.Code{op.CodeNotFound, op.CodeAgent, op.CodeConflict, op.CodeUnsupported}, more...)
}

// sessionEvents are the events of operations that change a session.
var sessionEvents = []string{"agent.session"}

// AgentOpenParams are the parameters of [AgentOpen].
type AgentOpenParams struct {
	op.Streaming
	// Agent is an id of agent.list.
	Agent string `json:"agent,omitzero"`
	// Spec is a whole agent spec instead.
	Spec jsontext.Value `json:"spec,omitzero"`
	// Cwd is the working folder; the root by default.
	Cwd string `json:"cwd,omitzero"`
	// Options to open with.
	Options AgentOptions `json:"options,omitzero"`
	// Resume is a native session id or the id of a closed session of ours.
	Resume string `json:"resume,omitzero"`
	// Title is for people.
	Title string `json:"title,omitzero"`
	// AgentWrites says what becomes of its edits: save-clean by default.
	AgentWrites AgentWrites `json:"agentWrites,omitzero"`
}

// Validate wants exactly one of agent and spec.
func (p AgentOpenParams) Validate() error {
	if (p.Agent == "") == (p.Spec == nil) {
		return op.BadRequest("agent", "one_of")
	}
	return nil
}

// AgentOpenResult is the result of [AgentOpen].
type AgentOpenResult struct {
	AgentSession
	// Existing tells that the session was live already.
	Existing bool `json:"existing,omitzero"`
}

// AgentOpen opens a session.
var AgentOpen = &op.Op[AgentOpenParams, AgentOpenResult]{
	Name: "agent.open", Since: 1, Effect: op.Agent, Streaming: true,
	Doc:    "opens a session with an agent, new or resumed.",
	Errors: agentErrors(op.CodeOutsideRoot, op.CodeIO), Events: sessionEvents,
}

// AgentContext is one piece of context of a prompt: a buffer or a path.
type AgentContext struct {
	// Buffer whose live text it is.
	Buffer string `json:"buffer,omitzero"`
	// Range of the buffer.
	Range *Range `json:"range,omitzero"`
	// Path of a file.
	Path string `json:"path,omitzero"`
}

// Validate wants a buffer or a path, and range with a buffer alone.
func (c AgentContext) Validate() error {
	if (c.Buffer == "") == (c.Path == "") {
		return op.BadRequest("path", "one_of")
	}
	if c.Range != nil && c.Buffer == "" {
		return op.BadRequest("range", "exclusive")
	}
	return nil
}

// AttachmentType is image or file.
type AttachmentType string

// Enum lists the values.
func (AttachmentType) Enum() []string { return []string{"image", "file"} }

// AgentAttachment is one attachment of a prompt: a path or bytes.
type AgentAttachment struct {
	// Type is image or file.
	Type AttachmentType `json:"type"`
	// Path of a file.
	Path string `json:"path,omitzero"`
	// Base64 are the bytes.
	Base64 []byte `json:"base64,omitzero"`
	// MimeType of the content.
	MimeType string `json:"mimeType"`
	// Name is for the agent.
	Name string `json:"name,omitzero"`
}

// Validate wants a path or bytes.
func (a AgentAttachment) Validate() error {
	if (a.Path == "") == (a.Base64 == nil) {
		return op.BadRequest("path", "one_of")
	}
	return nil
}

// Unsaved says what a prompt does with unsaved buffers (documents.md rule 7).
type Unsaved string

// The ways.
const (
	UnsavedKeep   Unsaved = "keep"
	UnsavedSave   Unsaved = "save"
	UnsavedRefuse Unsaved = "refuse"
)

// Enum lists the values.
func (Unsaved) Enum() []string { return []string{"keep", "save", "refuse"} }

// AgentSendParams are the parameters of [AgentSend].
type AgentSendParams struct {
	op.Streaming
	// Session is the id.
	Session string `json:"session,omitzero"`
	// Agent opens a session first.
	Agent string `json:"agent,omitzero"`
	// Text of the prompt.
	Text string `json:"text"`
	// Context goes with it.
	Context []AgentContext `json:"context,omitempty"`
	// Attachments go with it.
	Attachments []AgentAttachment `json:"attachments,omitempty"`
	// Unsaved says what happens to unsaved buffers first: keep by default.
	Unsaved Unsaved `json:"unsaved,omitzero"`
	// Queue waits for the turn that runs instead of refusing.
	Queue bool `json:"queue,omitzero"`
}

// Validate wants exactly one of session and agent.
func (p AgentSendParams) Validate() error {
	if (p.Session == "") == (p.Agent == "") {
		return op.BadRequest("session", "one_of")
	}
	return nil
}

// AgentSendResult is the result of [AgentSend].
type AgentSendResult struct {
	// Session is the id.
	Session string `json:"session"`
	// StopReason as in ACP.
	StopReason string `json:"stopReason"`
	// Text of the answer.
	Text *string `json:"text,omitzero"`
	// Usage of the turn.
	Usage jsontext.Value `json:"usage,omitzero"`
	// Suspect tells what is doubtful about the outcome, by a code.
	Suspect string `json:"suspect,omitzero"`
}

// AgentSend runs a turn.
var AgentSend = &op.Op[AgentSendParams, AgentSendResult]{
	Name: "agent.send", Since: 1, Effect: op.Agent, Streaming: true,
	Doc: "sends a prompt and runs a turn to its end.",
	Errors: agentErrors(
		op.CodeNoBuffer, op.CodeBadIndex, op.CodeOutsideRoot, op.CodeIO, op.CodeBinaryFile, op.CodeBusy,
	),
	Events: []string{
		"agent.prompt", "agent.message", "agent.thought", "agent.toolCall", "agent.toolCallUpdate",
		"agent.plan", "agent.usage", "agent.notice", "agent.raw", "agent.permission", "agent.session",
	},
}

// AgentCancelParams are the parameters of [AgentCancel].
type AgentCancelParams struct {
	// Session is the id.
	Session string `json:"session"`
	// Run cancels that one alone.
	Run string `json:"run,omitzero"`
	// Queue clears the queue too.
	Queue bool `json:"queue,omitzero"`
}

// AgentCancelResult is the result of [AgentCancel].
type AgentCancelResult struct {
	// Cancelled tells whether there was something to cancel.
	Cancelled bool `json:"cancelled"`
}

// AgentCancel cancels a turn.
var AgentCancel = &op.Op[AgentCancelParams, AgentCancelResult]{
	Name: "agent.cancel", Since: 1, Effect: op.Agent, Doc: "cancels the turn that runs, a queued one, or the queue.",
	Errors: []op.Code{op.CodeNotFound},
}

// AgentPermitParams are the parameters of [AgentPermit].
type AgentPermitParams struct {
	// Request is the id.
	Request string `json:"request"`
	// Option is the one chosen.
	Option string `json:"option,omitzero"`
	// Cancelled dismisses the request.
	Cancelled bool `json:"cancelled,omitzero"`
	// Reason is told to the agent where it can take one.
	Reason string `json:"reason,omitzero"`
}

// Validate wants an option or cancelled.
func (p AgentPermitParams) Validate() error {
	if (p.Option == "") == !p.Cancelled {
		return op.BadRequest("option", "one_of")
	}
	return nil
}

// AgentPermitResult is the result of [AgentPermit].
type AgentPermitResult struct {
	// ReasonDelivered tells whether the agent got the reason.
	ReasonDelivered bool `json:"reasonDelivered"`
}

// AgentPermit answers a request for permission.
var AgentPermit = &op.Op[AgentPermitParams, AgentPermitResult]{
	Name: "agent.permit", Since: 1, Effect: op.Agent,
	Doc:    "answers a request for permission; the first answer wins.",
	Errors: []op.Code{op.CodeNotFound, op.CodeConflict}, Events: []string{"agent.permitted"},
}

// PermissionOption is one answer that an agent offers.
type PermissionOption struct {
	// OptionID names it.
	OptionID string `json:"optionId"`
	// Name is for people.
	Name string `json:"name"`
	// Kind as in ACP: allow_once, reject_once…
	Kind string `json:"kind"`
	// Then is continues, ends_turn or unknown.
	Then string `json:"then"`
}

// PermissionRequest is one question (core.md §6 "Request").
type PermissionRequest struct {
	// Request is the id.
	Request string `json:"request"`
	// Session that asks.
	Session string `json:"session"`
	// Run whose turn it is.
	Run *string `json:"run"`
	// Turn is its number.
	Turn int64 `json:"turn"`
	// ToolCall that it is about.
	ToolCall jsontext.Value `json:"toolCall"`
	// Options to choose from.
	Options []PermissionOption `json:"options"`
	// CreatedAt is when it was asked.
	CreatedAt Time `json:"createdAt"`
	// ExpiresAt is when the deadline answers.
	ExpiresAt *Time `json:"expiresAt,omitzero"`
}

// AgentPendingResult is the result of [AgentPending].
type AgentPendingResult struct {
	// Requests that are open, the oldest first.
	Requests []PermissionRequest `json:"requests"`
}

// AgentPending lists the open requests.
var AgentPending = &op.Op[None, AgentPendingResult]{
	Name: "agent.pending", Since: 1, Effect: op.Read, Doc: "lists the open requests for permission.",
}

// AgentGet tells a session.
var AgentGet = &op.Op[SessionParams, AgentSession]{
	Name: "agent.get", Since: 1, Effect: op.Read, Doc: "tells the state of a session.",
	Errors: []op.Code{op.CodeNotFound},
}

// AgentSessionsParams are the parameters of [AgentSessions].
type AgentSessionsParams struct {
	// Query searches the full text.
	Query string `json:"query,omitzero"`
	// From is the next of the page before.
	From string `json:"from,omitzero"`
	// Limit of sessions: 100 by default.
	Limit *int `json:"limit,omitzero"`
}

// AgentSessionsResult is the result of [AgentSessions].
type AgentSessionsResult struct {
	// Sessions, the last changed first.
	Sessions []AgentSession `json:"sessions"`
	// Next is From of the next page.
	Next string `json:"next,omitzero"`
}

// AgentSessions lists sessions.
var AgentSessions = &op.Op[AgentSessionsParams, AgentSessionsResult]{
	Name: "agent.sessions", Since: 1, Effect: op.Read, Doc: "lists the sessions, live and closed.",
	Errors: []op.Code{op.CodeIO},
}

// AgentHistoryParams are the parameters of [AgentHistory].
type AgentHistoryParams struct {
	// Session is the id.
	Session string `json:"session"`
	// From is the first index: 0 by default.
	From int64 `json:"from,omitzero"`
	// Limit of entries: 100 by default.
	Limit *int `json:"limit,omitzero"`
}

// HistoryEntry is one event of a session as it was.
type HistoryEntry struct {
	// Index in the session's history.
	Index int64 `json:"index"`
	// At is when.
	At Time `json:"at"`
	// Event is its name.
	Event string `json:"event"`
	// Params are the same as live, but for secrets.
	Params jsontext.Value `json:"params"`
}

// AgentHistoryResult is the result of [AgentHistory].
type AgentHistoryResult struct {
	// Entries in order.
	Entries []HistoryEntry `json:"entries"`
	// Next is From of the next page.
	Next *int64 `json:"next,omitzero"`
	// Total of the entries.
	Total int64 `json:"total"`
}

// AgentHistory reads a session's events.
var AgentHistory = &op.Op[AgentHistoryParams, AgentHistoryResult]{
	Name: "agent.history", Since: 1, Effect: op.Read, Doc: "reads what happened in a session.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO},
}
