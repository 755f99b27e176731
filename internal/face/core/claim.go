package core

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"dragoman/internal/flock"
	"dragoman/wire/locate"
)

// An ExistingError says that a core of that root runs already.
type ExistingError struct {
	// Socket is where it listens.
	Socket string
}

// Error names the socket.
func (e *ExistingError) Error() string { return "a core of this root listens at " + e.Socket }

// A Claim is the right to be the core of a root: its lock, and the socket.
type Claim struct {
	// Root is the real path.
	Root string
	// Name is what the core of that root is called.
	Name string
	// Socket is the path of the listener.
	Socket string
	// Listener takes connections.
	Listener *net.UnixListener

	lock *os.File
}

// claimWait is how long a core that is just starting may take to say where
// it listens.
const claimWait = 2 * time.Second

// ClaimRoot takes the lock of a root and listens (core.md §3 "Discovery").
// socket overrides the path, "" for the default. The error is an
// *ExistingError where a living core holds the root.
func ClaimRoot(dir locate.Dir, root, socket string) (*Claim, error) {
	real, name, err := locate.Name(root)
	if err != nil {
		return nil, err
	}
	if err := dir.Make(); err != nil {
		return nil, err
	}
	c := &Claim{Root: real, Name: name, Socket: socket}
	if socket == "" {
		c.Socket = dir.Socket(name)
	}
	if len(c.Socket) > locate.MaxSocketPath {
		return nil, fmt.Errorf("the socket's path has %d bytes, the limit is %d: %s", len(c.Socket), locate.MaxSocketPath, c.Socket)
	}
	c.lock, err = flock.Open(dir.Lock(name))
	if errors.Is(err, flock.ErrLocked) {
		return nil, existing(dir.Lock(name))
	}
	if err != nil {
		return nil, err
	}
	if err := c.listen(); err != nil {
		c.lock.Close()
		return nil, err
	}
	return c, nil
}

// existing reads where the holder of the lock listens.
func existing(lock string) error {
	for end := time.Now().Add(claimWait); ; time.Sleep(20 * time.Millisecond) {
		raw, err := os.ReadFile(lock)
		if err != nil {
			return err
		}
		if s := strings.TrimSpace(string(raw)); s != "" {
			return &ExistingError{Socket: s}
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is locked and doesn't say by whom", lock)
		}
	}
}

// listen replaces a dead socket, under the lock, and says where it listens.
func (c *Claim) listen() error {
	// What an earlier holder wrote doesn't count while we aren't ready.
	if err := c.lock.Truncate(0); err != nil {
		return err
	}
	if err := removeDead(c.Socket); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: c.Socket, Net: "unix"})
	if err != nil {
		return err
	}
	if err := os.Chmod(c.Socket, 0o600); err != nil {
		l.Close()
		return err
	}
	if _, err := c.lock.WriteAt([]byte(c.Socket+"\n"), 0); err != nil {
		l.Close()
		return err
	}
	c.Listener = l
	return nil
}

// removeDead removes a socket that nobody listens at.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and no socket", path)
	}
	if conn, err := net.DialTimeout("unix", path, claimWait); err == nil {
		conn.Close()
		return fmt.Errorf("another core listens at %s", path)
	}
	return os.Remove(path)
}

// Close removes the socket and gives the root up. It may be called twice.
func (c *Claim) Close() error {
	// The lock file stays: who waits for it would hold another one.
	err := c.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return errors.Join(err, c.lock.Truncate(0), c.lock.Close())
}
