package app

import (
	"dragoman/internal/lane"
	"dragoman/internal/lane/acp"
	"dragoman/internal/lane/claude"
	"dragoman/internal/lane/cli"
	"dragoman/internal/lane/envelope"
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
		"envelope":    envelope.Driver{Version: Version},
		"pi":          pi.Driver{},
		"rpc":         rpc.Driver{},
		"serve":       served.Driver{},
		"stream-json": streamjson.Driver{},
	}
}
