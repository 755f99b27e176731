package opencode

import (
	"encoding/base64"
	"slices"
	"strings"

	"dragoman/internal/lane"
	"dragoman/internal/lane/native"
	"dragoman/wire/acp"
)

// state is what the session offers and has chosen.
type state struct {
	version string
	// model is PROVIDER/ID and mode an agent's name, "" for OpenCode's own
	// choice; shown is the model that it names as its own.
	model, mode, shown string
	models             []native.Model
	windows            map[string]int64 // by model, in tokens
	modes              []native.Mode
	title              string
}

// promptBody is a prompt.
type promptBody struct {
	Parts []promptPart `json:"parts"`
	Model *modelRef    `json:"model,omitzero"`
	Agent string       `json:"agent,omitzero"`
}

type modelRef struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
}

// promptPart is a piece of a prompt.
type promptPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	Mime     string `json:"mime,omitzero"`
	Filename string `json:"filename,omitzero"`
	URL      string `json:"url,omitzero"`
}

// prompt makes the body of a turn's prompt, and keeps the turn's model.
func (s *state) prompt(t lane.Turn) promptBody {
	if t.Options.Model != nil {
		s.model, _ = s.find(*t.Options.Model)
	}
	body := promptBody{Agent: s.mode, Parts: []promptPart{{Type: "text", Text: t.Text}}}
	if provider, id, ok := strings.Cut(s.model, "/"); ok {
		body.Model = &modelRef{provider, id}
	}
	for _, a := range t.Attachments {
		part := promptPart{Type: "file", Mime: a.MimeType, Filename: a.Name, URL: a.URI}
		data := a.Data
		if part.Mime == "" {
			part.Mime = "text/plain"
		}
		if len(data) == 0 {
			data = []byte(a.Text)
		}
		if len(data) > 0 {
			part.URL = "data:" + part.Mime + ";base64," + base64.StdEncoding.EncodeToString(data)
		}
		if part.URL != "" {
			body.Parts = append(body.Parts, part)
		}
	}
	return body
}

// takeProviders reads the answer to /config/providers.
func (s *state) takeProviders(reply acp.Object) {
	s.windows = make(map[string]int64)
	providers, _ := reply.List("providers")
	for _, item := range providers {
		p := acp.AsObject(item)
		models := p.Object("models")
		if models == nil {
			continue
		}
		models.Each(func(_, value []byte) bool {
			m := acp.AsObject(value)
			id := p.Str("id") + "/" + m.Str("id")
			name := m.Str("name")
			if name == "" {
				name = id
			}
			s.models = append(s.models, native.Model{ID: id, Name: name})
			s.windows[id], _ = m.Object("limit").Int("context")
			return true
		})
	}
}

// takeAgents reads the answer to /agent: the modes are those that a person can
// choose.
func (s *state) takeAgents(reply []byte) {
	list, _ := acp.List(reply)
	for _, item := range list {
		o := acp.AsObject(item)
		if name := o.Str("name"); name != "" && o.Str("mode") != "subagent" && !o.True("hidden") {
			s.modes = append(s.modes, native.Mode{ID: name, Name: name, Description: o.Str("description")})
		}
	}
}

// find is the offered model of a name, PROVIDER/ID or an ID that only one
// provider has.
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
	return full, full != ""
}

func (s *state) hasMode(name string) bool {
	return slices.ContainsFunc(s.modes, func(m native.Mode) bool { return m.ID == name })
}

// names lists at most 20 of the offered for a message.
func names[T any](list []T, id func(T) string) string {
	const most = 20
	var out []string
	for _, item := range list[:min(most, len(list))] {
		out = append(out, id(item))
	}
	if len(list) > most {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// currentModel is the model of the next turn, as far as that is known.
func (s *state) currentModel() string {
	if s.model != "" {
		return s.model
	}
	return s.shown
}

// json is the sessionState.
func (s *state) json() []byte {
	var out native.State
	if len(s.models) > 0 {
		out.Models = &native.ModelState{Current: s.currentModel(), Available: s.models}
	}
	if len(s.modes) > 0 {
		out.Modes = &native.ModeState{Current: s.mode, Available: s.modes}
		if s.mode == "" {
			out.Modes.Current = s.modes[0].ID
		}
	}
	return out.JSON()
}
