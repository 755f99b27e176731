package checkpoint_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dragoman/internal/edit/checkpoint"
)

func open(t interface {
	Fatal(...any)
	Cleanup(func())
}, dir string) *checkpoint.Store {
	s, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestContentsComeBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := open(rt, filepath.Join(dir, rapid.StringMatching(`[a-z]{8}`).Draw(rt, "dir")))
		model := map[string][]byte{}
		for _, b := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 20).Draw(rt, "contents") {
			hash, err := s.Put(b, nil)
			if err != nil {
				rt.Fatal(err)
			}
			model[hash] = b
		}
		for hash, want := range model {
			if got, err := s.Get(hash); err != nil || !bytes.Equal(got, want) {
				rt.Fatalf("Get(%s) = %q, %v; want %q", hash, got, err, want)
			}
			if !s.Has(hash) || checkpoint.Hash(want) != hash {
				rt.Fatalf("%s isn't there under its name", hash)
			}
		}
	})
}

func TestLimits(t *testing.T) {
	s := open(t, t.TempDir())
	big := make([]byte, checkpoint.MaxFileBytes+1)
	hash, err := s.Put(big, nil)
	if !errors.Is(err, checkpoint.ErrFileLimit) || hash != checkpoint.Hash(big) || s.Has(hash) {
		t.Errorf("a file over the limit: %v", err)
	}
	if _, err := s.Put(big[1:], nil); err != nil {
		t.Errorf("a file at the limit: %v", err)
	}
	var budget checkpoint.Budget
	full := 0
	for i := range checkpoint.MaxTurnBytes/checkpoint.MaxFileBytes + 1 {
		// The contents differ in eight bytes, and aren't kept on disk: the
		// budget alone is at stake.
		if !budget.Take(checkpoint.MaxFileBytes) {
			full = i
		}
	}
	if full != checkpoint.MaxTurnBytes/checkpoint.MaxFileBytes {
		t.Errorf("the turn was full after %d files", full)
	}
	if _, err := s.Put([]byte("one more"), &budget); !errors.Is(err, checkpoint.ErrTurnLimit) {
		t.Errorf("over the turn's limit: %v", err)
	}
	if _, err := s.Put(big[1:], &budget); err != nil {
		t.Errorf("what is kept already needs no room: %v", err)
	}
}

func TestOnlyTheOwnerReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir)
	if _, err := s.Put([]byte("secret"), nil); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if !d.IsDir() {
			files++
		}
		return nil
	})
	if err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestTornAndUnknownAreUnavailable(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	hash, err := s.Put([]byte("whole content"), nil)
	if err != nil {
		t.Fatal(err)
	}
	digits := hash[len("sha256:"):]
	if err := os.WriteFile(filepath.Join(dir, digits[:2], digits[2:]), []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{hash, "", "sha256:", "md5:00", "sha256:../../../../etc/passwd", checkpoint.Hash([]byte("other"))} {
		if _, err := s.Get(h); !errors.Is(err, checkpoint.ErrUnavailable) {
			t.Errorf("Get(%q): %v", h, err)
		}
	}
	if again, err := s.Put([]byte("whole content"), nil); err != nil || again != hash {
		t.Fatal(err)
	}
	if got, err := s.Get(hash); err != nil || string(got) != "whole content" {
		t.Errorf("kept anew: %q, %v", got, err)
	}
}

func TestAgeRemoves(t *testing.T) {
	s := open(t, t.TempDir())
	hash, err := s.Put([]byte("old"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Expire(time.Now().Add(checkpoint.MaxAge - time.Hour)); err != nil || !s.Has(hash) {
		t.Errorf("removed too early: %v", err)
	}
	if err := s.Expire(time.Now().Add(checkpoint.MaxAge + time.Hour)); err != nil || s.Has(hash) {
		t.Errorf("not removed: %v", err)
	}
}
