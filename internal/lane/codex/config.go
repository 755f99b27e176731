package codex

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane/mcp"
	"dragoman/wire/agent"
)

// serverPrefix stands before a server's name in a key of the configuration.
const serverPrefix = "mcp_servers."

// execServers is how exec takes servers: the command line has no secret.
var execServers = mcp.Config{Flag: "-c", Root: "mcp_servers", EnvVarsKey: "env_vars"}

func (p *plan) checkServers() error {
	if p.serverErr != nil {
		return p.serverErr
	}
	if p.exec {
		return execServers.Check(p.servers)
	}
	for _, s := range p.servers {
		if s.Type == "sse" {
			return errors.New("the server " + s.Name + " is reached by sse, which Codex doesn't speak")
		}
	}
	return nil
}

// serverEntry is one server in Codex's form.
type serverEntry struct {
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	URL     string            `json:"url,omitzero"`
	Headers map[string]string `json:"http_headers,omitzero"`
}

// threadConfig is the config member of a thread's start; nil for none.
func (p *plan) threadConfig() (map[string]jsontext.Value, error) {
	config := make(map[string]jsontext.Value)
	for _, c := range p.config {
		config[c.Name] = c.Value
	}
	for _, s := range p.servers {
		entry, err := json.Marshal(serverEntry{s.Command, s.Args, values(s.Env), s.URL, values(s.Headers)})
		if err != nil {
			return nil, err
		}
		config[serverPrefix+s.Name] = entry
	}
	if len(config) == 0 {
		return nil, nil
	}
	return config, nil
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

// flags are config as arguments of exec. Objects become dotted keys: what is
// left is TOML as it stands in JSON.
func flags(prefix string, config []agent.Pair) []string {
	var args []string
	for _, c := range config {
		if jsontext.Value(c.Value).Kind() == '{' {
			args = append(args, flags(prefix+c.Name+".", pairs(c.Value))...)
			continue
		}
		args = append(args, "-c", prefix+c.Name+"="+string(c.Value))
	}
	return args
}
