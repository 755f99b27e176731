package app

import "path/filepath"

// The folder of ours in each of the user's base folders.
const ownFolder = "dragoman"

// stateDir is where state is kept: $XDG_STATE_HOME/dragoman, "" when there is
// no home.
func (e *Env) stateDir() string { return e.baseDir("XDG_STATE_HOME", ".local/state") }

// configDir is where the user's configuration is.
func (e *Env) configDir() string { return e.baseDir("XDG_CONFIG_HOME", ".config") }

// baseDir is our folder in the base folder that variable names, else in below
// in the user's home. A relative one doesn't count, by the XDG rules.
func (e *Env) baseDir(variable, below string) string {
	if dir := e.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, ownFolder)
	}
	for _, home := range []string{e.Getenv("HOME"), e.Getenv("USERPROFILE")} {
		if filepath.IsAbs(home) {
			return filepath.Join(home, filepath.FromSlash(below), ownFolder)
		}
	}
	return ""
}

// tempDir is the folder for temporary files.
func (e *Env) tempDir() string {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if dir := e.Getenv(name); filepath.IsAbs(dir) {
			return dir
		}
	}
	return "/tmp"
}
