package claude

import (
	"github.com/go-json-experiment/json"

	"dragoman/wire/acp"
)

// state is what the session offers and has chosen.
type state struct {
	// model is the current model's name, asked what was asked for; both "" for
	// the agent's own choice, mode too.
	model, asked, mode string
	models             []modelEntry
}

// The members of sessionState, in ACP's shape (lanes.md §11).
type (
	modelEntry struct {
		ID          string `json:"modelId"`
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
	}
	modelState struct {
		Current   string       `json:"currentModelId"`
		Available []modelEntry `json:"availableModels"`
	}
	modeEntry struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	modeState struct {
		Current   string      `json:"currentModeId"`
		Available []modeEntry `json:"availableModes"`
	}
	sessionState struct {
		Modes  modeState   `json:"modes"`
		Models *modelState `json:"models,omitzero"`
	}
)

// json is the sessionState.
func (s *state) json() []byte {
	out := sessionState{Modes: modeState{Current: s.mode}}
	if out.Modes.Current == "" {
		out.Modes.Current = modes[0]
	}
	for _, m := range modes {
		out.Modes.Available = append(out.Modes.Available, modeEntry{m, m})
	}
	if len(s.models) > 0 {
		out.Models = &modelState{s.current(), s.models}
	}
	b, err := encode(out)
	if err != nil {
		return []byte("{}") // texts always encode
	}
	return b
}

// current is the model as the agent lists it, as far as that is known.
func (s *state) current() string {
	for _, name := range []string{s.asked, s.model} {
		for _, m := range s.models {
			if m.ID == name {
				return name
			}
		}
	}
	if s.asked == "" && s.model == "" {
		return s.models[0].ID
	}
	return s.model
}

// readModels reads the models of an answer to initialize.
func readModels(response acp.Object) []modelEntry {
	list, _ := response.List("models")
	var models []modelEntry
	for _, item := range list {
		o := acp.AsObject(item)
		m := modelEntry{ID: o.Str("value"), Name: o.Str("displayName"), Description: o.Str("description")}
		if m.Name == "" {
			m.Name = m.ID
		}
		if m.ID != "" {
			models = append(models, m)
		}
	}
	return models
}

// command is one of ACP's availableCommands.
type command struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitzero"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

// readCommands reads the commands of an answer to initialize, in ACP's shape;
// nil if there are none.
func readCommands(response acp.Object) []byte {
	list, ok := response.List("commands")
	if !ok {
		return nil
	}
	commands := []command{}
	for _, item := range list {
		o := acp.AsObject(item)
		entry := command{Name: o.Str("name"), Description: o.Str("description")}
		if hint := o.Str("argumentHint"); hint != "" {
			entry.Input = &commandInput{hint}
		}
		if entry.Name != "" {
			commands = append(commands, entry)
		}
	}
	b, err := json.Marshal(commands)
	if err != nil {
		return nil
	}
	return b
}
