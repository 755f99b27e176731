package buffer

import (
	"dragoman/internal/edit/diff"
	"dragoman/wire/core"
)

// WireError turns an error of the engine into the protocol's; others stay what
// they are.
func WireError(err error) error { return wireError(err) }

// Hunks turns the engine's hunks into the protocol's.
func Hunks(hs []diff.Hunk) []core.Hunk { return hunks(hs) }
