// Package reference holds the generated pages of the core protocol's
// operations and events. `go test ./internal/gen -update` writes them.
package reference

import "embed"

// Pages are the pages, one a name: buffer.edit.md.
//
//go:embed *.md
var Pages embed.FS
