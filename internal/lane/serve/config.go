package serve

import (
	"errors"
	"fmt"
	"strings"

	"dragoman/internal/lane/mcp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// configName is the variable that holds OpenCode's configuration as JSON.
const configName = "OPENCODE_CONFIG_CONTENT"

// What a configuration must deny and switch off to prove read-only.
var (
	deniedPermissions = []string{"edit", "bash", "webfetch", "doom_loop", "external_directory"}
	toolsOff          = []string{"write", "edit", "patch", "bash", "webfetch", "websearch", "task", "skill", "question"}
)

// configOf returns the configuration in env, nil if there is none.
func configOf(env []string) []byte {
	var config []byte
	for _, entry := range env { // of a repeated name the last counts
		if value, ok := strings.CutPrefix(entry, configName+"="); ok {
			config = []byte(value)
		}
	}
	return config
}

// withConfig returns env with config.
func withConfig(env []string, config []byte) []string {
	out := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, configName+"=") {
			out = append(out, entry)
		}
	}
	return append(out, configName+"="+string(config))
}

// object is a JSON object whose members stay as they are.
type object map[string]jsontext.Value

// decodeObject reads an object; absent is an empty one.
func decodeObject(value []byte) (object, error) {
	if len(value) == 0 {
		return object{}, nil
	}
	var o object
	if err := json.Unmarshal(value, &o); err != nil || o == nil {
		return nil, errors.New("is no JSON object")
	}
	return o, nil
}

func (o object) encode() jsontext.Value {
	b, err := json.Marshal(o, json.Deterministic(true))
	if err != nil { // its values were read as JSON
		return jsontext.Value("{}")
	}
	return b
}

// server is an MCP server in OpenCode's form.
type server struct {
	Type        string            `json:"type"` // local or remote
	Command     []string          `json:"command,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	URL         string            `json:"url,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Enabled     bool              `json:"enabled"`
}

func serverOf(s mcp.Server) server {
	if s.Type != "" {
		return server{Type: "remote", URL: s.URL, Headers: asMap(s.Headers), Enabled: true}
	}
	return server{Type: "local", Command: append([]string{s.Command}, s.Args...), Environment: asMap(s.Env), Enabled: true}
}

func asMap(vars []mcp.Var) map[string]string {
	m := make(map[string]string, len(vars))
	for _, v := range vars {
		m[v.Name] = v.Value
	}
	return m
}

// mergeServers adds servers to a configuration as mcp.servers.NAME.
func mergeServers(config []byte, servers []mcp.Server) ([]byte, error) {
	doc, err := decodeObject(config)
	if err != nil {
		return nil, fmt.Errorf("%s %w", configName, err)
	}
	section, err := decodeObject(doc["mcp"])
	if err != nil {
		return nil, fmt.Errorf("mcp of %s %w", configName, err)
	}
	all, err := decodeObject(section["servers"])
	if err != nil {
		return nil, fmt.Errorf("mcp.servers of %s %w", configName, err)
	}
	for _, s := range servers {
		if _, ok := all[s.Name]; ok {
			return nil, fmt.Errorf("%s has an MCP server %s already", configName, s.Name)
		}
		if all[s.Name], err = json.Marshal(serverOf(s), json.Deterministic(true)); err != nil {
			return nil, fmt.Errorf("the MCP server %s can't be written", s.Name)
		}
	}
	section["servers"] = all.encode()
	doc["mcp"] = section.encode()
	return doc.encode(), nil
}

// readOnlyProof reports whether a configuration proves that the agent only
// reads: everything that could act is denied and switched off, and no MCP
// server is enabled.
func readOnlyProof(config []byte) bool {
	if _, err := decodeObject(config); err != nil || config == nil {
		return false
	}
	for _, name := range deniedPermissions {
		raw, _, _ := ndjson.Get(config, "permission", name)
		if word, _ := agent.String(raw); word != "deny" {
			return false
		}
	}
	for _, name := range toolsOff {
		if _, kind, _ := ndjson.Get(config, "tools", name); kind != ndjson.False {
			return false
		}
	}
	section, kind, ok := ndjson.Get(config, "mcp")
	if !ok || kind == ndjson.Null {
		return true
	}
	return serversOff(section)
}

// serversOff reports whether every server of an mcp section says
// enabled:false: those of its member servers, and those beside it.
func serversOff(section []byte) bool {
	members, err := ndjson.Members(section)
	if err != nil {
		return false
	}
	for _, m := range members {
		value := m.Value.Of(section)
		if string(m.Key) == "servers" {
			inner, err := ndjson.Members(value)
			if err != nil {
				return false
			}
			for _, s := range inner {
				if !off(s.Value.Of(value)) {
					return false
				}
			}
		} else if m.Kind == ndjson.Object && !off(value) {
			return false
		}
	}
	return true
}

func off(server []byte) bool {
	_, kind, _ := ndjson.Get(server, "enabled")
	return kind == ndjson.False
}
