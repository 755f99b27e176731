package sidecar

import (
	"strconv"

	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// Codes of refusals (sidecar.md §2).
const (
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeAdapter        = -32603
)

// Opened is the result of session/open.
type Opened struct {
	SessionID, NativeSessionID                               string
	Streaming, Cancellation, SessionResume, PermissionPrompt bool
	// Detail is acp's agentCapabilities, nil elsewhere.
	Detail []byte
	// AgentName and AgentVersion; null when both are empty.
	AgentName, AgentVersion string
	// State is JSON, nil on lanes without.
	State []byte
}

// AppendOpened appends the result of session/open.
func AppendOpened(dst []byte, o *Opened) []byte {
	dst = append(dst, `{"sessionId":`...)
	dst = ndjson.AppendQuote(dst, o.SessionID)
	dst = append(dst, `,"nativeSessionId":`...)
	dst = ndjson.AppendQuote(dst, o.NativeSessionID)
	dst = append(dst, `,"capabilities":{"streaming":`...)
	dst = strconv.AppendBool(dst, o.Streaming)
	dst = append(dst, `,"cancellation":`...)
	dst = strconv.AppendBool(dst, o.Cancellation)
	dst = append(dst, `,"sessionResume":`...)
	dst = strconv.AppendBool(dst, o.SessionResume)
	dst = append(dst, `,"permissionPrompts":`...)
	dst = strconv.AppendBool(dst, o.PermissionPrompt)
	dst = append(dst, `,"detail":`...)
	dst = appendValue(dst, o.Detail)
	dst = append(dst, `},"agentInfo":`...)
	if o.AgentName == "" && o.AgentVersion == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, `{"name":`...)
		dst = ndjson.AppendQuote(dst, o.AgentName)
		dst = append(dst, `,"version":`...)
		dst = append(ndjson.AppendQuote(dst, o.AgentVersion), '}')
	}
	dst = append(dst, `,"sessionState":`...)
	return append(appendValue(dst, o.State), '}')
}

// AppendOutcome appends the result of session/prompt: its members are always
// there, null where unknown; `suspect` only where it applies.
func AppendOutcome(dst []byte, out *agent.Outcome) []byte {
	dst = append(dst, `{"stopReason":`...)
	dst = ndjson.AppendQuote(dst, out.StopReason)
	dst = append(dst, `,"text":`...)
	dst = ndjson.AppendQuote(dst, out.Text)
	dst = append(dst, `,"truncated":`...)
	dst = strconv.AppendBool(dst, out.Truncated)
	dst = append(dst, `,"exitCode":`...)
	if out.ExitCode == nil {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, int64(*out.ExitCode), 10)
	}
	dst = append(dst, `,"usage":`...)
	dst = agent.AppendUsage(dst, out.Usage)
	dst = appendText(dst, "suspect", out.Suspect)
	return append(dst, '}')
}

// AppendErrorData appends the data of an adapter error: exactly four members.
func AppendErrorData(dst []byte, e *agent.Error) []byte {
	dst = append(dst, `{"code":`...)
	dst = ndjson.AppendQuote(dst, e.Code)
	dst = append(dst, `,"stage":`...)
	dst = ndjson.AppendQuote(dst, e.Stage)
	dst = append(dst, `,"retryable":`...)
	dst = strconv.AppendBool(dst, e.Retryable)
	dst = append(dst, `,"uncertainEffect":`...)
	return append(strconv.AppendBool(dst, e.UncertainEffect), '}')
}

// AppendPong appends ping's result.
func AppendPong(dst []byte, version string) []byte {
	dst = append(dst, `{"protocol":"`+Protocol+`","version":`...)
	return append(ndjson.AppendQuote(dst, version), '}')
}
