package streamjson

import (
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A dialect is how one of the programs is called, and what its lines mean.
type dialect struct {
	name, agentName string
	// modes are the values of --approval-mode.
	modes []string
	// flags go before what the options add.
	flags []string
	// lines are the handlers by a line's type; others are kept raw.
	lines map[string]func(t *turn, record acp.Object)
	// exits are the exit codes that have a meaning.
	exits map[int]exit
}

// An exit is what an exit code says.
type exit struct {
	text string
	// code is the error's, "" for agent_protocol_failed.
	code string
	// stop makes an outcome of it instead of an error.
	stop string
}

// exits are Gemini's and, as far as it has them, its fork's.
var exits = map[int]exit{
	41:  {text: "not signed in", code: agent.CodeAuthRequired},
	42:  {text: "input refused", code: agent.CodeTurnFailed},
	44:  {text: "sandbox failed", code: agent.CodeTurnFailed},
	52:  {text: "invalid configuration", code: agent.CodeTurnFailed},
	53:  {text: "turn limit reached", stop: agent.StopMaxTurnRequests},
	54:  {text: "a tool failed", code: agent.CodeTurnFailed},
	55:  {text: "folder not trusted", code: agent.CodeTurnFailed},
	130: {text: "cancelled"},
	// HTTP statuses of the model, modulo 256.
	144: {text: "model error 400", code: agent.CodeTurnFailed},
	145: {text: "model error 401", code: agent.CodeAuthRequired},
	147: {text: "model error 403", code: agent.CodeAuthRequired},
	173: {text: "model error 429", code: agent.CodeQuotaExhausted},
	244: {text: "model error 500", code: agent.CodeTurnFailed},
	247: {text: "model error 503", code: agent.CodeTurnFailed},
}

var dialects = map[string]*dialect{
	"gemini": {
		name: "gemini", agentName: "Gemini CLI",
		modes: []string{"default", "auto_edit", "plan", "yolo"},
		lines: map[string]func(*turn, acp.Object){
			"init":        (*turn).started,
			"message":     (*turn).message,
			"tool_use":    (*turn).toolUse,
			"tool_result": (*turn).toolResult,
			"error":       (*turn).fault,
			"result":      (*turn).result,
		},
		exits: exits,
	},
	"qwen": {
		name: "qwen", agentName: "Qwen Code",
		modes: []string{"plan", "default", "auto-edit", "auto", "yolo"},
		flags: []string{"--include-partial-messages"},
		lines: map[string]func(*turn, acp.Object){
			"system":       (*turn).system,
			"stream_event": (*turn).streamed,
			"assistant":    (*turn).assistant,
			"user":         (*turn).user,
			"result":       (*turn).qwenResult,
		},
		exits: exits,
	},
}
