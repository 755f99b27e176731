package acp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Encode writes the params or the result of one of this package's types.
// Text that isn't UTF-8 (a path can be any bytes) is written with U+FFFD. It
// fails only on a Raw member that isn't JSON.
func Encode(message any) ([]byte, error) {
	return json.Marshal(message, jsontext.AllowInvalidUTF8(true))
}

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// InitializeParams open the connection.
type InitializeParams struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         Implementation     `json:"clientInfo"`
}

// ClientCapabilities say what the client serves.
type ClientCapabilities struct {
	FS       FileSystem `json:"fs"`
	Terminal bool       `json:"terminal"`
}

// FileSystem says which fs/ methods the client serves.
type FileSystem struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

// AuthenticateParams try one of the agent's methods. Meta is left out when it
// is nil.
type AuthenticateParams struct {
	MethodID string    `json:"methodId"`
	Meta     *AuthMeta `json:"_meta,omitzero"`
}

// AuthMeta hands over a key (sidecar.md §5).
type AuthMeta struct {
	APIKey string `json:"api_key"`
}

// SessionParams are those of session/new, load, resume and fork. SessionID is
// "" for a new session. Dir is absolute.
type SessionParams struct {
	SessionID  string           `json:"sessionId,omitzero"`
	Dir        string           `json:"cwd"`
	MCPServers []jsontext.Value `json:"mcpServers"`
}

// PromptParams start a turn.
type PromptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []Block `json:"prompt"`
}

// A Block is a content block of a prompt: exactly the members of its type.
type Block struct {
	Type string `json:"type"`
	// Text: text, also when it is empty.
	Text *string `json:"text,omitzero"`
	// Data, base64, and MimeType: image.
	Data     string `json:"data,omitzero"`
	MimeType string `json:"mimeType,omitzero"`
	// Name and URI: resource_link. URI also with an image.
	Name string `json:"name,omitzero"`
	URI  string `json:"uri,omitzero"`
	// Resource: resource.
	Resource *Resource `json:"resource,omitzero"`
}

// A Resource is embedded in a prompt: as Text, or as Blob in base64.
type Resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitzero"`
	Text     *string `json:"text,omitzero"`
	Blob     *string `json:"blob,omitzero"`
}

// CancelParams end the running turn.
type CancelParams struct {
	SessionID string `json:"sessionId"`
}

// SetModeParams choose a mode.
type SetModeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

// SetModelParams choose a model, where the agent offers `models`.
type SetModelParams struct {
	SessionID string `json:"sessionId"`
	ModelID   string `json:"modelId"`
}

// SetConfigParams set a config option. Type is "boolean" for a toggle and ""
// for a select.
type SetConfigParams struct {
	SessionID string         `json:"sessionId"`
	ConfigID  string         `json:"configId"`
	Type      string         `json:"type,omitzero"`
	Value     jsontext.Value `json:"value"`
}

// PermissionResult answers a permission request.
type PermissionResult struct {
	Outcome PermissionOutcome `json:"outcome"`
}

// PermissionOutcome is `selected` with one of the offered options, or
// `cancelled`.
type PermissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitzero"`
}

// Selected answers with an option.
func Selected(optionID string) PermissionResult {
	return PermissionResult{PermissionOutcome{Outcome: "selected", OptionID: optionID}}
}

// Cancelled answers with no option.
func Cancelled() PermissionResult {
	return PermissionResult{PermissionOutcome{Outcome: "cancelled"}}
}

// ReadTextFileResult is the text of a file.
type ReadTextFileResult struct {
	Content string `json:"content"`
}

// Empty is a result without members.
type Empty struct{}

// TerminalCreateResult names a terminal.
type TerminalCreateResult struct {
	TerminalID string `json:"terminalId"`
}

// TerminalOutputResult is what a terminal has printed; ExitStatus is left out
// while it runs.
type TerminalOutputResult struct {
	Output     string        `json:"output"`
	Truncated  bool          `json:"truncated"`
	ExitStatus *TerminalExit `json:"exitStatus,omitzero"`
}

// TerminalExit is how a terminal's command ended: one of the two, the other
// null.
type TerminalExit struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}

// ElicitationResult answers a form; the action is `decline`.
type ElicitationResult struct {
	Action string `json:"action"`
}
