package gen

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

var update = flag.Bool("update", false, "write the generated files")

const (
	pagesDir    = "../../docs/reference"
	levelsDir   = "../../schemas/core/levels"
	examplesDir = "../../testdata/core"
)

// fresh compares a file with what it should be, or writes it.
func fresh(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s isn't fresh: run go test ./internal/gen -update", filepath.Base(path))
	}
}

func prose(t *testing.T) Prose {
	t.Helper()
	p, err := ReadProse(os.DirFS("../../wire/core"), os.DirFS("../../wire/op"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPagesAreFresh(t *testing.T) {
	p := prose(t)
	pages := map[string]string{"README.md": Contents(Today())}
	for _, o := range core.Ops() {
		name := o.Describe().Op
		example, err := os.ReadFile(filepath.Join(examplesDir, name+".txt"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		pages[name+".md"] = p.OpPage(o, string(example))
	}
	for _, e := range core.Events() {
		pages[e.DescribeEvent().Event+".md"] = p.EventPage(e)
	}
	for name, text := range pages {
		fresh(t, filepath.Join(pagesDir, name), text)
	}
	entries, err := os.ReadDir(pagesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := pages[e.Name()]; !ok && strings.HasSuffix(e.Name(), ".md") {
			t.Errorf("%s belongs to nothing that is declared", e.Name())
		}
	}
}

func TestEveryMemberIsExplained(t *testing.T) {
	p := prose(t)
	check := func(where string, text string) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "| `") && strings.HasSuffix(strings.TrimSpace(line), "|  |") {
				t.Errorf("%s: no comment: %s", where, strings.TrimSpace(line))
			}
		}
	}
	for _, o := range core.Ops() {
		check(o.Describe().Op, p.OpPage(o, ""))
	}
	for _, e := range core.Events() {
		check(e.DescribeEvent().Event, p.EventPage(e))
	}
}

// TestTodayKeepsEveryLevel is the promise of core.md §3: released levels
// stay as they are. A level is frozen by its first -update; while a level is
// being made, delete its file and write it again.
func TestTodayKeepsEveryLevel(t *testing.T) {
	today := Today()
	path := filepath.Join(levelsDir, "1.json")
	if _, err := os.Stat(path); *update && os.IsNotExist(err) {
		raw, err := today.Encode()
		if err != nil {
			t.Fatal(err)
		}
		fresh(t, path, string(raw))
	}
	files, err := filepath.Glob(filepath.Join(levelsDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no level is frozen: %v", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var frozen Level
		if err := json.Unmarshal(raw, &frozen); err != nil {
			t.Fatal(err)
		}
		for _, b := range Breaks(frozen, today) {
			t.Errorf("level %d: %s", frozen.Level, b)
		}
	}
}

func TestBreaks(t *testing.T) {
	type p1 struct {
		A string `json:"a"`
		B *int   `json:"b,omitzero"`
	}
	type p2 struct {
		A string `json:"a"`
		B *int   `json:"b,omitzero"`
		C string `json:"c,omitzero"`
	}
	type p3 struct {
		A string `json:"a"`
		B *int   `json:"b,omitzero"`
		C string `json:"c"`
	}
	type p4 struct {
		A int `json:"a"`
	}
	level := func(params, result any) Level {
		return Level{Ops: []op.Desc{{Op: "x.y", Params: op.SchemaOf(params, op.Closed), Result: op.SchemaOf(result, op.Open)}}}
	}
	for _, tt := range []struct {
		name     string
		old, now Level
		want     []string
	}{
		{"nothing", level(p1{}, p1{}), level(p1{}, p1{}), nil},
		{"a new optional key", level(p1{}, p1{}), level(p2{}, p2{}), nil},
		{"a new required key", level(p1{}, p1{}), level(p3{}, p3{}), []string{"x.y params.c is required now"}},
		{"a result's key may be absent", level(p1{}, p3{}), level(p1{}, p2{}), []string{"x.y result.c may be absent now"}},
		{"another type and a lost key", level(p1{}, p1{}), level(p4{}, p1{}), []string{"x.y params.a has another type", "x.y params.b is gone"}},
		{"an operation is gone", level(p1{}, p1{}), Level{}, []string{"x.y is gone"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Breaks(tt.old, tt.now)
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
