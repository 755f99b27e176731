package app

import (
	"log/slog"
	"os"
	"path/filepath"

	"dragoman/internal/config"
	"dragoman/internal/env"
	"dragoman/internal/preset"
	"dragoman/internal/session"
)

// loadPresets reads the known agents, the user's own, and those that a
// configuration has.
func (e *Env) loadPresets(c *config.Config) (*preset.Set, error) {
	dir := e.configDir()
	if dir != "" {
		dir = filepath.Join(dir, "agents")
	}
	var tables []preset.Table
	for _, a := range c.Agents() {
		tables = append(tables, preset.Table{ID: a.ID, Where: a.Where, Keys: a.Table})
	}
	return preset.Load(dir, e.executable(), tables...)
}

// executable is the path of this binary, by which it starts itself.
func (e *Env) executable() string {
	if self, err := os.Executable(); err == nil {
		return self
	}
	return e.Self
}

// presetsOnPath fills specs for programs on one PATH (session.Presets).
type presetsOnPath struct {
	set  *preset.Set
	path string
}

// Fill implements session.Presets.
func (p presetsOnPath) Fill(spec []byte) ([]byte, bool, error) { return p.set.Fill(spec, p.path) }

// openerOptions are what verbs set differently.
type openerOptions struct {
	trust env.Trust
	log   *slog.Logger
	// config gives the times; nil means the defaults.
	config *config.Config
}

// newOpener builds the opener that every verb with sessions shares.
func newOpener(e *Env, set *preset.Set, sup *supervisor, o openerOptions) *session.Opener {
	opener := &session.Opener{
		Drivers: lanes(), Presets: presetsOnPath{set, e.Getenv("PATH")}, HostEnv: e.Environ, Trust: o.trust,
		TempDir: e.tempDir(), Starter: sup, Log: o.log,
	}
	if c := o.config; c != nil {
		opener.ConnectTimeout, opener.OpenTimeout = c.Duration(config.ConnectMs), c.Duration(config.OpenMs)
		opener.StallAfter = c.Duration(config.StalledMs)
	}
	return opener
}
