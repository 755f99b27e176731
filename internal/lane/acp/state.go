package acp

import (
	"bytes"

	wire "dragoman/wire/acp"
	"dragoman/wire/ndjson"
)

// state is what a session offers and has chosen, as the agent's own JSON. It
// is the sessionState of sidecar.md §2. Members that the agent didn't give
// are nil.
type state struct {
	config, modes, models, meta []byte
}

// read takes the members of a setup reply.
func (s *state) read(reply wire.Object) {
	s.config = bytes.Clone(reply.Get("configOptions"))
	s.modes = bytes.Clone(reply.Get("modes"))
	s.models = bytes.Clone(reply.Get("models"))
	s.meta = bytes.Clone(reply.Get("_meta"))
}

// json is the sessionState.
func (s *state) json() []byte {
	out := []byte{'{'}
	for _, member := range []struct {
		name  string
		value []byte
	}{
		{"configOptions", s.config}, {"modes", s.modes}, {"models", s.models}, {"_meta", s.meta},
	} {
		if member.value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(ndjson.AppendQuote(out, member.name), ':')
		out = append(out, member.value...)
	}
	return append(out, '}')
}

// offers reports whether a selector is there.
func (s *state) offers(word string) bool {
	if _, ok := wire.FindSelect(s.config, word); ok {
		return true
	}
	var ok bool
	switch word {
	case wire.CategoryModel:
		_, ok = wire.ReadModels(s.models)
	case wire.CategoryMode:
		_, ok = wire.ReadModes(s.modes)
	}
	return ok
}

// setMode notes the current mode where the agent offers `modes`.
func (s *state) setMode(id string) { s.modes = setCurrent(s.modes, "currentModeId", id) }

// setModel notes the current model where the agent offers `models`.
func (s *state) setModel(id string) { s.models = setCurrent(s.models, "currentModelId", id) }

func setCurrent(value []byte, name, id string) []byte {
	if wire.AsObject(value) == nil {
		return value
	}
	return wire.Object(value).Set(name, ndjson.AppendQuote(nil, id))
}
