package main

// reasons of `codex exec`.
const cantAskExec = "exec has no channel back: nobody can be asked, what needs approval is refused by the agent"

// codexAgents are Codex's own two machine interfaces.
var codexAgents = []agent{
	{
		name:     "codex",
		packages: []packageSet{node22, codexSet},
		prepare:  codexHome,
		suffix:   " ESCALATE",
		spec: func(p place) object {
			return object{
				"id": "codex", "lane": "codex", "approvalPolicy": "untrusted", "sandbox": "workspace-write",
				"command": command(codexEnv(p), p.codex()),
			}
		},
	},
	{
		name:     "codex-exec",
		packages: []packageSet{node22, codexSet},
		prepare:  codexHome,
		native:   "thread_id",
		cant:     map[string]string{"tool allowed": cantAskExec, "tool rejected": cantAskExec},
		spec: func(p place) object {
			return object{
				"id": "codex-exec", "lane": "codex", "mode": "exec", "sandbox": "danger-full-access",
				"command": command(codexEnv(p), p.codex()),
			}
		},
	},
}
