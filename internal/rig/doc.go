// Command rig runs real coding agents from npm through dragoman, offline, and
// prints what each can do as a matrix of agents and scenarios.
//
//	go run ./internal/rig                      every agent
//	go run ./internal/rig -agents sdk,codex    some
//	go run ./internal/rig -list                their names
//
// # How it works
//
// The outer process builds dragoman, installs the pinned packages of each
// agent into a cache (npm, --ignore-scripts) and starts itself again in new
// network, mount and process namespaces: loopback only, the user's home
// covered by an empty tmpfs, an empty environment, fake keys. The inner
// process starts the scripted model server ([testmodel]), spawns `dragoman
// serve` for each agent and drives it as any host would.
//
// A cell is pass, fail, or can't: what the agent has no way to do is a fact
// of the table below, never a pass. The exit code is 1 when a cell failed.
// Linux only, as root or where user namespaces are allowed.
package main
