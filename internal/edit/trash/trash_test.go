package trash

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/edit/confine"
)

func TestAThingGoesAndComesBack(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/dir/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/dir/sub/f", []byte("12345"), 0o640); err != nil {
		t.Fatal(err)
	}
	roots, err := confine.New(root)
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	s, err := Open(filepath.Join(t.TempDir(), "trash"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	place := func(path string) *confine.Place {
		p, err := roots.Place(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	it, err := s.Put(t.Context(), place("dir"), Item{Path: []byte("x\xff"), Type: "dir", DeletedAt: at, Origin: jsontext.Value(`{"a":1}`)})
	if err != nil || it.Size != 5 {
		t.Fatal(it, err)
	}
	if _, err := os.Lstat(root + "/dir"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	items, err := s.List()
	if err != nil || len(items) != 1 || string(items[0].Path) != "x\xff" || !items[0].DeletedAt.Equal(at) || items[0].ID != it.ID {
		t.Fatalf("%+v %v", items, err)
	}
	if err := os.Mkdir(root+"/taken", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(t.Context(), it.ID, place("taken")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := s.Restore(t.Context(), it.ID, place("back")); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(root + "/back/sub/f"); string(b) != "12345" {
		t.Error(string(b), err)
	}
	for _, id := range []string{it.ID, "", "..", "a/b"} {
		if err := s.Restore(t.Context(), id, place("again")); !errors.Is(err, ErrNoItem) {
			t.Errorf("%q: %v", id, err)
		}
		if err := s.Remove(id); !errors.Is(err, ErrNoItem) {
			t.Errorf("%q: %v", id, err)
		}
	}
	for i, age := range []time.Duration{0, MaxAge + 1} {
		name := string(rune('a' + i))
		if err := os.WriteFile(root+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), place(name), Item{Path: []byte(name), DeletedAt: at.Add(-age)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Expire(at); err != nil {
		t.Fatal(err)
	}
	if items, _ := s.List(); len(items) != 1 || string(items[0].Path) != "a" {
		t.Errorf("%+v", items)
	}
}
