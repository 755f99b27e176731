package main

// claudeAgents speak stream-json with the control protocol. Claude Code is
// proprietary: it is installed from npm for a run, never kept.
var claudeAgents = []agent{
	{
		name:     "claude",
		packages: []packageSet{node22, {"claude", []string{"@anthropic-ai/claude-code@2.1.332"}}},
		native:   "session_id",
		spec: func(p place) object {
			program := p.bin("claude", "node_modules", "@anthropic-ai", "claude-code-linux-x64", "claude")
			return object{"id": "claude", "lane": "claude", "command": command(claudeEnv(p), program)}
		},
	},
}

func claudeEnv(p place) object {
	return object{
		"ANTHROPIC_BASE_URL": p.model, "ANTHROPIC_API_KEY": "test-key",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"DISABLE_AUTOUPDATER":                      "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
	}
}
