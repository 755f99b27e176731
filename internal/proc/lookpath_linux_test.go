package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"a/tool": 0o755, "b/tool": 0o755, "a/plain": 0o644, "b/plain": 0o755, "a/only": 0o644,
	} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	os.Mkdir(filepath.Join(dir, "a/folder"), 0o755)
	both := "PATH=" + dir + "/a:" + dir + "/b"
	tests := map[string]struct {
		program string
		env     []string
		want    string
		err     error
	}{
		"the first wins":             {"tool", []string{both}, "a/tool", nil},
		"the last PATH counts":       {"tool", []string{both, "PATH=" + dir + "/b"}, "b/tool", nil},
		"what can't run is passed":   {"plain", []string{both}, "b/plain", nil},
		"only one that can't run":    {"only", []string{both}, "", fs.ErrPermission},
		"a folder":                   {"folder", []string{both}, "", fs.ErrPermission},
		"nowhere":                    {"nope", []string{both}, "", fs.ErrNotExist},
		"a path from the folder":     {"a/tool", []string{both}, "a/tool", nil},
		"a dotted path":              {"./b/../a/tool", nil, "a/tool", nil},
		"an absolute path":           {filepath.Join(dir, "b/tool"), nil, "b/tool", nil},
		"a relative element of PATH": {"tool", []string{"PATH=none:b"}, "b/tool", nil},
		"an empty element of PATH":   {"tool", []string{"PATH=:"}, "", fs.ErrNotExist},
		"no PATH":                    {"sh", nil, "", fs.ErrNotExist},
		"a path that isn't there":    {"a/nope", []string{both}, "", fs.ErrNotExist},
		"a folder as a path":         {"./a", []string{both}, "", fs.ErrPermission},
		"nothing":                    {"", []string{both}, "", fs.ErrNotExist},
	}
	for name, tt := range tests {
		got, err := LookPath(tt.program, dir, tt.env)
		if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("%s: %v, want %v", name, err, tt.err)
			continue
		}
		if tt.want != "" && got != filepath.Join(dir, tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
