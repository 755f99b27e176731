package core

import (
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// AgentEventHead is embedded in the params of every event of a session's
// history (core.md §6 "Events").
type AgentEventHead struct {
	// Run whose turn it is; null outside one.
	Run *string `json:"run"`
	// Session is the id.
	Session string `json:"session"`
	// Turn is its number; 0 outside one.
	Turn int64 `json:"turn"`
	// Index in the session's history.
	Index int64 `json:"index"`
	// At is when.
	At Time `json:"at"`
	// ParentToolCallID is the call of a sub-agent.
	ParentToolCallID string `json:"parentToolCallId,omitzero"`
	// Replay marks history that the agent told again.
	Replay bool `json:"replay,omitzero"`
	// Raw is the agent's own message where there is one.
	Raw jsontext.Value `json:"raw,omitzero"`
}

// AgentTextParams are the params of [AgentMessage] and [AgentThought].
type AgentTextParams struct {
	AgentEventHead
	// Text of the chunk.
	Text string `json:"text"`
}

// AgentMessage tells a piece of the answer.
var AgentMessage = &op.Event[AgentTextParams]{
	Name: "agent.message", Since: 1, Doc: "tells a piece of an agent's answer.",
}

// AgentThought tells a piece of thinking.
var AgentThought = &op.Event[AgentTextParams]{
	Name: "agent.thought", Since: 1, Doc: "tells a piece of an agent's thinking.",
}

// ToolContent is one piece of a tool call's content.
type ToolContent struct {
	// Type is text, diff, terminal or raw.
	Type string `json:"type"`
	// Text of type text.
	Text *string `json:"text,omitzero"`
	// Path of type diff.
	Path string `json:"path,omitzero"`
	// OldText of type diff.
	OldText *string `json:"oldText,omitzero"`
	// NewText of type diff.
	NewText *string `json:"newText,omitzero"`
	// Run of type terminal.
	Run string `json:"run,omitzero"`
	// Value of type raw.
	Value jsontext.Value `json:"value,omitzero"`
}

// ToolLocation is a place that a tool call touches.
type ToolLocation struct {
	// Path of the file.
	Path string `json:"path"`
	// Line from 1, as in ACP.
	Line *int64 `json:"line,omitzero"`
}

// AgentToolCallParams are the params of [AgentToolCall] and
// [AgentToolCallUpdate]; in an update an absent member is unchanged.
type AgentToolCallParams struct {
	AgentEventHead
	// ToolCallID names the call.
	ToolCallID string `json:"toolCallId"`
	// Title is for people.
	Title string `json:"title,omitzero"`
	// ToolKind as in ACP: read, edit, execute…
	ToolKind string `json:"toolKind,omitzero"`
	// Status as in ACP.
	Status string `json:"status,omitzero"`
	// Content replaces what was there.
	Content *[]ToolContent `json:"content,omitzero"`
	// Append is text that grew.
	Append string `json:"append,omitzero"`
	// Locations that it touches.
	Locations []ToolLocation `json:"locations,omitempty"`
	// RawInput of the tool.
	RawInput jsontext.Value `json:"rawInput,omitzero"`
	// RawOutput of the tool.
	RawOutput jsontext.Value `json:"rawOutput,omitzero"`
	// Asked tells whether permission was asked for.
	Asked *bool `json:"asked,omitzero"`
}

// AgentToolCall tells of a tool call.
var AgentToolCall = &op.Event[AgentToolCallParams]{
	Name: "agent.toolCall", Since: 1, Doc: "tells that an agent calls a tool.",
}

// AgentToolCallUpdate tells how a tool call goes on.
var AgentToolCallUpdate = &op.Event[AgentToolCallParams]{
	Name: "agent.toolCallUpdate", Since: 1, Doc: "tells how a tool call goes on.",
}

// AgentPlanParams are the params of [AgentPlan].
type AgentPlanParams struct {
	AgentEventHead
	// Entries as in ACP.
	Entries jsontext.Value `json:"entries"`
}

// AgentPlan tells an agent's plan.
var AgentPlan = &op.Event[AgentPlanParams]{Name: "agent.plan", Since: 1, Doc: "tells an agent's plan."}

// AgentUsageParams are the params of [AgentUsage]: the members of the full
// form's usage event beside the head's.
type AgentUsageParams struct {
	AgentEventHead
	// Usage in tokens.
	Usage jsontext.Value `json:"usage"`
	// Source is reported, derived or unknown.
	Source string `json:"source"`
	// Cost is {amount,currency}.
	Cost jsontext.Value `json:"cost,omitzero"`
	// Context is {used,size}.
	Context jsontext.Value `json:"context,omitzero"`
}

// AgentUsage tells what a turn used.
var AgentUsage = &op.Event[AgentUsageParams]{Name: "agent.usage", Since: 1, Doc: "tells what a session used."}

// AgentNoticeParams are the params of [AgentNotice].
type AgentNoticeParams struct {
	AgentEventHead
	// Level is info, warning or error.
	Level string `json:"level"`
	// Code for programs.
	Code string `json:"code"`
	// Text is for people.
	Text string `json:"text"`
	// Data of the code.
	Data jsontext.Value `json:"data,omitzero"`
}

// AgentNotice tells what a person should know.
var AgentNotice = &op.Event[AgentNoticeParams]{
	Name: "agent.notice", Since: 1, Doc: "tells something that a person should know of a session.",
}

// AgentRawParams are the params of [AgentRaw].
type AgentRawParams struct{ AgentEventHead }

// AgentRaw tells what no other event does.
var AgentRaw = &op.Event[AgentRawParams]{
	Name: "agent.raw", Since: 1, Doc: "tells an agent's message that no other event can.",
}

// AgentPromptParams are the params of [AgentPrompt].
type AgentPromptParams struct {
	AgentEventHead
	// Text of the prompt.
	Text string `json:"text"`
	// Client that sent it.
	Client string `json:"client"`
}

// AgentPrompt tells a prompt.
var AgentPrompt = &op.Event[AgentPromptParams]{Name: "agent.prompt", Since: 1, Doc: "tells a prompt that goes to an agent."}

// AgentPermission asks for permission.
var AgentPermission = &op.Event[PermissionRequest]{
	Name: "agent.permission", Since: 1, Doc: "asks the clients for permission.",
}

// AgentPermittedParams are the params of [AgentPermitted].
type AgentPermittedParams struct {
	// Request is the id.
	Request string `json:"request"`
	// Session that asked.
	Session string `json:"session"`
	// Option that was chosen.
	Option string `json:"option,omitzero"`
	// Cancelled tells that it was dismissed.
	Cancelled bool `json:"cancelled,omitzero"`
	// By is {client}, {rule}, "deadline", "cancel" or "close".
	By jsontext.Value `json:"by"`
}

// AgentPermitted tells the answer to a request.
var AgentPermitted = &op.Event[AgentPermittedParams]{
	Name: "agent.permitted", Since: 1, Doc: "tells how a request for permission was answered.",
}

// AgentSessionChangedParams are the params of [AgentSessionChanged]: session
// and the members of Session that changed.
type AgentSessionChangedParams map[string]any

// AgentSessionChanged tells changed members of a session; on the wire it is
// agent.session.
var AgentSessionChanged = &op.Event[AgentSessionChangedParams]{
	Name: "agent.session", Since: 1, Doc: "tells the members of a session that changed.",
}

// AgentChanged tells that agent.changes of a run moved after its end.
var AgentChanged = &op.Event[RunParams]{
	Name: "agent.changed", Since: 1, Doc: "tells that what agent.changes says of an ended run moved.",
}
