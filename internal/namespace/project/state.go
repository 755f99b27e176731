package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// maxState is the longest value of a root, in bytes.
const maxState = 4 << 20

// states keeps the values of roots, each in a file.
type states struct {
	dir string

	mu     sync.Mutex
	memory map[string]core.ProjectStateResult
}

// path is the file of a root's value.
func (s *states) path(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:8])+".json")
}

// readLocked gives a root's value. Call with mu held.
func (s *states) readLocked(root string) (core.ProjectStateResult, error) {
	if r, ok := s.memory[root]; ok {
		return r, nil
	}
	r := core.ProjectStateResult{Value: jsontext.Value("null")}
	if s.dir == "" {
		return r, nil
	}
	raw, err := os.ReadFile(s.path(root))
	if errors.Is(err, iofs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return r, op.IO(err, s.path(root))
	}
	return r, nil
}

// writeLocked stores a root's value. Call with mu held.
func (s *states) writeLocked(root string, r core.ProjectStateResult) error {
	if s.dir != "" {
		if err := s.writeFile(root, r); err != nil {
			return op.IO(err, s.path(root))
		}
	}
	if s.memory == nil {
		s.memory = map[string]core.ProjectStateResult{}
	}
	s.memory[root] = r
	return nil
}

func (s *states) writeFile(root string, r core.ProjectStateResult) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, "state-*")
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path(root))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (s *Space) getState(_ context.Context, _ op.Call, p core.ProjectStateParams) (core.ProjectStateResult, error) {
	root, err := s.root(p.Root)
	if err != nil {
		return core.ProjectStateResult{}, err
	}
	s.states.mu.Lock()
	defer s.states.mu.Unlock()
	return s.states.readLocked(root)
}

func (s *Space) setState(_ context.Context, _ op.Call, p core.ProjectSetStateParams) (core.ProjectStateResult, error) {
	root, err := s.root(p.Root)
	if err != nil {
		return core.ProjectStateResult{}, err
	}
	if len(p.Value) > maxState {
		return core.ProjectStateResult{}, op.TooLarge("the value", maxState, int64(len(p.Value)))
	}
	s.states.mu.Lock()
	defer s.states.mu.Unlock()
	r, err := s.states.readLocked(root)
	if err != nil {
		return r, err
	}
	if p.IfRevision != nil && *p.IfRevision != r.Revision {
		return r, op.Stale(r.Revision)
	}
	r = core.ProjectStateResult{Value: p.Value.Clone(), Revision: r.Revision + 1}
	if err := s.states.writeLocked(root, r); err != nil {
		return r, err
	}
	s.Events.Emit(core.ProjectStateChanged.With(core.ProjectStateChangedParams{Root: root, Value: r.Value, Revision: r.Revision}))
	return r, nil
}
