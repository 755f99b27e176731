// Package sidecar is the a4aa.v1 protocol as values: its methods, its events
// in the plain form, its questions, answers and results (sidecar.md §2, §3).
// It encodes from the model of wire/agent without reflection and decodes
// params leniently where the protocol says so. It starts nothing.
package sidecar

// Protocol is the protocol's name in ping's result.
const Protocol = "a4aa.v1"

// Methods of the host.
const (
	MethodPing   = "ping"
	MethodOpen   = "session/open"
	MethodPrompt = "session/prompt"
	MethodCancel = "session/cancel"
	MethodClose  = "session/close"
)

// What is sent to the host.
const (
	MethodEvent      = "session/event"
	MethodPermission = "permission/request"
)

// EventsFull is the value of session/open's `events` that asks for the events
// of lanes.md §1.
const EventsFull = "full"
