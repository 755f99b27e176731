package buffer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDiskChanges(t *testing.T) {
	tests := []struct {
		name, file, edit, disk string
		state                  State
		text                   string
		modified               bool
		reason                 string
	}{
		{"unmodified", "a\nb\nc\n", "", "a\nX\nc\n", OK, "a\nX\nc\n", false, "reload"},
		{"clean merge", "a\nb\nc\n", "1", "a\nb\nX\n", OK, "1a\nb\nX\n", true, "merge"},
		{"conflict", "a\nb\n", "1", "Z\nb\n", InConflict, "1a\nb\n", true, ""},
		{"same on both sides", "a\nb\n", "1", "1a\nb\n", OK, "1a\nb\n", false, ""},
		{"line ends only", "a\nb\n", "", "a\r\nb\r\n", OK, "a\nb\n", false, ""},
		{"binary", "a\n", "", "a\x00", StaleState, "a\n", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.write("f", tt.file)
			b := w.openFile("f")
			if tt.edit != "" {
				w.do(b, span(0, 0, 0, 0), tt.edit)
			}
			w.write("f", tt.disk)
			w.mirror.log = nil
			if err := w.set.Look(context.Background(), b, Origin{Kind: "agent", Run: "r1"}); err != nil {
				t.Fatal(err)
			}
			i := w.info(b)
			if i.State != tt.state || w.text(b) != tt.text || i.Modified != tt.modified {
				t.Errorf("state %s, text %q, modified %v", i.State, w.text(b), i.Modified)
			}
			w.mirror.check(b, tt.text)
			changed := ""
			for _, l := range w.mirror.log {
				if rest, ok := strings.CutPrefix(l, "changed "+string(b)+" "); ok {
					changed = strings.Fields(rest)[1]
				}
			}
			if changed != tt.reason {
				t.Errorf("events %v, want a change by %q", w.mirror.log, tt.reason)
			}
			if tt.state == OK && !tt.modified {
				if _, err := w.save(b); err != nil || w.read("f") != tt.disk {
					t.Errorf("saved %q, %v", w.read("f"), err)
				}
			}
		})
	}
}

func TestWaysOutOfAConflict(t *testing.T) {
	for _, tt := range []struct {
		take  Take
		edits []Edit
		want  string
		clean bool
	}{
		{TakeBuffer, nil, "1a\nb\n", false},
		{TakeDisk, nil, "Z\nb\n", true},
		{TakeEdits, []Edit{{span(0, 0, 0, 2), "both"}}, "both\nb\n", false},
	} {
		t.Run(string(tt.take), func(t *testing.T) {
			w := newWorld(t)
			w.write("f", "a\nb\n")
			b := w.openFile("f")
			w.do(b, span(0, 0, 0, 0), "1")
			w.write("f", "Z\nb\n")
			if err := w.set.Look(context.Background(), b, Origin{}); err != nil {
				t.Fatal(err)
			}
			_, err := w.save(b)
			wantCode(t, err, Conflict, ReasonMerge)
			i, err := w.set.Resolve(ResolveParams{Buffer: b, Take: tt.take, Edits: tt.edits})
			if err != nil || i.State != OK || i.Modified == tt.clean || w.text(b) != tt.want {
				t.Fatalf("%+v, %q, %v", i, w.text(b), err)
			}
			w.mirror.check(b, tt.want)
			if _, err := w.save(b); err != nil || w.read("f") != tt.want {
				t.Errorf("%v, %q", err, w.read("f"))
			}
		})
	}
}

func TestReloadAndCheckDisk(t *testing.T) {
	w := newWorld(t)
	w.write("f", "a\nb\n")
	b := w.openFile("f")
	w.do(b, span(0, 0, 0, 0), "1")
	if st, err := w.set.CheckDisk(context.Background(), nil); err != nil || len(st) != 0 {
		t.Errorf("%v, %v", st, err)
	}
	w.write("f", "c\n")
	st, err := w.set.CheckDisk(context.Background(), []ID{b})
	if err != nil || len(st) != 1 || st[0].Buffer != b || st[0].Gone {
		t.Errorf("%v, %v", st, err)
	}
	_, err = w.set.Reload(context.Background(), ReloadParams{Buffer: b})
	wantCode(t, err, Conflict, ReasonModified)
	i, err := w.set.Reload(context.Background(), ReloadParams{Buffer: b, Discard: true})
	if err != nil || i.Modified || i.SavedRevision != i.Revision || w.text(b) != "c\n" {
		t.Errorf("%+v, %v", i, err)
	}
	w.set.mustUndo(b)
	if w.text(b) != "1a\nb\n" || !w.info(b).Modified {
		t.Errorf("undo gives %q", w.text(b))
	}
	d, err := w.set.DiskText(b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.set.Diff(b, d)
	if want := "@@ -1 +1,2 @@\n-c\n+1a\n+b\n"; err != nil || r.Unified != want {
		t.Errorf("got %q, want %q, %v", r.Unified, want, err)
	}
}

func TestAgentWritesAreMerged(t *testing.T) {
	w := newWorld(t)
	w.write("f", "a\nb\nc\n")
	b := w.openFile("f")
	base, _, err := w.set.Snapshot(b)
	if err != nil {
		t.Fatal(err)
	}
	w.do(b, span(2, 0, 2, 1), "mine")
	agent := Origin{Kind: "agent", Run: "r1"}
	if _, err := w.set.Write(WriteParams{Buffer: b, Base: &base, Text: Literal("theirs\nb\nc\n"), Origin: agent}); err != nil {
		t.Fatal(err)
	}
	if got := w.text(b); got != "theirs\nb\nmine\n" {
		t.Errorf("got %q", got)
	}
	_, err = w.set.Write(WriteParams{Buffer: b, Base: &base, Text: Literal("a\nb\nother\n"), Origin: agent})
	wantCode(t, err, Conflict, ReasonMerge)
	w.mirror.check(b, "theirs\nb\nmine\n")
}

func TestBuffersFollowTheirFiles(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(w.path("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("d/f.go", "x")
	w.write("dd", "y")
	b, other := w.openFile("d/f.go"), w.openFile("dd")
	w.set.Moved(w.path("d"), w.path("e"))
	if i := w.info(b); i.Path != w.path("e/f.go") || i.Language != "go" {
		t.Errorf("%+v", i)
	}
	if i := w.info(other); i.Path != w.path("dd") {
		t.Errorf("%+v", i)
	}
	_, err := w.set.SetPath(PathParams{Buffer: b, Path: w.path("dd")})
	wantCode(t, err, Conflict, ReasonPathOpen)
}

func TestRecovery(t *testing.T) {
	tests := []struct {
		name, disk, want string
		changed          bool
	}{
		{"file as it was", "a\nb\nc\n", "1a\nb\nc\n", false},
		{"file changed elsewhere", "a\nb\nX\n", "1a\nb\nX\n", true},
		{"file changed there", "Z\nb\nc\n", "1a\nb\nc\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.write("f", "a\nb\nc\n")
			b := w.openFile("f")
			w.do(b, span(0, 0, 0, 0), "12")
			w.do(b, span(0, 1, 0, 2), "")
			w.crash()
			w.write("f", tt.disk)
			items, err := w.set.Recoveries()
			if err != nil || len(items) != 1 || items[0].Edits != 2 {
				t.Fatalf("%+v, %v", items, err)
			}
			b = w.openFile("f")
			if r := w.info(b).Recovery; r == nil || r.BaseChanged != tt.changed {
				t.Fatalf("%+v", r)
			}
			i, err := w.set.Recover(b, Origin{Kind: "client"})
			if err != nil || i.Recovery != nil || !i.Modified || w.text(b) != tt.want {
				t.Errorf("%q, %+v, %v", w.text(b), i, err)
			}
			w.mirror.check(b, tt.want)
			w.set.mustUndo(b)
			if w.text(b) != tt.disk {
				t.Errorf("undo gives %q", w.text(b))
			}
			if items, _ := w.set.Recoveries(); len(items) != 0 {
				t.Errorf("left: %+v", items)
			}
		})
	}
}

func TestScratchBuffersComeBack(t *testing.T) {
	w := newWorld(t)
	i, err := w.set.NewScratch(NewParams{Name: "notes", Text: "one\r\n"})
	if err != nil {
		t.Fatal(err)
	}
	w.do(i.Buffer, span(1, 0, 1, 0), "two")
	w.crash()
	items, err := w.set.Recoveries()
	if err != nil || len(items) != 1 || items[0].Name != "notes" {
		t.Fatalf("%+v, %v", items, err)
	}
	i, err = w.set.RecoverScratch(items[0].ID, "c1")
	if err != nil || w.text(i.Buffer) != "one\ntwo" || !i.Modified {
		t.Errorf("%+v, %v", i, err)
	}
	wantCode(t, w.set.Forget(items[0].ID), NotFound, "")
}

func TestSavesAndDiscardsDropTheLog(t *testing.T) {
	w := newWorld(t)
	for i, end := range []func(b ID) error{
		func(b ID) error { _, err := w.save(b); return err },
		func(b ID) error { return w.set.Close(CloseParams{Buffer: b, Discard: true, All: true}) },
	} {
		name := fmt.Sprint("f", i)
		w.write(name, "x")
		b := w.openFile(name)
		w.do(b, span(0, 0, 0, 0), "y")
		if err := errors.Join(w.logs.Sync(), end(b), w.logs.Sync()); err != nil {
			t.Fatal(err)
		}
		if names, _ := os.ReadDir(w.path(".state")); len(names) != 0 {
			t.Errorf("left: %v", names)
		}
	}
}
