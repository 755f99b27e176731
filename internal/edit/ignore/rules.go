package ignore

import (
	"os"
	"path/filepath"
	"strings"
)

// FileName is the file in a folder that says what git ignores below it.
const FileName = ".gitignore"

// maxRules is the longest file of rules that is read, in bytes.
const maxRules = 1 << 20

// Rules are the patterns of a folder and of those above it.
type Rules struct {
	parent *Rules
	// base is the folder of the patterns, with a slash behind it unless it is
	// the root; above is the way from the patterns' folder to the root, with a
	// slash, for a folder above the root.
	base, above string
	patterns    []Pattern
}

// With adds the patterns of the folder base ("" for the root itself). Later
// rules come before earlier ones. nil rules ignore nothing.
func (r *Rules) With(base string, data []byte) *Rules {
	patterns := parseAll(data)
	if len(patterns) == 0 {
		return r
	}
	if base != "" {
		base += "/"
	}
	return &Rules{parent: r, base: base, patterns: patterns}
}

func parseAll(data []byte) (out []Pattern) {
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\uFEFF")) {
		if p, ok := Parse(strings.TrimSuffix(line, "\n")); ok {
			out = append(out, p)
		}
	}
	return out
}

// Ignored reports whether git ignores a path whose folder isn't ignored.
func (r *Rules) Ignored(path string, t Type) bool {
	for ; r != nil; r = r.parent {
		rel, ok := strings.CutPrefix(path, r.base)
		if !ok {
			continue
		}
		rel = r.above + rel
		for i := len(r.patterns) - 1; i >= 0; i-- {
			if p := &r.patterns[i]; p.Match(rel, t) {
				return !p.negate
			}
		}
	}
	return false
}

// Load reads the rules that hold for a folder as a whole: the user's own, those
// of its repository's .git/info/exclude, and the .gitignore files from the
// repository's top down to the folder itself.
func Load(root string, global []string) *Rules {
	var r *Rules
	for _, g := range global {
		r = r.With("", readRules(g))
	}
	top, in := repository(root)
	if !in {
		return r.With("", readRules(filepath.Join(root, FileName)))
	}
	r = r.from(above(top, root), readRules(filepath.Join(top, ".git", "info", "exclude")))
	for dir := top; ; {
		rest := above(dir, root)
		r = r.from(rest, readRules(filepath.Join(dir, FileName)))
		if rest == "" {
			return r
		}
		name, _, _ := strings.Cut(rest, "/")
		dir = filepath.Join(dir, name)
	}
}

func (r *Rules) from(above string, data []byte) *Rules {
	if patterns := parseAll(data); len(patterns) > 0 {
		return &Rules{parent: r, above: above, patterns: patterns}
	}
	return r
}

// above is the way from a folder down to root, with a slash behind it; "" if
// they are the same.
func above(dir, root string) string {
	rel, err := filepath.Rel(dir, root)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}

// repository finds the top of the repository that holds a folder.
func repository(dir string) (string, bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// readRules reads a file of rules; what can't be read has none.
func readRules(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRules {
		return nil
	}
	data, _ := os.ReadFile(path)
	return data
}

// A Globs is a list of globs in gitignore's syntax that names paths: a path is
// in it if the last glob that matches it or a folder above it isn't negated.
type Globs []Pattern

// ParseGlobs reads globs; blank ones are left out.
func ParseGlobs(globs []string) Globs {
	var out Globs
	for _, g := range globs {
		if p, ok := Parse(g); ok {
			out = append(out, p)
		}
	}
	return out
}

// Has reports whether the globs name a file.
func (g Globs) Has(path string) bool {
	for i := len(g) - 1; i >= 0; i-- {
		if g[i].covers(path) {
			return !g[i].negate
		}
	}
	return false
}

// covers reports whether a pattern names a file or a folder above it.
func (p *Pattern) covers(path string) bool {
	if p.Match(path, File) {
		return true
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if p.Match(path[:i], Dir) {
			return true
		}
	}
	return false
}

// Negated reports whether the pattern begins with an exclamation mark.
func (p *Pattern) Negated() bool { return p.negate }
