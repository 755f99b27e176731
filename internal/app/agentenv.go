package app

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/internal/lane"
	"dragoman/internal/preset"
)

// loginShellLimit bounds the one question to the login shell (lanes.md §12).
const loginShellLimit = 2 * time.Second

// spec is what `run` opens for a preset's id, and the variables on top: those
// by which the agent signs in, and the login shell's PATH where only it has
// the program.
func (r *runner) spec(ctx context.Context, set *preset.Set, sup *supervisor, id string) (spec []byte, extra []string) {
	p := set.Get(id)
	for _, name := range p.Auth.Env {
		if value := r.e.Getenv(name); value != "" {
			extra = append(extra, name+"="+value)
		}
	}
	given := map[string]any{"id": id}
	lookup := preset.Lookup{Environ: r.e.Environ}
	if set.Status(ctx, id, lookup).Path == "" {
		path := morePath(ctx, r.e, sup)
		if st := set.Status(ctx, id, preset.Lookup{Environ: r.e.Environ, ExtraPath: path}); path != "" && st.Path != "" {
			extra = append(extra, "PATH="+path)
			if filled, err := set.FillLane(id, st.Lane, given); err == nil {
				return filled, extra
			}
		}
	}
	b, err := json.Marshal(given)
	if err != nil {
		panic(err) // a string always marshals
	}
	return b, extra
}

// morePath is where programs are looked for that aren't on our own PATH: the
// login shell's PATH and the folders of npm's shims.
func morePath(ctx context.Context, e *Env, sup *supervisor) string {
	var parts []string
	if path := loginPath(ctx, e, sup); path != "" {
		parts = append(parts, path)
	}
	return strings.Join(append(parts, e.npmFolders()...), string(filepath.ListSeparator))
}

// npmFolders are where `npm install -g` puts a program's shim, by npm's own
// settings and by the custom of those who install without root.
func (e *Env) npmFolders() []string {
	var folders []string
	for _, name := range []string{"NPM_CONFIG_PREFIX", "npm_config_prefix"} {
		if prefix := e.Getenv(name); filepath.IsAbs(prefix) {
			folders = append(folders, filepath.Join(prefix, "bin"))
		}
	}
	if home := e.Getenv("HOME"); filepath.IsAbs(home) {
		folders = append(folders, filepath.Join(home, ".npm-global", "bin"))
	}
	if roaming := e.Getenv("APPDATA"); filepath.IsAbs(roaming) {
		folders = append(folders, filepath.Join(roaming, "npm"))
	}
	return folders
}

// loginPath asks the user's login shell for its PATH, "" when it doesn't
// answer in time.
func loginPath(ctx context.Context, e *Env, sup *supervisor) string {
	shell := e.Getenv("SHELL")
	if !filepath.IsAbs(shell) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, loginShellLimit)
	defer cancel()
	out, err := output(ctx, sup, lane.Command{
		Program: shell, Args: []string{"-lc", `printf '\n%s' "$PATH"`}, Dir: e.tempDir(), Env: e.Environ, Stdin: lane.StdinNull,
	})
	if err != nil {
		return ""
	}
	// A profile may print before it.
	return out[strings.LastIndexByte(out, '\n')+1:]
}
