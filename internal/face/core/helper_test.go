package core

import (
	"os"
	"path/filepath"
	"testing"
)

// copyLedger keeps the ledgers as they are and returns what puts them back.
func copyLedger(t *testing.T, dir string) func() {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "a-*.log"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v %v", paths, err)
	}
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(paths[0], raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
