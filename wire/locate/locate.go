// Package locate says where the core of a root listens (core.md §3
// "Discovery"): the socket's path follows from the root, and a lock file
// beside it holds the path that counts.
//
// It reads the file system, never the environment: callers hand in the
// runtime folder.
package locate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MaxSocketPath is the longest path that a unix socket takes everywhere
// (103 bytes and a NUL on macOS).
const MaxSocketPath = 103

// ErrNoCore says that no core listens for a folder or those above it.
var ErrNoCore = errors.New("no core listens for this folder")

// A Dir is the folder of the sockets, 0700 and ours.
type Dir string

// RuntimeDir returns the folder of the sockets: dragoman below xdg
// (XDG_RUNTIME_DIR), or /tmp/dragoman-UID where that isn't set. It creates
// nothing.
func RuntimeDir(xdg string, uid int) Dir {
	if xdg != "" {
		return Dir(filepath.Join(xdg, "dragoman"))
	}
	return Dir("/tmp/dragoman-" + strconv.Itoa(uid))
}

// Name is what the core of a root is called: 16 hex digits of the hash of
// its real path.
func Name(root string) (real, name string, err error) {
	real, err = filepath.Abs(root)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256([]byte(real))
	return real, hex.EncodeToString(sum[:8]), nil
}

// Socket is the default socket of a core with that name.
func (d Dir) Socket(name string) string { return filepath.Join(string(d), name+".sock") }

// Lock is the lock file of a core with that name.
func (d Dir) Lock(name string) string { return filepath.Join(string(d), name+".lock") }

// Make creates the folder, or checks that it is ours, private and no link.
func (d Dir) Make() error {
	if err := os.MkdirAll(filepath.Dir(string(d)), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(string(d), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.check()
}

func (d Dir) check() error {
	info, err := os.Lstat(string(d))
	if err != nil {
		return err
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", d)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o, not 0700", d, info.Mode().Perm())
	case !ours(info):
		return fmt.Errorf("%s belongs to somebody else", d)
	}
	return nil
}

// Core returns the socket of the core whose root is exactly that folder. It
// doesn't say that the core lives: dialling does. The error is ErrNoCore
// where there is no lock file.
func (d Dir) Core(root string) (string, error) {
	_, name, err := Name(root)
	if err != nil {
		return "", err
	}
	if err := d.check(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", ErrNoCore
		}
		return "", err
	}
	raw, err := os.ReadFile(d.Lock(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoCore
	}
	if err != nil {
		return "", err
	}
	socket := strings.TrimSpace(string(raw))
	if socket == "" {
		return "", ErrNoCore
	}
	return socket, nil
}

// Above lists the sockets of the cores of a folder and of those above it,
// the nearest first.
func (d Dir) Above(folder string) ([]string, error) {
	real, _, err := Name(folder)
	if err != nil {
		return nil, err
	}
	var sockets []string
	for {
		socket, err := d.Core(real)
		if err != nil && !errors.Is(err, ErrNoCore) {
			return sockets, err
		}
		if err == nil {
			sockets = append(sockets, socket)
		}
		parent := filepath.Dir(real)
		if parent == real {
			return sockets, nil
		}
		real = parent
	}
}
