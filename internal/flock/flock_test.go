package flock

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		f, err := OpenWait(path)
		if err == nil {
			f.Close()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Errorf("didn't wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	first.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none", "lock")); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("in a missing folder: %v", err)
	}
}
