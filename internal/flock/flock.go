// Package flock takes advisory locks on whole files, which the system drops
// with the process, however that ends.
package flock

import (
	"errors"
	"os"
)

// ErrLocked says that another open file holds the lock.
var ErrLocked = errors.New("the file is locked")

// Open opens or makes a file with mode 0600 and locks it without waiting.
// Closing the file frees the lock. The error is ErrLocked when another holds
// it.
func Open(path string) (*os.File, error) { return open(path, lockNow) }

// OpenWait is Open that waits for the lock.
func OpenWait(path string) (*os.File, error) { return open(path, lockWait) }

func open(path string, lock func(*os.File) error) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
