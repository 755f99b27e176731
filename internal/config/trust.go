package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
)

// Trust is the user's list of project files that count, by hash. A changed
// file isn't trusted. Concurrent processes may use one folder: the last
// writer's list counts, whole.
type Trust struct{ file string }

// OpenTrust uses a list in the state folder dir.
func OpenTrust(dir string) *Trust { return &Trust{filepath.Join(dir, "trust.json")} }

// Add trusts the project file of a folder as it is now, and returns its path
// and hash.
func (t *Trust) Add(dir string) (path, hash string, err error) {
	path, err = real(ProjectPath(dir))
	if err != nil {
		return "", "", err
	}
	raw, err := read(path)
	if err != nil {
		return "", "", &FileError{Where: path, Err: err}
	}
	list, err := t.load()
	if err != nil {
		return "", "", err
	}
	list[path] = hashOf(raw)
	return path, list[path], t.store(list)
}

func (t *Trust) trusts(path string, raw []byte) bool {
	if t == nil {
		return false
	}
	list, err := t.load()
	resolved, linkErr := real(path)
	return err == nil && linkErr == nil && list[resolved] == hashOf(raw)
}

// real is the one name of a file.
func real(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (t *Trust) load() (map[string]string, error) {
	list := map[string]string{}
	raw, err := os.ReadFile(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.file, err)
	}
	return list, nil
}

// store replaces the list at once, so that no reader sees half of one.
func (t *Trust) store(list map[string]string) error {
	raw, err := json.Marshal(list, json.Deterministic(true))
	if err != nil {
		return err
	}
	dir := filepath.Dir(t.file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(dir, ".trust-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	_, err = part.Write(append(raw, '\n'))
	if err := errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), t.file)
}
