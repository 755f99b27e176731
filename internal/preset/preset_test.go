package preset

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"dragoman/wire/agent"
)

const self = "/opt/dragoman"

func load(t *testing.T, userDir string) *Set {
	t.Helper()
	s, err := Load(userDir, self)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// program puts an executable of a name into dir.
func program(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestEveryAgentOfTheIssueHasAPreset(t *testing.T) {
	s := load(t, "")
	for _, id := range strings.Fields("claude codex gemini opencode pi qwen copilot cursor droid goose cline kilo kimi devin grok auggie fixture") {
		if s.Get(id) == nil {
			t.Errorf("no preset %q", id)
		}
	}
}

func TestEveryLaneOfEveryPresetFillsToASpecThatParses(t *testing.T) {
	s := load(t, "")
	for _, id := range s.IDs() {
		for _, lane := range s.Get(id).Lanes {
			raw, err := s.FillLane(id, lane, map[string]any{})
			if err != nil {
				t.Errorf("%s %s: %v", id, lane, err)
				continue
			}
			spec, err := agent.ParseSpec(raw)
			if err != nil {
				t.Errorf("%s %s: %v in %s", id, lane, err, raw)
				continue
			}
			if spec.ID != id || spec.Lane != lane || spec.Command.Program == "" {
				t.Errorf("%s %s: filled to %s", id, lane, raw)
			}
			if strings.Contains(string(raw), "auth_key") {
				t.Errorf("%s %s: an embedded preset has an auth_key", id, lane)
			}
		}
	}
}

func TestFill(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "codex-acp")
	s := load(t, "")
	tests := []struct{ name, spec, path, want string }{
		{"the first lane where no program is there", `{"id":"codex"}`, "",
			`{"approvalPolicy":"untrusted","command":{"program":"codex"},"id":"codex","lane":"codex","mode":"app-server","sandbox":"workspace-write"}`},
		{"the lane whose program is there", `{"id":"codex"}`, dir,
			`{"command":{"program":"codex-acp"},"id":"codex","lane":"acp","prefer_load":false}`},
		{"given members win", `{"id":"codex","sandbox":"read-only","command":{"program":"/x/codex","args":["-v"],"cwd":null}}`, "",
			`{"approvalPolicy":"untrusted","command":{"args":["-v"],"program":"/x/codex"},"id":"codex","lane":"codex","mode":"app-server","sandbox":"read-only"}`},
		{"the fixture is our own executable", `{"id":"fixture"}`, "",
			`{"command":{"args":["fixture-agent"],"program":"/opt/dragoman"},"id":"fixture","lane":"acp"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, err := s.Fill([]byte(tt.spec), tt.path)
			if err != nil || !ok {
				t.Fatalf("ok %v, %v", ok, err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, ok, err := s.Fill([]byte(`{"id":"nobody"}`), ""); ok || err != nil {
		t.Errorf("an unknown id: ok %v, %v", ok, err)
	}
}

func TestAUsersFileIsMergedByKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("gemini.toml", "[lane.acp]\ncommand = { args = [\"--acp\", \"--debug\"] }\n")
	write("mine.toml", "name = \"Mine\"\nlanes = [\"cli\"]\n[find]\nprograms = [\"mine\"]\n[lane.cli]\nargs = [\"{prompt}\"]\n")
	s := load(t, dir)
	g := s.Get("gemini")
	if command := g.Lane["acp"]["command"].(map[string]any); !slices.Equal(command["args"].([]any), []any{"--acp", "--debug"}) || g.Lane["acp"]["prefer_load"] != true {
		t.Errorf("gemini: %v", g.Lane["acp"])
	}
	if m := s.Get("mine"); m == nil || m.Name != "Mine" {
		t.Errorf("mine: %+v", m)
	}
}

func TestABrokenUserFileIsNamed(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"not TOML", "id = ", "bad.toml"},
		{"a misspelt key", "lanes = [\"cli\"]\nchekced = \"1\"\n[find]\nprograms=[\"x\"]\n[lane.cli]\n", "bad.toml"},
		{"another id", "id = \"other\"\n", "other"},
		{"no lanes", "[find]\nprograms=[\"x\"]\n", "lanes"},
		{"no section for a lane", "lanes=[\"cli\"]\n[find]\nprograms=[\"x\"]\n", "[lane.cli]"},
		{"no programs", "lanes=[\"cli\"]\n[lane.cli]\n", "programs"},
		{"a broken range", "lanes=[\"cli\"]\nchecked=\"about 3\"\n[find]\nprograms=[\"x\"]\n[lane.cli]\n", "about"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "bad.toml"), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(dir, self); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to name %q", err, tt.want)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	bin, home := t.TempDir(), t.TempDir()
	program(t, bin, "qwen")
	s := load(t, "")
	asked := 0
	l := Lookup{Environ: []string{"PATH=" + bin, "HOME=" + home}, Ask: func(_ context.Context, path string, args []string) (string, error) {
		asked++
		if path != filepath.Join(bin, "qwen") || !slices.Equal(args, []string{"--version"}) {
			t.Errorf("asked %s %v", path, args)
		}
		return "qwen version 0.99.1 (abc)\n", nil
	}}
	got := s.Status(t.Context(), "qwen", l)
	if got.Path == "" || got.Version != "0.99.1" || !got.Unchecked || got.SignedIn != "no" || got.Lane != "acp" || asked != 1 {
		t.Errorf("got %+v after %d questions", got, asked)
	}
	l.Environ = append(l.Environ, "OPENAI_API_KEY=secret-value")
	if got := s.Status(t.Context(), "qwen", l); got.SignedIn != "yes" || !strings.Contains(got.Advice, "0.99.1") || strings.Contains(got.Advice, "secret") {
		t.Errorf("signed in: %+v", got)
	}
	if got := s.Status(t.Context(), "gemini", l); got.Path != "" || !strings.Contains(got.Advice, "npm install -g @google/gemini-cli") {
		t.Errorf("not installed: %+v", got)
	}
	if s.Status(t.Context(), "nobody", l) != nil {
		t.Error("an unknown id has a status")
	}
}

func TestRange(t *testing.T) {
	tests := []struct {
		r, version string
		want       bool
	}{
		{">=1.2.0 <2.0.0", "1.2.0", true}, {">=1.2.0 <2.0.0", "2.0.0", false}, {">=1.2.0 <2.0.0", "1.1.9", false},
		{"", "0.0.1", true}, {"=1.0", "1.0.0", true}, {">=1.0.0", "rubbish", false}, {"<=3 >1", "3.0.0", true},
	}
	for _, tt := range tests {
		r, err := parseRange(tt.r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.holds(tt.version); got != tt.want {
			t.Errorf("%q holds %q: %v, want %v", tt.r, tt.version, got, tt.want)
		}
	}
}

func TestOutside(t *testing.T) {
	p := &Preset{Checked: ">=1.0.0 <2.0.0"}
	for version, want := range map[string]bool{"1.5.0": false, "2.0.0": true, "0.9": true, "": false, "dev": false, "tool 3.1.0": true} {
		if got := p.Outside(version); got != want {
			t.Errorf("%q outside: %v, want %v", version, got, want)
		}
	}
	if (&Preset{}).Outside("9.9.9") {
		t.Error("an agent that nobody ran has no outside")
	}
}

func TestRelativePathEntriesNeverCount(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "pi")
	t.Chdir(dir)
	if got := lookPath("pi", "."); got != "" {
		t.Errorf("found %s in the working folder", got)
	}
}

func FuzzFill(f *testing.F) {
	f.Add([]byte(`{"id":"claude","command":{"args":[1]}}`))
	f.Add([]byte(`{"id":"fixture","command":null,"lane":null}`))
	s, err := Load("", self)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, spec []byte) {
		filled, ok, err := s.Fill(spec, "")
		if ok && err == nil {
			var v any
			if err := json.Unmarshal(filled, &v); err != nil {
				t.Errorf("%q filled to %q: %v", spec, filled, err)
			}
		}
	})
}

func TestATableIsMergedOverAll(t *testing.T) {
	keys := map[string]any{"name": "Mine"}
	s, err := Load("", "/self", Table{ID: "fixture", Where: "config.toml", Keys: keys})
	if err != nil || s.Get("fixture").Name != "Mine" || len(keys) != 1 {
		t.Errorf("%+v %v", s, err)
	}
	for _, bad := range []map[string]any{{"id": "other"}, {"nme": "x"}} {
		if _, err := Load("", "/self", Table{ID: "fixture", Where: "config.toml", Keys: bad}); err == nil || !strings.Contains(err.Error(), "config.toml") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
