package core

import (
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// AgentSetOptionsParams are the parameters of [AgentSetOptions].
type AgentSetOptionsParams struct {
	op.Streaming
	// Session is the id.
	Session string `json:"session"`
	// Options to set.
	Options AgentOptions `json:"options,omitzero"`
	// Config values by the agent's option id.
	Config map[string]jsontext.Value `json:"config,omitempty"`
	// AgentWrites says what becomes of its edits.
	AgentWrites AgentWrites `json:"agentWrites,omitzero"`
}

// AgentSetOptions changes a session's options.
var AgentSetOptions = &op.Op[AgentSetOptionsParams, AgentSession]{
	Name: "agent.setOptions", Since: 1, Effect: op.Agent, Streaming: true,
	Doc: "changes the options of a session.", Errors: agentErrors(), Events: sessionEvents,
}

// AgentAuthenticateParams are the parameters of [AgentAuthenticate].
type AgentAuthenticateParams struct {
	op.Streaming
	// Agent is an id of agent.list.
	Agent string `json:"agent"`
	// Method is one that the agent offers.
	Method string `json:"method"`
}

// AgentAuthenticate signs in.
var AgentAuthenticate = &op.Op[AgentAuthenticateParams, None]{
	Name: "agent.authenticate", Since: 1, Effect: op.Agent, Streaming: true,
	Doc: "signs in to an agent by one of its methods.", Errors: agentErrors(), Events: []string{"agent.listed"},
}

// AgentRenameParams are the parameters of [AgentRename].
type AgentRenameParams struct {
	// Session is the id.
	Session string `json:"session"`
	// Title is for people.
	Title string `json:"title"`
}

// AgentRename gives a session a title.
var AgentRename = &op.Op[AgentRenameParams, AgentSession]{
	Name: "agent.rename", Since: 1, Effect: op.Agent, Doc: "gives a session another title.",
	Errors: []op.Code{op.CodeNotFound, op.CodeIO}, Events: sessionEvents,
}

// AgentClose ends a session.
var AgentClose = &op.Op[SessionRunParams, None]{
	Name: "agent.close", Since: 1, Effect: op.Agent, Streaming: true,
	Doc: "ends a session and its agent; the history stays.", Errors: agentErrors(), Events: sessionEvents,
}

// AgentFork copies a session.
var AgentFork = &op.Op[SessionRunParams, AgentSession]{
	Name: "agent.fork", Since: 1, Effect: op.Agent, Streaming: true,
	Doc: "opens a copy of a session.", Errors: agentErrors(op.CodeIO), Events: sessionEvents,
}

// AgentDelete deletes a session.
var AgentDelete = &op.Op[SessionRunParams, None]{
	Name: "agent.delete", Since: 1, Effect: op.Agent, Streaming: true,
	Doc: "deletes a session with its history.", Errors: agentErrors(op.CodeIO), Events: sessionEvents,
}
