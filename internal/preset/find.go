package preset

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A Status is what is known of a preset on this machine.
type Status struct {
	ID, Name string
	// Lane is the one that would be used.
	Lane string
	// Path of the program, "" when it isn't installed.
	Path string
	// Version, "" when it isn't known.
	Version string
	// Unchecked is true when Version lies outside what was tried.
	Unchecked bool
	// SignedIn is "yes", "no" or "unknown", by variables and files alone.
	SignedIn string
	// Advice says what to do next, "" when nothing is missing.
	Advice       string
	Capabilities map[string]bool
}

// Lookup is what a status needs from outside. Environ is NAME=VALUE. Ask
// runs a program and returns its output; nil leaves the version unknown.
type Lookup struct {
	Environ []string
	// ExtraPath is searched after PATH (the login shell's, npm's shims).
	ExtraPath string
	Ask       func(ctx context.Context, program string, args []string) (string, error)
}

func (l Lookup) env(name string) string {
	for i := len(l.Environ) - 1; i >= 0; i-- {
		if key, value, _ := strings.Cut(l.Environ[i], "="); key == name {
			return value
		}
	}
	return ""
}

func (l Lookup) path() string {
	if l.ExtraPath == "" {
		return l.env("PATH")
	}
	return l.env("PATH") + string(os.PathListSeparator) + l.ExtraPath
}

// Status looks at one preset; nil when the id isn't known.
func (s *Set) Status(ctx context.Context, id string, l Lookup) *Status {
	p := s.byID[id]
	if p == nil {
		return nil
	}
	st := &Status{ID: id, Name: p.Name, Lane: s.pick(p, l.path()), Capabilities: p.Capabilities}
	st.Path = s.find(p, st.Lane, l.path())
	st.SignedIn = p.signedIn(l)
	if st.Path == "" {
		st.Advice = p.installAdvice(s.program(p, st.Lane))
		return st
	}
	if l.Ask != nil && !p.Find.Self {
		st.Version = p.version(ctx, l, s.find(p, "", l.path()))
	}
	st.Unchecked = p.Outside(st.Version)
	switch {
	case st.SignedIn == "no" && p.Auth.Hint != "":
		st.Advice = p.Auth.Hint
	case st.Unchecked:
		st.Advice = fmt.Sprintf("version %s is outside %s, which was tried: watch for differences", st.Version, p.Checked)
	}
	return st
}

// find returns the path of what a lane runs, or with lane "" of the agent's
// own program.
func (s *Set) find(p *Preset, lane, path string) string {
	names := p.Find.Programs
	if lane != "" {
		names = []string{s.program(p, lane)}
		if slices.Contains(p.Find.Programs, names[0]) {
			names = p.Find.Programs
		}
	} else if p.Find.Self {
		names = []string{s.self}
	}
	for _, name := range names {
		if found := lookPath(name, path); found != "" {
			return found
		}
	}
	return ""
}

// lookPath finds an executable by name on a PATH value, npm's .cmd shims on
// Windows included. It differs from the child's own look-up in that a
// relative entry of PATH never counts.
func lookPath(name, path string) string {
	if filepath.IsAbs(name) {
		return executable(name)
	}
	if strings.ContainsAny(name, `/\`) {
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found := executable(filepath.Join(dir, name)); found != "" {
			return found
		}
	}
	return ""
}

func executable(path string) string {
	endings := []string{""}
	if runtime.GOOS == "windows" {
		endings = []string{"", ".exe", ".cmd", ".bat"}
	}
	for _, e := range endings {
		info, err := os.Stat(path + e)
		if err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return path + e
		}
	}
	return ""
}

func (p *Preset) version(ctx context.Context, l Lookup, program string) string {
	pattern, err := regexp.Compile(p.Find.VersionPattern)
	if program == "" || err != nil || p.Find.VersionPattern == "" {
		return ""
	}
	out, err := l.Ask(ctx, program, p.Find.VersionArgs)
	if err != nil {
		return ""
	}
	if m := pattern.FindStringSubmatch(out); len(m) > 1 {
		return m[1]
	}
	return ""
}

// signedIn looks for a variable that is set or a file that is there; it
// never reads one.
func (p *Preset) signedIn(l Lookup) string {
	if len(p.Auth.Env) == 0 && len(p.Auth.Files) == 0 {
		return "unknown"
	}
	for _, name := range p.Auth.Env {
		if l.env(name) != "" {
			return "yes"
		}
	}
	for _, file := range p.Auth.Files {
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(l.env("HOME"), filepath.FromSlash(rest))
		}
		if _, err := os.Stat(file); err == nil {
			return "yes"
		}
	}
	return "no"
}

func (p *Preset) installAdvice(program string) string {
	parts := []string{program + " is not on the PATH"}
	if npm := cmp.Or(p.Install.Npm, p.Find.Npm); npm != "" {
		parts[0] += ": npm install -g " + npm
	}
	if p.Install.Note != "" {
		parts = append(parts, p.Install.Note)
	}
	return strings.Join(parts, "; ")
}
