package native

import "github.com/go-json-experiment/json"

// The members of sessionState, in ACP's shape (lanes.md §11).
type (
	// State is the whole.
	State struct {
		ConfigOptions []ConfigOption `json:"configOptions,omitempty"`
		Modes         *ModeState     `json:"modes,omitzero"`
		Models        *ModelState    `json:"models,omitzero"`
	}
	// ModelState is what models there are.
	ModelState struct {
		Current   string  `json:"currentModelId"`
		Available []Model `json:"availableModels"`
	}
	// Model is one of them.
	Model struct {
		ID          string `json:"modelId"`
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
	}
	// ModeState is what modes there are.
	ModeState struct {
		Current   string `json:"currentModeId"`
		Available []Mode `json:"availableModes"`
	}
	// Mode is one of them.
	Mode struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
	}
	// ConfigOption is a choice by name.
	ConfigOption struct {
		ID       string        `json:"id"`
		Name     string        `json:"name"`
		Category string        `json:"category,omitzero"`
		Type     string        `json:"type"`
		Current  string        `json:"currentValue"`
		Options  []ConfigValue `json:"options"`
	}
	// ConfigValue is one of its values.
	ConfigValue struct {
		Value string `json:"value"`
		Name  string `json:"name"`
	}
)

// JSON is the state's JSON.
func (s State) JSON() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte("{}") // texts of valid UTF-8 always encode
	}
	return b
}
