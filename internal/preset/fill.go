package preset

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"dragoman/wire/agent"
)

// Fill makes the whole spec for one that has an id but no lane (sidecar.md
// §9): the lane's members from the preset, members that are given win. The
// lane is the first of the preset's whose program is on path, a PATH value;
// the first of all if none is. ok is false when no preset has the id.
func (s *Set) Fill(spec []byte, path string) (filled []byte, ok bool, err error) {
	var given map[string]any
	if err := json.Unmarshal(spec, &given); err != nil {
		return nil, false, &agent.SpecError{Detail: "spec: " + err.Error()}
	}
	id, _ := given["id"].(string)
	p := s.byID[id]
	if p == nil {
		return nil, false, nil
	}
	filled, err = s.fill(p, s.pick(p, path), given)
	return filled, true, err
}

// FillLane is Fill with the lane named; the preset must have it.
func (s *Set) FillLane(id, lane string, given map[string]any) ([]byte, error) {
	p := s.byID[id]
	if p == nil {
		return nil, fmt.Errorf("no agent %q is known", id)
	}
	if !slices.Contains(p.Lanes, lane) {
		return nil, fmt.Errorf("agent %q has no lane %q, only %v", id, lane, p.Lanes)
	}
	return s.fill(p, lane, given)
}

// pick chooses the lane.
func (s *Set) pick(p *Preset, path string) string {
	for _, lane := range p.Lanes {
		if s.find(p, lane, path) != "" {
			return lane
		}
	}
	return p.Lanes[0]
}

func (s *Set) fill(p *Preset, lane string, given map[string]any) ([]byte, error) {
	whole := map[string]any{"id": p.ID, "lane": lane}
	for key, value := range p.Lane[lane] {
		whole[key] = value
	}
	command := map[string]any{"program": s.program(p, lane)}
	mergeAny(command, p.Lane[lane]["command"])
	mergeAny(command, given["command"])
	for key, value := range given {
		if value != nil {
			whole[key] = value
		}
	}
	whole["command"] = command
	return json.Marshal(whole, json.Deterministic(true))
}

// mergeAny lays the members of a table that aren't null over base.
func mergeAny(base map[string]any, over any) {
	table, _ := over.(map[string]any)
	for key, value := range table {
		if value != nil {
			base[key] = value
		}
	}
}

// program is what a lane of the preset runs.
func (s *Set) program(p *Preset, lane string) string {
	command, _ := p.Lane[lane]["command"].(map[string]any)
	if own, ok := command["program"].(string); ok {
		return own
	}
	if p.Find.Self {
		return s.self
	}
	return p.Find.Programs[0]
}
