// Package acp is the part of the Agent Client Protocol, version 1, that a
// client speaks: the names of its methods, the messages that it sends, and
// readers of those that it gets (lanes.md §3).
//
// Writers are strict: what they write validates against the protocol's
// schema, which stands in testdata. Readers are lenient, as the protocol asks
// and as real agents need it: null and a value of the wrong type count as
// absent, unknown members and kinds are no error, and every reader hands out
// the bytes that it read from. Readers expect valid JSON (a line that
// wire/jsonrpc has let through) and never fail on it without saying so.
package acp

// ProtocolVersion is the version that we speak.
const ProtocolVersion = 1

// Methods of the agent.
const (
	MethodInitialize      = "initialize"
	MethodAuthenticate    = "authenticate"
	MethodNew             = "session/new"
	MethodLoad            = "session/load"
	MethodResume          = "session/resume"
	MethodFork            = "session/fork"
	MethodPrompt          = "session/prompt"
	MethodCancel          = "session/cancel"
	MethodSetMode         = "session/set_mode"
	MethodSetModel        = "session/set_model"
	MethodSetConfigOption = "session/set_config_option"
)

// Methods of the client.
const (
	MethodUpdate          = "session/update"
	MethodPermission      = "session/request_permission"
	MethodReadTextFile    = "fs/read_text_file"
	MethodWriteTextFile   = "fs/write_text_file"
	MethodTerminalCreate  = "terminal/create"
	MethodTerminalOutput  = "terminal/output"
	MethodTerminalWait    = "terminal/wait_for_exit"
	MethodTerminalKill    = "terminal/kill"
	MethodTerminalRelease = "terminal/release"
	MethodElicitation     = "elicitation/create"
)

// Error codes beside those of JSON-RPC.
const (
	CodeAuthRequired     = -32000
	CodeResourceNotFound = -32002
)
