// Package preset holds the agents that dragoman knows, as data: one TOML
// file an agent, embedded, which a user's file of the same id is merged over
// (lanes.md §12). It fills a spec from a preset, finds the program on a PATH
// and says what is missing, in words that a person can act on.
//
// A [Set] is read once and not changed; it may be used from any goroutine.
// Nothing here starts a process or reaches a network: the version is asked
// through a function that the caller hands in.
package preset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// A Preset is one known agent.
type Preset struct {
	ID   string `toml:"id"`
	Name string `toml:"name"`
	// Lanes in order of preference; each has a member of Lane.
	Lanes []string `toml:"lanes"`
	// Checked is the range of versions that were tried, like ">=1.2 <2"; ""
	// for an agent that nobody has run.
	Checked      string          `toml:"checked"`
	Find         Find            `toml:"find"`
	Install      Install         `toml:"install"`
	Auth         Auth            `toml:"auth"`
	Capabilities map[string]bool `toml:"capabilities"`
	// Lane has, by lane, the members of that lane's spec.
	Lane map[string]map[string]any `toml:"lane"`
}

// Find says how the program is found and asked for its version.
type Find struct {
	// Self: the program is dragoman itself.
	Self     bool     `toml:"self"`
	Programs []string `toml:"programs"`
	// VersionArgs ask for the version; the first group of VersionPattern is it.
	VersionArgs    []string `toml:"versionArgs"`
	VersionPattern string   `toml:"versionPattern"`
	// Npm is the package that the program is a shim of, for the advice where
	// Install names none.
	Npm string `toml:"npm"`
}

// Install says where the program comes from.
type Install struct {
	Npm  string `toml:"npm"`
	Note string `toml:"note"`
}

// Auth says how the agent signs in. Env are names of variables that a
// terminal or a core passes on; Files are looked at for presence only.
type Auth struct {
	Env   []string `toml:"env"`
	Files []string `toml:"files"`
	Hint  string   `toml:"hint"`
}

// A Set is every known preset.
type Set struct {
	byID map[string]*Preset
	// self is the path of our own executable, for presets that are us.
	self string
}

// IDs returns the known ids, sorted.
func (s *Set) IDs() []string { return slices.Sorted(maps.Keys(s.byID)) }

// Get returns the preset with an id; nil if there is none. It isn't to be
// changed.
func (s *Set) Get(id string) *Preset { return s.byID[id] }

// decode turns merged TOML into a preset, strictly: an unknown key is a
// misspelling.
func decode(file string, tree map[string]any) (*Preset, error) {
	b, err := toml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p := &Preset{}
	if err := unmarshalStrict(b, p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, p.validate(file)
}

func (p *Preset) validate(file string) error {
	switch {
	case p.ID == "":
		return fmt.Errorf("%s: the preset has no id", file)
	case len(p.Lanes) == 0:
		return fmt.Errorf("%s: the preset has no lanes", file)
	case !p.Find.Self && len(p.Find.Programs) == 0:
		return fmt.Errorf("%s: find has no programs", file)
	}
	for _, lane := range p.Lanes {
		if _, ok := p.Lane[lane]; !ok {
			return fmt.Errorf("%s: lane %q has no section [lane.%s]", file, lane, lane)
		}
	}
	if _, err := parseRange(p.Checked); err != nil {
		return fmt.Errorf("%s: checked: %w", file, err)
	}
	return nil
}
