// Package envelope is the face for hosts of agent protocol v1: our program as
// their agent (envelope.md "A face"). Every core operation is a capability,
// its name in kebab case; a streaming one is a request whose events are those
// of its run. session.events streams the core's other events, and
// agent.prompt is one conversation a connection, in the form that our own
// lane opens.
//
// The face knows the core only as something that answers raw calls and tells
// events, so that a running core over a socket and one in this process are
// the same to it.
package envelope
