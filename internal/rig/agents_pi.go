package main

import "path/filepath"

var (
	piSet    = packageSet{"pi", []string{"@earendil-works/pi-coding-agent@1.6.0"}}
	piACPSet = packageSet{"pi-acp", []string{"pi-acp@0.0.34"}}
)

// What pi-acp leaves out: it starts pi by itself, without an extension that
// would ask, and tells of no error.
const (
	cantAskPiACP   = "pi-acp starts pi without a permission extension: nobody is asked"
	cantErrorPiACP = "pi-acp answers an error of the model's with end_turn and says nothing of it"
)

// piAgents are pi's own RPC mode, and the ACP adapter around it.
var piAgents = []agent{
	{
		name:     "pi",
		packages: []packageSet{node22, piSet},
		prepare:  piHome,
		spec: func(p place) object {
			return object{"id": "pi", "lane": "pi", "command": command(piEnv(), p.node(), p.pi())}
		},
	},
	{
		name:     "pi-acp",
		packages: []packageSet{node22, piSet, piACPSet},
		prepare:  piHome,
		cant:     map[string]string{"tool allowed": cantAskPiACP, "tool rejected": cantAskPiACP, "model error": cantErrorPiACP},
		spec: func(p place) object {
			set := piEnv()
			set["PATH"] = p.bin("pi", "node_modules", ".bin") + ":" + filepath.Dir(p.node()) + ":/usr/local/bin:/usr/bin:/bin"
			return object{"id": "pi-acp", "lane": "acp", "command": command(set, p.node(), p.bin("pi-acp", "node_modules", "pi-acp", "dist", "index.js"))}
		},
	},
}

func (p place) pi() string {
	return p.bin("pi", "node_modules", "@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js")
}

func piEnv() object {
	return object{"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0", "MOCK_KEY": "test-key"}
}

func piHome(p place) error {
	provider := object{
		"baseUrl": p.model + "/v1", "api": "openai-completions", "apiKey": "test-key",
		"models": []any{object{"id": "mock-model", "name": "Mock", "reasoning": true, "input": []any{"text"}, "contextWindow": 200000, "maxTokens": 8000}},
	}
	if err := p.write(".pi/agent/models.json", object{"providers": object{"mock": provider}}); err != nil {
		return err
	}
	return p.write(".pi/agent/settings.json", object{"defaultProvider": "mock", "defaultModel": "mock-model"})
}
