package pi

import (
	_ "embed"
	"os"
	"path/filepath"
)

//go:embed gate.ts
var gateSource []byte

// What the gate says of itself.
const (
	gateName   = "gate.ts"
	gateMark   = "dragoman"
	gateStatus = "dragoman-gate"
)

// A gateFile is the extension where pi can read it: in a fresh folder that
// only we can enter, because whoever could change it could let everything
// pass. The zero value is none.
type gateFile struct{ dir string }

// writeGate writes the extension.
func writeGate() (gateFile, error) {
	dir, err := os.MkdirTemp("", "dragoman-pi-") // 0700
	if err != nil {
		return gateFile{}, err
	}
	g := gateFile{dir}
	if err := os.WriteFile(g.path(), gateSource, 0o600); err != nil {
		g.remove()
		return gateFile{}, err
	}
	return g, nil
}

// path is "" for none.
func (g gateFile) path() string {
	if g.dir == "" {
		return ""
	}
	return filepath.Join(g.dir, gateName)
}

// remove may be called twice.
func (g gateFile) remove() error {
	if g.dir == "" {
		return nil
	}
	return os.RemoveAll(g.dir)
}
