package opencode

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane/mcp"
)

// Variables of OpenCode's.
const (
	envConfig   = "OPENCODE_CONFIG_CONTENT"
	envPassword = "OPENCODE_SERVER_PASSWORD"
	envUser     = "OPENCODE_SERVER_USERNAME"
)

// defaultUser is the name that goes with the password.
const defaultUser = "opencode"

// newPassword makes a server's password.
func newPassword() string { return rand.Text() }

// lookup is the value of a variable; of a repeated name the last counts.
func lookup(env []string, name string) (value string) {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// with is env with a variable set.
func with(env []string, name, value string) []string {
	out := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, name+"=") {
			out = append(out, entry)
		}
	}
	return append(out, name+"="+value)
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
		return server{Type: "remote", URL: s.URL, Headers: values(s.Headers), Enabled: true}
	}
	return server{Type: "local", Command: append([]string{s.Command}, s.Args...), Environment: values(s.Env), Enabled: true}
}

func values(vars []mcp.Var) map[string]string {
	m := make(map[string]string, len(vars))
	for _, v := range vars {
		m[v.Name] = v.Value
	}
	return m
}

// members reads an object whose values stay as they are; absent is empty.
func members(value []byte) (map[string]jsontext.Value, error) {
	if len(value) == 0 {
		return map[string]jsontext.Value{}, nil
	}
	var m map[string]jsontext.Value
	if err := json.Unmarshal(value, &m); err != nil || m == nil {
		return nil, errors.New("is no JSON object")
	}
	return m, nil
}

// mergeServers adds servers to a configuration as mcp.NAME. One that is there
// already isn't replaced.
func mergeServers(config string, servers []mcp.Server) (string, error) {
	doc, err := members([]byte(config))
	if err != nil {
		return "", fmt.Errorf("%s %w", envConfig, err)
	}
	section, err := members(doc["mcp"])
	if err != nil {
		return "", fmt.Errorf("mcp of %s %w", envConfig, err)
	}
	for _, s := range servers {
		if _, ok := section[s.Name]; ok {
			return "", fmt.Errorf("%s has an MCP server %s already", envConfig, s.Name)
		}
		if section[s.Name], err = json.Marshal(serverOf(s), json.Deterministic(true)); err != nil {
			return "", err
		}
	}
	if doc["mcp"], err = json.Marshal(section, json.Deterministic(true)); err != nil {
		return "", err
	}
	out, err := json.Marshal(doc, json.Deterministic(true))
	return string(out), err
}
