// Package mcp reads the MCP servers of a spec and writes them in the forms
// that declared agents take: TOML on a command line, and OpenCode's
// configuration (sidecar.md §5, §7).
package mcp

import (
	"fmt"
	"strconv"
	"strings"

	"dragoman/wire/agent"
)

// A Server is one MCP server: a program with Command, or one at a URL.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     []Var
	// Type is "" for a program, else http or sse.
	Type    string
	URL     string
	Headers []Var
}

// A Var is an environment variable or a header. Its value may be a secret.
type Var struct{ Name, Value string }

// Parse reads the servers of a spec. Its error names what is malformed, and
// never a value.
func Parse(list [][]byte) ([]Server, error) {
	var servers []Server
	seen := map[string]bool{}
	for i, raw := range list {
		s, err := parse("mcpServers["+strconv.Itoa(i)+"]", raw)
		if err != nil {
			return nil, err
		}
		if seen[s.Name] {
			return nil, fmt.Errorf("the MCP server %s is named twice", s.Name)
		}
		seen[s.Name] = true
		servers = append(servers, s)
	}
	return servers, nil
}

func parse(path string, raw []byte) (Server, error) {
	f := agent.ReadFields(path, raw)
	s := Server{Name: need(f, "name"), Type: f.Str("type")}
	switch s.Type {
	case "", "stdio":
		s.Type = ""
		s.Command = need(f, "command")
		s.Args = f.Strings("args")
		s.Env = vars(f, "env")
	case "http", "sse":
		s.URL = need(f, "url")
		s.Headers = vars(f, "headers")
	default:
		f.Fault("type", "must be stdio, http or sse")
	}
	f.Known("_meta")
	return s, f.Close()
}

func need(f *agent.Fields, name string) string {
	text := f.Str(name)
	if strings.TrimSpace(text) == "" {
		f.Fault(name, "is missing")
	}
	return text
}

func vars(f *agent.Fields, name string) []Var {
	var list []Var
	for _, v := range f.Objs(name) {
		list = append(list, Var{Name: need(v, "name"), Value: v.Str("value")})
		v.Known("_meta")
		v.CheckUnknown()
	}
	return list
}

// A Config says how an agent takes servers on its command line (rpc's
// mcpConfig).
type Config struct {
	Flag, Root, EnvVarsKey string
	// ApprovalKey and ApprovalValue are set for the servers named in Approved.
	ApprovalKey, ApprovalValue string
	Approved                   []string
}

// Args returns the arguments that declare servers, as TOML. Values of
// variables aren't in them.
func (c Config) Args(servers []Server) []string {
	var args []string
	add := func(s Server, key, value string) {
		args = append(args, c.Flag, c.Root+"."+tomlKey(s.Name)+"."+key+"="+value)
	}
	for _, s := range servers {
		add(s, "command", tomlString(s.Command))
		add(s, "args", tomlList(s.Args))
		names := make([]string, len(s.Env))
		for i, v := range s.Env {
			names[i] = v.Name
		}
		add(s, tomlKey(c.EnvVarsKey), tomlList(names))
		if c.approves(s.Name) {
			add(s, tomlKey(c.ApprovalKey), tomlString(c.ApprovalValue))
		}
	}
	return args
}

func (c Config) approves(name string) bool {
	for _, n := range c.Approved {
		if n == name {
			return c.ApprovalKey != ""
		}
	}
	return false
}

// Check finds what a command line can't say: servers at a URL, and variables
// that servers set differently.
func (c Config) Check(servers []Server) error {
	values := map[string]string{}
	for _, s := range servers {
		if s.Type != "" {
			return fmt.Errorf("the MCP server %s is no program", s.Name)
		}
		for _, v := range s.Env {
			if old, ok := values[v.Name]; ok && old != v.Value {
				return fmt.Errorf("MCP servers give %s different values", v.Name)
			}
			values[v.Name] = v.Value
		}
	}
	return nil
}

// AddEnv returns env, NAME=VALUE, with the servers' variables. A variable
// that is there with another value conflicts.
func AddEnv(env []string, servers []Server) ([]string, error) {
	have := make(map[string]string, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		have[name] = value
	}
	out := env[:len(env):len(env)]
	for _, s := range servers {
		for _, v := range s.Env {
			old, ok := have[v.Name]
			if ok && old != v.Value {
				return nil, fmt.Errorf("the MCP server %s gives %s another value than the agent's environment", s.Name, v.Name)
			}
			if !ok {
				have[v.Name] = v.Value
				out = append(out, v.Name+"="+v.Value)
			}
		}
	}
	return out, nil
}

// Secrets are the values of the servers' variables and headers, which must
// not show anywhere.
func Secrets(servers []Server) []string {
	var list []string
	for _, s := range servers {
		for _, v := range append(s.Env[:len(s.Env):len(s.Env)], s.Headers...) {
			if v.Value != "" {
				list = append(list, v.Value)
			}
		}
	}
	return list
}
