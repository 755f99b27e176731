package preset

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed data/*.toml
var embedded embed.FS

// maxFileBytes bounds a preset file.
const maxFileBytes = 1 << 20

// A Table is a preset that stands in a configuration file ([agents.ID]).
type Table struct {
	// ID is the agent's, Where the file.
	ID, Where string
	// Keys are merged over what is known of the agent; they aren't changed.
	Keys map[string]any
}

// Load reads the embedded presets, merges those of a user's folder over them
// by key, and over both the tables. userDir may be "" or missing. self is the
// path of our own executable. A broken user file or table is an error that
// names it.
func Load(userDir, self string, tables ...Table) (*Set, error) {
	trees := map[string]map[string]any{}
	files := map[string]string{}
	if err := readDir(embedded, "data", trees, files); err != nil {
		return nil, err
	}
	if userDir != "" {
		err := readDir(os.DirFS(userDir), ".", trees, files)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("presets in %s: %w", userDir, err)
		}
	}
	for _, t := range tables {
		if said, ok := t.Keys["id"]; ok && said != t.ID {
			return nil, fmt.Errorf("%s: the id of agents.%s is %v", t.Where, t.ID, said)
		}
		if trees[t.ID] == nil {
			trees[t.ID] = map[string]any{"id": t.ID}
		}
		merge(trees[t.ID], t.Keys)
		files[t.ID] = t.Where
	}
	s := &Set{byID: map[string]*Preset{}, self: self}
	for id, tree := range trees {
		p, err := decode(files[id], tree)
		if err != nil {
			return nil, err
		}
		s.byID[id] = p
	}
	return s, nil
}

// readDir merges every *.toml of a folder into trees by id, which is the
// file's name.
func readDir(fsys fs.FS, dir string, trees map[string]map[string]any, files map[string]string) error {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".toml")
		if !ok || e.IsDir() {
			continue
		}
		b, err := readBounded(fsys, filepath.ToSlash(filepath.Join(dir, e.Name())))
		if err != nil {
			return err
		}
		var tree map[string]any
		if err := toml.Unmarshal(b, &tree); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		if said, ok := tree["id"]; ok && said != id {
			return fmt.Errorf("%s: its id is %v, not the file's name", e.Name(), said)
		}
		if trees[id] == nil {
			trees[id] = map[string]any{"id": id}
		}
		merge(trees[id], tree)
		files[id] = e.Name()
	}
	return nil
}

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes, %d at most", name, info.Size(), maxFileBytes)
	}
	return fs.ReadFile(fsys, name)
}

// merge lays over upon base, table by table; any other value replaces.
func merge(base, over map[string]any) {
	for key, value := range over {
		table, ok := value.(map[string]any)
		have, both := base[key].(map[string]any)
		if ok && both {
			merge(have, table)
			continue
		}
		base[key] = value
	}
}

func unmarshalStrict(b []byte, to any) error {
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(to)
}
