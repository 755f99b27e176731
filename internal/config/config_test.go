package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A world is a user's folder, a project and variables.
type world struct {
	t             *testing.T
	user, project string
	vars          map[string]string
	trust         *Trust
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	return &world{t, filepath.Join(dir, "user"), filepath.Join(dir, "project"), map[string]string{}, OpenTrust(filepath.Join(dir, "state"))}
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) load() (*Config, error) {
	return Load(Places{w.user, w.project, func(n string) (string, bool) { v, ok := w.vars[n]; return v, ok }, w.trust})
}

func (w *world) mustLoad() *Config {
	w.t.Helper()
	c, err := w.load()
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// source is where a key's value came from.
func source(c *Config, k Key) Source { return c.values[k].Source }

func TestPrecedence(t *testing.T) {
	w := newWorld(t)
	if c := w.mustLoad(); c.Int(ConnectMs) != 30_000 || source(c, ConnectMs) != Default || len(c.Values()) != len(settings) {
		t.Errorf("nothing given: %+v", c.Values())
	}
	steps := []struct {
		add  func()
		want int64
		from Source
	}{
		{func() { w.write(filepath.Join(w.user, "config.toml"), "[timeouts]\nconnectMs = 1\n") }, 1, User},
		{func() { w.write(ProjectPath(w.project), "[timeouts]\nconnectMs = 2\n") }, 2, Project},
		{func() { w.vars["DRAGOMAN_TIMEOUTS_CONNECTMS"] = "3" }, 3, Environment},
	}
	for _, s := range steps {
		s.add()
		if c := w.mustLoad(); c.Int(ConnectMs) != s.want || source(c, ConnectMs) != s.from {
			t.Errorf("%d from %s, want %d from %s", c.Int(ConnectMs), source(c, ConnectMs), s.want, s.from)
		}
	}
}

const project = `
[limits]
undoBytes = 1
[core]
roots = ["/elsewhere"]
[env]
inherit = ["SECRET"]
[agents.mine]
lane = "acp"
[permission]
unattended = "cancel"
deadlineMs = 5
[[permission.rule]]
action = "allow"
argv = ["make"]
[[permission.rule]]
action = "deny"
argv = ["rm"]
`

func TestTrust(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.user, "config.toml"), "[[permission.rule]]\naction = 'allow'\n")
	w.write(ProjectPath(w.project), project)
	check := func(when string, trusted bool) {
		t.Helper()
		c := w.mustLoad()
		rules, roots := 2, 0
		if trusted {
			rules, roots = 3, 1
		}
		if c.Trusted != trusted || len(c.Rules) != rules || len(c.List(Roots)) != roots || len(c.List(Inherit)) != roots || len(c.Agents()) != roots {
			t.Errorf("%s: %+v", when, c)
		}
		if c.Int(UndoBytes) != 1 {
			t.Errorf("%s: a limit needs no trust", when)
		}
		if !trusted && (!c.Rules[1].Denies() || len(c.Ignored) != 6) {
			t.Errorf("%s: denies count, the rest is named: %+v", when, c)
		}
	}
	check("before", false)
	if _, hash, err := w.trust.Add(w.project); err != nil || !strings.HasPrefix(hash, "sha256:") {
		t.Fatal(hash, err)
	}
	check("trusted", true)
	w.write(ProjectPath(w.project), project+"\n")
	check("changed", false)
	if info, err := os.Stat(w.trust.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestBroken(t *testing.T) {
	for name, tt := range map[string]struct{ text, key string }{
		"unknown section":  {"[limit]\nlineBytes = 1", "limit"},
		"unknown key":      {"[limits]\nlinebytes = 5000", "limits.linebytes"},
		"not a number":     {"[limits]\nlineBytes = 'a'", "limits.lineBytes"},
		"too small":        {"[limits]\nlineBytes = 1", "limits.lineBytes"},
		"not a table":      {"limits = 1", "limits"},
		"not TOML":         {"[", ""},
		"not a word":       {"[permission]\nunattended = 'yes'", "permission.unattended"},
		"not a list":       {"[core]\nroots = 'a'", "core.roots"},
		"list of numbers":  {"[env]\ninherit = [1]", "env.inherit"},
		"rule key":         {"[[permission.rule]]\naction = 'deny'\npath = 'x'", "permission.rule[0].path"},
		"rule action":      {"[[permission.rule]]\naction = 'always'", "permission.rule[0].action"},
		"rules no list":    {"[permission]\nrule = 1", "permission.rule"},
		"agent no table":   {"[agents]\nmine = 1", "agents.mine"},
		"rule isn't table": {"[permission]\nrule = [1]", "permission.rule[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write(ProjectPath(w.project), tt.text)
			var e *FileError
			if _, err := w.load(); !errors.As(err, &e) || e.Key != tt.key || e.Where != ProjectPath(w.project) {
				t.Errorf("%v", err)
			}
		})
	}
	w := newWorld(t)
	w.vars["DRAGOMAN_LIMITS_INFLIGHT"] = "many"
	var e *FileError
	if _, err := w.load(); !errors.As(err, &e) || e.Where != "DRAGOMAN_LIMITS_INFLIGHT" {
		t.Errorf("%v", err)
	}
}

func TestAgentsAndLists(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.user, "config.toml"), "[agents.a]\nlane='acp'\nname='A'\n[agents.b]\nlane='x'\n")
	w.write(ProjectPath(w.project), "[agents.a]\nlane='exec'\n")
	if _, _, err := w.trust.Add(w.project); err != nil {
		t.Fatal(err)
	}
	w.vars["DRAGOMAN_ENV_INHERIT"] = "A,B"
	c := w.mustLoad()
	if want := map[string]any{"lane": "exec", "name": "A"}; !reflect.DeepEqual(c.Agents()[0].Table, want) || len(c.Agents()) != 2 {
		t.Errorf("%v", c.Agents())
	}
	if got := c.List(Inherit); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("%q", got)
	}
	if c.Text(Unattended) != "wait" || c.Duration(OpenMs).Seconds() != 120 {
		t.Error("defaults")
	}
}

// FuzzFile: no text panics, and an untrusted file adds nothing but limits,
// times and denials.
func FuzzFile(f *testing.F) {
	f.Add(project)
	f.Add("[agents]\n[permission]\n")
	f.Add("[[limits]]")
	f.Fuzz(func(t *testing.T, text string) {
		w := newWorld(t)
		w.write(ProjectPath(w.project), text)
		c, err := w.load()
		if err != nil {
			return
		}
		if len(c.Agents()) != 0 || len(c.List(Roots)) != 0 || len(c.List(Inherit)) != 0 || c.Text(Unattended) != "wait" {
			t.Errorf("an untrusted file set %v %v", c.Agents(), c.Values())
		}
		for _, r := range c.Rules {
			if !r.Denies() {
				t.Errorf("an untrusted file allows by %v", r)
			}
		}
	})
}
