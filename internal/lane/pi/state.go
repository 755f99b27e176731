package pi

import (
	"slices"
	"strings"

	"dragoman/internal/lane/native"
	"dragoman/wire/acp"
)

// configEffort is the id of the effort among the config options.
const configEffort = "thought_level"

// state is what the session offers and has chosen.
type state struct {
	// file is the session's file, which is its id; "" where pi keeps none.
	file, id string
	// gated: our extension has said that it is loaded.
	gated bool
	// model is PROVIDER/ID, with its window in tokens; images: it takes them.
	model  string
	window int64
	images bool
	models []native.Model
	// level is the thinking level, levels those of the model, nil if unknown.
	level  string
	levels []string
}

// take reads the answer to get_state.
func (s *state) take(data acp.Object) {
	s.file, s.id, s.level = data.Str("sessionFile"), data.Str("sessionId"), data.Str("thinkingLevel")
	s.takeModel(data.Object("model"))
}

func (s *state) takeModel(model acp.Object) {
	if model == nil {
		return
	}
	s.model = modelName(model)
	s.window, _ = model.Int("contextWindow")
	inputs, _ := model.List("input")
	s.images = slices.ContainsFunc(inputs, func(b []byte) bool { return string(b) == `"image"` })
}

func modelName(model acp.Object) string { return model.Str("provider") + "/" + model.Str("id") }

// readModels reads the answer to get_available_models.
func readModels(data acp.Object) []native.Model {
	list, _ := data.List("models")
	var models []native.Model
	for _, item := range list {
		o := acp.AsObject(item)
		if o.Str("id") == "" {
			continue
		}
		m := native.Model{ID: modelName(o), Name: o.Str("name")}
		if m.Name == "" {
			m.Name = m.ID
		}
		models = append(models, m)
	}
	return models
}

// find is the offered model of a name, PROVIDER/ID or an ID that only one
// provider has. With no list every PROVIDER/ID will do.
func (s *state) find(name string) (full string, ok bool) {
	for _, m := range s.models {
		if m.ID == name {
			return name, true
		}
		if _, id, _ := strings.Cut(m.ID, "/"); id == name {
			if full != "" {
				return "", false
			}
			full = m.ID
		}
	}
	if len(s.models) == 0 && strings.Contains(name, "/") {
		return name, true
	}
	return full, full != ""
}

// offered names the models for a message, not all of a long list.
func (s *state) offered() string {
	const most = 20
	var names []string
	for _, m := range s.models[:min(most, len(s.models))] {
		names = append(names, m.ID)
	}
	text := strings.Join(names, ", ")
	if len(s.models) > most {
		text += ", …"
	}
	return text
}

// json is the sessionState.
func (s *state) json() []byte {
	var out native.State
	if len(s.models) > 0 {
		out.Models = &native.ModelState{Current: s.model, Available: s.models}
	}
	if s.level != "" {
		option := native.ConfigOption{ID: configEffort, Name: "Thinking", Category: configEffort, Type: "select", Current: s.level}
		levels := s.levels
		if levels == nil {
			levels = efforts
		}
		for _, level := range levels {
			option.Options = append(option.Options, native.ConfigValue{Value: level, Name: level})
		}
		out.ConfigOptions = []native.ConfigOption{option}
	}
	return out.JSON()
}
