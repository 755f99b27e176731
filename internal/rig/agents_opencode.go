package main

var openCodeSet = packageSet{"opencode", []string{"opencode-ai@1.18.33"}}

// openCodeAgents are OpenCode's server, and its ACP mode.
var openCodeAgents = []agent{
	{
		name:     "opencode",
		packages: []packageSet{node22, openCodeSet},
		prepare:  openCodeHome,
		spec: func(p place) object {
			return object{"id": "opencode", "lane": "opencode", "command": command(openCodeEnv(), p.openCode())}
		},
	},
	{
		name:     "opencode-acp",
		packages: []packageSet{node22, openCodeSet},
		prepare:  openCodeHome,
		spec: func(p place) object {
			return object{"id": "opencode-acp", "lane": "acp", "command": command(openCodeEnv(), p.openCode(), "acp")}
		},
	},
}

func (p place) openCode() string {
	return p.bin("opencode", "node_modules", "opencode-linux-x64", "bin", "opencode")
}

func openCodeEnv() object {
	return object{
		"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
	}
}

// openCodeHome has the permission section without which nobody is asked.
func openCodeHome(p place) error {
	return p.write(".config/opencode/opencode.json", object{
		"autoupdate": false, "share": "disabled", "model": "mock/mock-model", "small_model": "mock/mock-small",
		"provider": object{"mock": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Mock",
			"options": object{"baseURL": p.model + "/v1", "apiKey": "test-key"},
			"models":  object{"mock-model": object{"name": "Mock model"}, "mock-small": object{"name": "Mock small"}},
		}},
		"permission": object{"edit": "ask", "bash": "ask", "webfetch": "ask"},
	})
}
