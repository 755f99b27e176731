package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// maxFileBytes bounds a configuration file.
const maxFileBytes = 1 << 20

// A Source is where a value came from, weakest first.
type Source string

// The sources. Flags beat all; their verbs apply them.
const (
	Default     Source = "default"
	User        Source = "user"
	Project     Source = "project"
	Environment Source = "environment"
)

// A Value is the effective value of a key: an int64, a string or a []string.
type Value struct {
	Key    Key
	Value  any
	Source Source
	// Where is the file or the variable, "" for a default.
	Where string
}

// A Rule is a [[permission.rule]] as it was written.
type Rule struct {
	// Table is the rule.
	Table map[string]any
	// Source and Where are the file's.
	Source Source
	Where  string
}

// Denies reports whether the rule's action is deny.
func (r Rule) Denies() bool { return r.Table["action"] == "deny" }

// An Agent is an [agents.ID] table, as a preset; the project's is laid over
// the user's by key.
type Agent struct {
	ID    string
	Table map[string]any
	// Source and Where are the last file's that has it.
	Source Source
	Where  string
}

// A Config is what counts. It isn't changed after Load.
type Config struct {
	values map[Key]Value
	agents map[string]*Agent
	// Rules are the user's, then the project's.
	Rules []Rule
	// Ignored names what an untrusted project file has and doesn't get.
	Ignored []string
	// ProjectFile is the project's file, "" when there is none; Trusted tells
	// whether the user trusts its content.
	ProjectFile string
	Trusted     bool
}

// A FileError is a file or a variable with something in it that can't be.
type FileError struct {
	// Where is the file or the variable, Key what in it.
	Where, Key string
	Err        error
}

func (e *FileError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s: %v", e.Where, e.Err)
	}
	return fmt.Sprintf("%s: %s %v", e.Where, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

var errUnknownKey = errors.New("isn't a key")

// Places are what Load reads.
type Places struct {
	// UserDir holds config.toml; "" for none.
	UserDir string
	// Project is the folder whose .dragoman/config.toml counts; "" for none.
	Project string
	// Lookup gives environment variables; nil for none.
	Lookup func(name string) (string, bool)
	// Trust knows which project files count; nil trusts none.
	Trust *Trust
}

// ProjectPath is a project's file.
func ProjectPath(dir string) string { return filepath.Join(dir, ".dragoman", "config.toml") }

// Load reads what there is. A missing file is none; a broken one is a
// *FileError.
func Load(p Places) (*Config, error) {
	c := &Config{values: map[Key]Value{}, agents: map[string]*Agent{}}
	for _, s := range settings {
		c.values[s.key] = Value{Key: s.key, Value: s.value, Source: Default}
	}
	if p.UserDir != "" {
		if err := c.file(filepath.Join(p.UserDir, "config.toml"), User, nil); err != nil {
			return nil, err
		}
	}
	if p.Project != "" {
		if err := c.file(ProjectPath(p.Project), Project, p.Trust); err != nil {
			return nil, err
		}
	}
	return c, c.environment(p.Lookup)
}

// file lays one file over what there is.
func (c *Config) file(path string, source Source, trust *Trust) error {
	raw, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var tree map[string]any
	if err == nil {
		err = toml.Unmarshal(raw, &tree)
	}
	if err != nil {
		return &FileError{Where: path, Err: err}
	}
	l := layer{c: c, path: path, source: source, trusted: true}
	if source == Project {
		l.trusted = trust.trusts(path, raw)
		c.ProjectFile, c.Trusted = path, l.trusted
	}
	for _, section := range slices.Sorted(maps.Keys(tree)) {
		if err := l.section(section, tree[section]); err != nil {
			return err
		}
	}
	return nil
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return nil, fmt.Errorf("isn't a file of at most %d bytes", maxFileBytes)
	}
	return os.ReadFile(path)
}

// environment lays the variables over what there is.
func (c *Config) environment(lookup func(string) (string, bool)) error {
	if lookup == nil {
		return nil
	}
	for _, s := range settings {
		text, ok := lookup(s.key.Variable())
		if !ok {
			continue
		}
		v, err := s.kind.parse(text)
		if err != nil {
			return &FileError{Where: s.key.Variable(), Err: err}
		}
		c.values[s.key] = Value{s.key, v, Environment, s.key.Variable()}
	}
	return nil
}

// A layer is one file while it is laid over.
type layer struct {
	c       *Config
	path    string
	source  Source
	trusted bool
}

func (l *layer) bad(key string, err error) error { return &FileError{l.path, key, err} }

func (l *layer) section(name string, v any) error {
	table, ok := v.(map[string]any)
	known := name == "agents" || slices.ContainsFunc(settings, func(s setting) bool {
		return strings.HasPrefix(string(s.key), name+".")
	})
	switch {
	case !known:
		return l.bad(name, errUnknownKey)
	case !ok:
		return l.bad(name, errors.New("wants a table"))
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		var err error
		switch {
		case name == "agents":
			err = l.agent(key, table[key])
		case name == "permission" && key == "rule":
			err = l.rules(table[key])
		default:
			err = l.value(Key(name+"."+key), table[key])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *layer) value(key Key, v any) error {
	s := lookup(key)
	if s == nil {
		return l.bad(string(key), errUnknownKey)
	}
	checked, err := s.kind.check(v)
	if err != nil {
		return l.bad(string(key), err)
	}
	if s.needsTrust && !l.trusted {
		l.c.Ignored = append(l.c.Ignored, string(key))
		return nil
	}
	l.c.values[key] = Value{key, checked, l.source, l.path}
	return nil
}

func (l *layer) agent(id string, v any) error {
	table, ok := v.(map[string]any)
	if !ok {
		return l.bad("agents."+id, errors.New("wants a table"))
	}
	if !l.trusted {
		l.c.Ignored = append(l.c.Ignored, "agents."+id)
		return nil
	}
	have := l.c.agents[id]
	if have == nil {
		have = &Agent{ID: id, Table: map[string]any{}}
		l.c.agents[id] = have
	}
	maps.Copy(have.Table, table)
	have.Source, have.Where = l.source, l.path
	return nil
}

// ruleKeys are those of a policy's rule (core.md §6 "agent").
var ruleKeys = []string{"id", "action", "kinds", "argv", "paths", "agents"}

func (l *layer) rules(v any) error {
	items, ok := v.([]any)
	if !ok {
		return l.bad("permission.rule", errors.New("wants a list of tables"))
	}
	for i, item := range items {
		where := fmt.Sprintf("permission.rule[%d]", i)
		table, ok := item.(map[string]any)
		if !ok {
			return l.bad(where, errors.New("wants a table"))
		}
		for key := range table {
			if !slices.Contains(ruleKeys, key) {
				return l.bad(where+"."+key, errUnknownKey)
			}
		}
		if _, err := (word{"allow", "deny", "ask"}).check(table["action"]); err != nil {
			return l.bad(where+".action", err)
		}
		rule := Rule{table, l.source, l.path}
		if !l.trusted && !rule.Denies() {
			l.c.Ignored = append(l.c.Ignored, where)
			continue
		}
		l.c.Rules = append(l.c.Rules, rule)
	}
	return nil
}

// Agents are the known [agents.ID] tables, by id.
func (c *Config) Agents() []Agent {
	var all []Agent
	for _, id := range slices.Sorted(maps.Keys(c.agents)) {
		all = append(all, *c.agents[id])
	}
	return all
}

// Values are all settings, in the order of the table.
func (c *Config) Values() []Value {
	var all []Value
	for _, s := range settings {
		all = append(all, c.values[s.key])
	}
	return all
}

// Int is the value of a numeric key.
func (c *Config) Int(k Key) int64 { return c.values[k].Value.(int64) }

// Duration is the value of a key in milliseconds.
func (c *Config) Duration(k Key) time.Duration { return time.Duration(c.Int(k)) * time.Millisecond }

// Text is the value of a key that is one word.
func (c *Config) Text(k Key) string { return c.values[k].Value.(string) }

// List is the value of a key that is a list; the caller owns it.
func (c *Config) List(k Key) []string { return slices.Clone(c.values[k].Value.([]string)) }
