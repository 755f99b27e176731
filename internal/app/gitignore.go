package app

import (
	"os"
	"path/filepath"
	"strings"
)

// globalIgnore gives the files of the user's own gitignore rules: the one that
// git's configuration names, else git's default.
func (e *Env) globalIgnore() []string {
	home, config := e.Getenv("HOME"), e.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	for _, path := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git", "config")} {
		if !filepath.IsAbs(path) {
			continue
		}
		if named, ok := excludesFile(path); ok {
			if rest, ok := strings.CutPrefix(named, "~/"); ok {
				named = filepath.Join(home, rest)
			}
			return []string{named}
		}
	}
	if config == "" {
		return nil
	}
	return []string{filepath.Join(config, "git", "ignore")}
}

// excludesFile reads core.excludesFile of one of git's configuration files.
func excludesFile(path string) (string, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] "))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			return strings.Trim(strings.TrimSpace(value), `"`), true
		}
	}
	return "", false
}
