package checkpoint

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Limits of what is kept (documents.md rule 4).
const (
	// MaxFileBytes is the largest content that is kept.
	MaxFileBytes = 16 << 20
	// MaxTurnBytes is how much is kept for one turn.
	MaxTurnBytes = 1 << 30
	// MaxAge is how long a content is kept after it was last wanted.
	MaxAge = 14 * 24 * time.Hour
)

// Errors of the store.
var (
	// ErrFileLimit says that a content is larger than MaxFileBytes.
	ErrFileLimit = errors.New("the file is larger than a checkpoint keeps")
	// ErrTurnLimit says that a turn has kept MaxTurnBytes already.
	ErrTurnLimit = errors.New("the turn has no room left for checkpoints")
	// ErrUnavailable says that a content isn't kept, or not whole.
	ErrUnavailable = errors.New("the content isn't kept")
)

// A Budget is how much one turn may still keep.
type Budget struct{ used atomic.Int64 }

// Take reserves room of so many bytes; false: there is none.
func (b *Budget) Take(n int64) bool {
	if b == nil {
		return true
	}
	if b.used.Add(n) > MaxTurnBytes {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *Budget) give(n int64) {
	if b != nil {
		b.used.Add(-n)
	}
}

// A Store is a folder of contents. Close gives it back.
type Store struct{ dir *os.Root }

// Open opens the store in a folder, which it makes.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Store{dir: root}, nil
}

// Close may be called twice.
func (s *Store) Close() error { return s.dir.Close() }

// Hash is a content's name: "sha256:HEX".
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// place is where a content lies; false: the hash is none.
func place(hash string) (string, bool) {
	digits, ok := strings.CutPrefix(hash, "sha256:")
	if !ok || len(digits) != 2*sha256.Size {
		return "", false
	}
	if _, err := hex.DecodeString(digits); err != nil {
		return "", false
	}
	return path.Join(digits[:2], digits[2:]), true
}

// Put keeps a content and gives its hash. The hash is given with ErrFileLimit
// and ErrTurnLimit too, with which nothing is kept. What is kept already takes
// nothing from the budget; nil is unlimited.
func (s *Store) Put(content []byte, b *Budget) (string, error) {
	hash := Hash(content)
	if len(content) > MaxFileBytes {
		return hash, fmt.Errorf("%w: %d bytes, the limit is %d", ErrFileLimit, len(content), MaxFileBytes)
	}
	at, _ := place(hash)
	if info, err := s.dir.Stat(at); err == nil && info.Size() == int64(len(content)) {
		now := time.Now()
		return hash, s.dir.Chtimes(at, now, now)
	}
	if !b.Take(int64(len(content))) {
		return hash, fmt.Errorf("%w: the limit is %d bytes", ErrTurnLimit, MaxTurnBytes)
	}
	if err := s.write(at, content); err != nil {
		b.give(int64(len(content)))
		return hash, err
	}
	return hash, nil
}

// write puts a content in place at once. It isn't synced: a content that a
// crash tears is found out by Get, and is then not kept.
func (s *Store) write(at string, content []byte) error {
	if err := s.dir.Mkdir(path.Dir(at), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	temp := at + "." + rand.Text() + ".tmp"
	if err := s.dir.WriteFile(temp, content, 0o600); err != nil {
		return errors.Join(err, s.dir.Remove(temp))
	}
	if err := s.dir.Rename(temp, at); err != nil {
		return errors.Join(err, s.dir.Remove(temp))
	}
	return nil
}

// Get gives a content; ErrUnavailable if it isn't there or isn't what its hash
// says.
func (s *Store) Get(hash string) ([]byte, error) {
	at, ok := place(hash)
	if !ok {
		return nil, ErrUnavailable
	}
	content, err := s.dir.ReadFile(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrUnavailable
	case err != nil:
		return nil, err
	case Hash(content) != hash:
		return nil, errors.Join(ErrUnavailable, s.dir.Remove(at))
	}
	return content, nil
}

// Has reports whether a content is kept. It doesn't read it.
func (s *Store) Has(hash string) bool {
	at, ok := place(hash)
	if !ok {
		return false
	}
	_, err := s.dir.Stat(at)
	return err == nil
}

// Expire removes what nobody wanted for MaxAge.
func (s *Store) Expire(now time.Time) error {
	return fs.WalkDir(s.dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if now.Sub(info.ModTime()) > MaxAge {
			return ignoreGone(s.dir.Remove(filepath.FromSlash(name)))
		}
		return nil
	})
}

// ignoreGone forgives that another process removed it first.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
