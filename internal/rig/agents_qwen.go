package main

var qwenSet = packageSet{"qwen", []string{"@qwen-code/qwen-code@0.24.4"}}

// cantAsk is the lane stream-json's reason.
const cantAsk = "one process a turn without a channel back: nobody can be asked"

// qwenAgents are Qwen Code, and Gemini's and its one-shot modes.
var qwenAgents = []agent{
	{
		name:     "qwen",
		packages: []packageSet{node22, qwenSet},
		prepare:  qwenHome,
		mode:     "default",
		spec: func(p place) object {
			return object{"id": "qwen", "lane": "acp", "command": command(qwenEnv(p), p.node(), p.qwen(), "--acp")}
		},
	},
	{
		name:     "qwen-stream-json",
		packages: []packageSet{node22, qwenSet},
		prepare:  qwenHome,
		native:   "session_id",
		mode:     "yolo",
		cant:     map[string]string{"tool allowed": cantAsk, "tool rejected": cantAsk},
		spec: func(p place) object {
			return object{"id": "qwen", "lane": "stream-json", "dialect": "qwen", "command": command(qwenEnv(p), p.node(), p.qwen())}
		},
	},
	{
		name:     "gemini-stream-json",
		packages: []packageSet{node22, {"gemini", []string{"@google/gemini-cli@0.61.0"}}},
		prepare:  geminiHome,
		native:   "session_id",
		mode:     "yolo",
		cant:     map[string]string{"tool allowed": cantAsk, "tool rejected": cantAsk},
		spec: func(p place) object {
			program := p.bin("gemini", "node_modules", "@google", "gemini-cli", "bundle", "gemini.js")
			return object{"id": "gemini", "lane": "stream-json", "dialect": "gemini", "command": command(geminiEnv(p), p.node(), program, "--skip-trust")}
		},
	},
}

func (p place) qwen() string {
	return p.bin("qwen", "node_modules", "@qwen-code", "qwen-code", "cli-entry.js")
}

func qwenEnv(p place) object {
	return object{"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": p.model + "/v1", "OPENAI_MODEL": "mock-model"}
}

func qwenHome(p place) error {
	return p.write(".qwen/settings.json", object{
		"security": object{"auth": object{"selectedType": "openai"}},
		"tools":    object{"approvalMode": "default"},
		"privacy":  object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
		"general": object{"enableAutoUpdate": false, "disableAutoUpdate": true},
	})
}
