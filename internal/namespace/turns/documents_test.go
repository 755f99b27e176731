package turns_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/confine"
	"dragoman/internal/namespace/turns"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestDocuments(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, root, err)
	put(t, filepath.Join(root, "d", "open.txt"), "one\r\ntwo\r\n")
	put(t, filepath.Join(root, "closed.txt"), "disk\n")
	put(t, filepath.Join(root, "bin"), "\x00")
	roots, err := confine.New(root)
	must(t, roots, err)
	defer roots.Close()
	set := buffer.New(buffer.Options{Files: confine.Files{Roots: roots}})
	info, _, err := set.Open(t.Context(), buffer.OpenParams{Path: filepath.Join(root, "d", "open.txt"), Client: "c1"})
	must(t, info, err)
	if _, err := set.Edit(buffer.EditParams{Buffer: info.Buffer, Edits: []buffer.Edit{{Text: "live "}}}); err != nil {
		t.Fatal(err)
	}
	d := turns.Documents{Buffers: set, Roots: roots}

	part := &core.Range{Start: core.Position{Line: 1}, End: core.Position{Line: 1, Character: 2}}
	for _, c := range []struct {
		in   core.AgentContext
		want string
		code op.Code
	}{
		{core.AgentContext{Buffer: string(info.Buffer)}, "live one\ntwo\n", ""},
		{core.AgentContext{Path: "d/open.txt"}, "live one\ntwo\n", ""},
		{core.AgentContext{Buffer: string(info.Buffer), Range: part}, "tw", ""},
		{core.AgentContext{Path: "closed.txt"}, "disk\n", ""},
		{core.AgentContext{Path: "bin"}, "", op.CodeUnsupported},
		{core.AgentContext{Path: "none"}, "", op.CodeNotFound},
		{core.AgentContext{Path: "/etc/passwd"}, "", op.CodeOutsideRoot},
		{core.AgentContext{Buffer: "b99"}, "", op.CodeNoBuffer},
		{core.AgentContext{Buffer: string(info.Buffer), Range: &core.Range{End: core.Position{Line: 9}}}, "", op.CodeBadIndex},
	} {
		a, err := d.Context(t.Context(), 0, c.in)
		var e *op.Error
		if errors.As(err, &e); (c.code != "") != (err != nil) || c.code != "" && (e == nil || e.Code != c.code) || a.Text != c.want {
			t.Errorf("%+v: %q, %v", c.in, a.Text, err)
		}
	}

	if got := d.Unsaved(filepath.Join(root, "other")); got != nil {
		t.Errorf("below another folder: %q", got)
	}
	paths := d.Unsaved(root)
	if len(paths) != 1 || paths[0] != info.Path {
		t.Fatalf("unsaved: %q", paths)
	}
	if err := d.Save(t.Context(), paths); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(info.Path); err != nil || string(b) != "live one\r\ntwo\r\n" || d.Unsaved(root) != nil {
		t.Errorf("saved: %q, %v", b, err)
	}
}
