package claude

import (
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"dragoman/internal/lane/mcp"
)

// A serverConfig is the file that tells Claude Code its MCP servers: in a
// folder of its own that only we can enter, because a command line can be
// read by everybody and the file may hold secrets. The zero value is none.
type serverConfig struct{ dir string }

const configName = "mcp.json"

// serverEntry is one server in Claude Code's form.
type serverEntry struct {
	Type    string            `json:"type,omitzero"`
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	URL     string            `json:"url,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`
}

// writeServers writes the file; none for no servers.
func writeServers(servers []mcp.Server) (serverConfig, error) {
	if len(servers) == 0 {
		return serverConfig{}, nil
	}
	entries := make(map[string]serverEntry, len(servers))
	for _, s := range servers {
		entries[s.Name] = serverEntry{
			Type: s.Type, Command: s.Command, Args: s.Args, Env: values(s.Env), URL: s.URL, Headers: values(s.Headers),
		}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		return serverConfig{}, err
	}
	dir, err := os.MkdirTemp("", "dragoman-mcp-") // 0700
	if err != nil {
		return serverConfig{}, err
	}
	c := serverConfig{dir}
	if err := os.WriteFile(c.path(), text, 0o600); err != nil {
		c.remove()
		return serverConfig{}, err
	}
	return c, nil
}

func values(list []mcp.Var) map[string]string {
	if len(list) == 0 {
		return nil
	}
	m := make(map[string]string, len(list))
	for _, v := range list {
		m[v.Name] = v.Value
	}
	return m
}

// path is "" for none.
func (c serverConfig) path() string {
	if c.dir == "" {
		return ""
	}
	return filepath.Join(c.dir, configName)
}

// remove may be called twice.
func (c serverConfig) remove() error {
	if c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}
