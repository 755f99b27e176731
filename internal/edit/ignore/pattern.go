// Package ignore reads gitignore's syntax: which paths of a folder git ignores,
// and which ones a glob names (core.md §6 fs.glob, project.search).
//
// Paths are relative to the folder and written with slashes.
//
// # Concurrency
//
// Patterns and rules don't change once they are made; any goroutine may use
// them.
package ignore

import (
	"strings"
	"unicode/utf8"
)

// A Pattern is one line of gitignore's syntax.
type Pattern struct {
	negate, dirOnly bool
	// anchored: the whole path is matched, else its last name alone.
	anchored bool
	kind     kind
	text     string
	segments []string
}

// kind is how a pattern for names is matched.
type kind int

const (
	glob kind = iota
	literal
	suffix
	prefix
)

// Parse reads one line; false: it is blank or a comment.
func Parse(line string) (Pattern, bool) {
	line = trimEnd(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return Pattern{}, false
	}
	var p Pattern
	if line[0] == '!' {
		p.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirOnly, line = true, strings.TrimRight(line, "/")
	}
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return Pattern{}, false
	}
	p.text = line
	if p.anchored {
		p.segments = strings.Split(line, "/")
		return p, true
	}
	p.kind, p.text = kindOf(line)
	return p, true
}

// trimEnd drops spaces at the end that no backslash keeps.
func trimEnd(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

const special = `*?[\`

func kindOf(name string) (kind, string) {
	if !strings.ContainsAny(name, special) {
		return literal, name
	}
	if rest := name[1:]; name[0] == '*' && !strings.ContainsAny(rest, special) {
		return suffix, rest
	}
	if rest := name[:len(name)-1]; name[len(name)-1] == '*' && !strings.ContainsAny(rest, special) {
		return prefix, rest
	}
	return glob, name
}

// Match reports whether the pattern, negated or not, names a path.
func (p *Pattern) Match(path string, t Type) bool {
	if p.dirOnly && t != Dir {
		return false
	}
	if p.anchored {
		return matchSegments(p.segments, path)
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch p.kind {
	case literal:
		return name == p.text
	case suffix:
		return strings.HasSuffix(name, p.text)
	case prefix:
		return strings.HasPrefix(name, p.text)
	}
	return matchName(p.text, name)
}

// Type is what a path is.
type Type int

// The types that patterns tell apart.
const (
	File Type = iota
	Dir
)

// matchSegments matches a path with segments of a pattern: ** is any number of
// names, at the end one at least.
func matchSegments(segments []string, path string) bool {
	for i, s := range segments {
		if s == "**" {
			rest := segments[i+1:]
			if len(rest) == 0 {
				return path != ""
			}
			for {
				if matchSegments(rest, path) {
					return true
				}
				_, after, more := strings.Cut(path, "/")
				if !more {
					return false
				}
				path = after
			}
		}
		name, after, more := strings.Cut(path, "/")
		if name == "" || !matchName(s, name) || more == (i == len(segments)-1) {
			return false
		}
		path = after
	}
	return true
}

// matchName matches one name. A * that fails to match goes back to the last *
// alone, so that the time is the product of the lengths at most.
func matchName(pattern, name string) bool {
	backPattern, backName := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			for p < len(pattern) && pattern[p] == '*' {
				p++
			}
			backPattern, backName = p, n
			continue
		}
		if width, size := matchOne(pattern[p:], name[n:]); width > 0 {
			p, n = p+width, n+size
			continue
		}
		if backPattern < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[backName:])
		backName += size
		p, n = backPattern, backName
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one character; width 0: it doesn't match.
func matchOne(pattern, name string) (width, size int) {
	if pattern == "" {
		return 0, 0
	}
	r, size := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, size
	case '[':
		if width, in, ok := matchClass(pattern, r); ok {
			if in {
				return width, size
			}
			return 0, 0
		}
	case '\\':
		if len(pattern) > 1 && pattern[1] == name[0] {
			return 2, 1
		}
		return 0, 0
	}
	if pattern[0] == name[0] {
		return 1, 1
	}
	return 0, 0
}

// matchClass matches a class like [a-z] or [!0-9]; ok is false if it has no end.
func matchClass(pattern string, r rune) (width int, in, ok bool) {
	i := 1
	negate := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negate {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, in != negate, true
		}
		low, n := classRune(pattern[i:])
		i += n
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, n = classRune(pattern[i+1:])
			i += 1 + n
		}
		in = in || low <= r && r <= high
	}
	return 0, false, false
}

func classRune(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}
