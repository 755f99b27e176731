package ignore

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		t             Type
		want          bool
	}{
		{"a", "a", File, true}, {"a", "x/a", File, true}, {"a", "ab", File, false},
		{"a/", "a", File, false}, {"a/", "x/a", Dir, true},
		{"/a", "a", File, true}, {"/a", "x/a", File, false},
		{"a/b", "a/b", File, true}, {"a/b", "x/a/b", File, false},
		{"*.go", "x/y.go", File, true}, {"*.go", "x/y.goo", File, false},
		{"y*", "x/yes", File, true}, {"a*b*c", "aXbYc", File, true}, {"a*b*c", "aXbY", File, false},
		{"**/b", "b", File, true}, {"**/b", "a/x/b", File, true}, {"a/**", "a", Dir, false}, {"a/**", "a/b/c", File, true},
		{"a/**/b", "a/b", File, true}, {"a/**/b", "a/x/y/b", File, true}, {"a/**/b", "a/x/y", File, false},
		{"a/*", "a/b", File, true}, {"a/*", "a/b/c", File, false},
		{"?b", "äb", File, true}, {"[a-c]x", "bx", File, true}, {"[!a-c]x", "bx", File, false}, {"[]x]", "]", File, true},
		{"[ab", "[ab", File, true}, {`\*`, "*", File, true}, {`\*`, "x", File, false}, {`\!a`, "!a", File, true},
		{`a\ `, "a ", File, true}, {"a  ", "a", File, true}, {"a//b", "a/b", File, false},
	} {
		p, ok := Parse(c.pattern)
		if !ok {
			t.Fatalf("%q is no pattern", c.pattern)
		}
		if got := p.Match(c.path, c.t); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.path, got)
		}
	}
	for _, blank := range []string{"", "# x", "   ", "/", "!"} {
		if _, ok := Parse(blank); ok {
			t.Errorf("%q is a pattern", blank)
		}
	}
}

func TestGlobs(t *testing.T) {
	g := ParseGlobs([]string{"*.go", "docs/", "!*_test.go", ""})
	for path, want := range map[string]bool{
		"a.go": true, "x/a.go": true, "a_test.go": false, "docs/x/y.md": true, "docs": false, "b.md": false,
	} {
		if g.Has(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// Git itself is the oracle.
func TestRulesAgreeWithGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("git is needed")
	}
	dir := t.TempDir()
	run := func(in string, args ...string) string {
		c := exec.Command(git, append([]string{"-C", dir, "-c", "core.excludesFile=" + dir + "/global"}, args...)...)
		c.Stdin = strings.NewReader(in)
		var out bytes.Buffer
		c.Stdout = &out
		if err := c.Run(); err != nil && out.Len() == 0 && args[0] != "check-ignore" {
			t.Fatal(args, err)
		}
		return out.String()
	}
	run("", "init", "-q")
	files := map[string]string{
		"global":            "*.bak\n",
		".git/info/exclude": "private\n",
		".gitignore":        "*.log\n!keep.log\n/build/\nsub/deep/*.tmp\n**/cache\nd[0-9]\nw*w\n# no\n\\#yes\n",
		"sub/.gitignore":    "!*.log\nonly\n/rooted\nx/**/y\n",
	}
	for name, s := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{
		"a.log", "keep.log", "sub/a.log", "build", "sub/build", "sub/deep/a.tmp", "deep/a.tmp", "x.bak", "sub/x.bak",
		"private", "sub/private", "cache", "sub/q/cache", "only", "sub/only", "sub/q/only", "sub/rooted", "sub/q/rooted",
		"sub/x/y", "sub/x/a/b/y", "x/y", "d5", "d55", "wow", "#yes", "# no", "plain",
	}
	ignored := map[string]bool{}
	for line := range strings.Lines(run(strings.Join(paths, "\n"), "check-ignore", "--no-index", "--stdin")) {
		ignored[strings.Trim(strings.TrimSpace(line), `"`)] = true
	}
	rules := Load(dir, []string{dir + "/global"})
	sub := rules.With("sub", []byte(files["sub/.gitignore"]))
	below := Load(dir+"/sub", []string{dir + "/global"})
	for _, p := range paths {
		r := rules
		if strings.HasPrefix(p, "sub/") {
			r = sub
			if got := below.Ignored(strings.TrimPrefix(p, "sub/"), File); got != ignored[p] {
				t.Errorf("from sub, %s: %v, git says %v", p, got, ignored[p])
			}
		}
		if got := r.Ignored(p, File); got != ignored[p] {
			t.Errorf("%s: %v, git says %v", p, got, ignored[p])
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a/**/b", "a/x/b")
	f.Add("[a-", "[a-")
	f.Add(`*\`, "x\\")
	f.Add("**", "")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, ok := Parse(pattern)
		if ok && !strings.ContainsAny(path, "/") && !strings.ContainsAny(pattern, special+"/! #\r") {
			if p.Match(path, File) != (path == strings.TrimRight(pattern, " ")) {
				t.Errorf("literal %q, path %q", pattern, path)
			}
		}
		if ok {
			p.Match(path, Dir)
		}
	})
}
