package fs_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"dragoman/client"
	"dragoman/internal/namespace/spacetest"
	"dragoman/wire/core"
)

// awaitText waits until a buffer has a text.
func (x *world) awaitText(b, want string) {
	x.T.Helper()
	x.c.Await(func(e client.Event) bool {
		if !strings.HasPrefix(e.Name, "buffer.") {
			return false
		}
		got := spacetest.MustCall(x.c, core.BufferText, core.BufferTextParams{Buffer: b})
		return got.Text == want
	})
}

func TestBuffersFollowTheDisk(t *testing.T) {
	x := newWorld(t, map[string]string{"f": "1\n2\n3\n4\n5\n"})
	b := spacetest.MustCall(x.c, core.BufferOpen, core.BufferOpenParams{PathIn: in("f")})
	put(t, x.Root+"/f.tmp", "1\n2\n3\n4\nfive\n")
	if err := os.Rename(x.Root+"/f.tmp", x.Root+"/f"); err != nil {
		t.Fatal(err)
	}
	x.awaitText(b.Buffer, "1\n2\n3\n4\nfive\n")
	spacetest.MustCall(x.c, core.BufferEdit, core.BufferEditParams{Buffer: b.Buffer, Edits: []core.Edit{{Text: "zero\n"}}})
	put(t, x.Root+"/f", "1\n2\n3\n4\n5\n6\n")
	x.awaitText(b.Buffer, "zero\n1\n2\n3\n4\n5\n6\n")
	if err := os.Rename(x.Root+"/f", x.Root+"/g"); err != nil {
		t.Fatal(err)
	}
	x.c.Await(func(client.Event) bool {
		i := spacetest.MustCall(x.c, core.BufferGet, core.BufferParams{Buffer: b.Buffer})
		return i.Path != nil && *i.Path == x.Root+"/g" && i.State == "ok" && i.Modified
	})
	spacetest.MustCall(x.c, core.BufferSave, core.BufferSaveParams{Buffer: b.Buffer})
	// A late word of the disk's about what happened to f may come first.
	x.c.Await(func(e client.Event) bool {
		var p core.FsChangedParams
		return e.Name == core.FsChanged.Name && json.Unmarshal(e.Params, &p) == nil &&
			p.Origin.Kind == core.OriginClient && p.Origin.Reason == "save" &&
			slices.ContainsFunc(p.Changes, func(c core.FsChange) bool { return c.Path == x.Root+"/g" })
	})
	if err := os.Remove(x.Root + "/g"); err != nil {
		t.Fatal(err)
	}
	x.c.Await(func(client.Event) bool {
		return spacetest.MustCall(x.c, core.BufferGet, core.BufferParams{Buffer: b.Buffer}).State == "gone"
	})
}
