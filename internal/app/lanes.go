package app

import (
	"context"

	"dragoman/internal/lane"
	"dragoman/internal/lane/acp"
	"dragoman/internal/lane/claude"
	"dragoman/internal/lane/cli"
	"dragoman/internal/lane/codex"
	"dragoman/internal/lane/envelope"
	"dragoman/internal/lane/opencode"
	"dragoman/internal/lane/pi"
	"dragoman/internal/lane/rpc"
	served "dragoman/internal/lane/serve"
	"dragoman/internal/lane/streamjson"
)

// lanes are the dialects by the name that a spec gives them.
func lanes() map[string]lane.Driver {
	return map[string]lane.Driver{
		"acp":         acp.Driver{Version: Version},
		"claude":      claude.Driver{},
		"cli":         cli.Driver{},
		"codex":       codex.New(Version),
		"envelope":    envelope.Driver{Version: Version},
		"opencode":    opencode.Driver{},
		"pi":          pi.Driver{},
		"rpc":         rpc.Driver{},
		"serve":       served.Driver{Legacy: olderServer},
		"stream-json": streamjson.Driver{},
	}
}

// olderServer opens a session of the lane serve with a server that turns out
// to have OpenCode's older surface.
func olderServer(ctx context.Context, s served.LegacyServer) (lane.Conn, error) {
	return opencode.Attach(ctx, s.Spec, s.Launch, s.Process, s.URL)
}
