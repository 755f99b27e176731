//go:build unix

package fs_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"dragoman/internal/namespace/spacetest"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestACopyOfAPipeLeavesNothing(t *testing.T) {
	x := newWorld(t, map[string]string{"a/f": "1"})
	if err := syscall.Mkfifo(x.Root+"/a/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := spacetest.Do(x.c, core.FsCopy, core.FsCopyParams{From: "a", To: "copy2"})
	spacetest.Want(t, err, op.CodeUnsupported, "")
	if left, _ := filepath.Glob(x.Root + "/.*tmp"); len(left) > 0 {
		t.Error("left behind:", left)
	}
}
