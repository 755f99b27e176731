// Package file is how the documents reach the disk: the few operations that
// opening, checking and saving need, as an interface, and the operating
// system's own for them (core.md §6 buffer.save).
//
// The interface lets the fs namespace put its confined path resolution in
// place of plain paths. Errors are what the operating system gives, so that
// errors.Is with fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and a
// syscall.Errno works.
//
// # Concurrency
//
// A System may be used by any number of goroutines; a Replacement by one.
package file

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// ErrInPlace says that a file can't be replaced by another without losing its
// hard links or its owner, or for want of the right to write to its folder: it
// has to be written in place.
var ErrInPlace = errors.New("file can only be written in place")

// ErrNotRegular says that a path is a folder, FIFO, device or socket.
var ErrNotRegular = errors.New("not a regular file")

// Key tells a file from all others on the machine.
type Key struct {
	Device, Inode uint64
}

// Stat is the identity of a file and what saving has to keep. Two equal
// identities mean that nobody wrote in between (documents.md rule 1).
type Stat struct {
	Key
	Size         int64
	Mtime, Ctime time.Time
	Mode         fs.FileMode
	UID, GID     uint32
	Links        uint64
	NotWritable  bool
}

// Same reports whether a and b show the same file in the same state.
func (s Stat) Same(o Stat) bool {
	return s.Key == o.Key && s.Size == o.Size && s.Mtime.Equal(o.Mtime) && s.Ctime.Equal(o.Ctime)
}

// SameContent is Same without the time of the last change of the inode, which
// a rename moves too.
func (s Stat) SameContent(o Stat) bool {
	return s.Key == o.Key && s.Size == o.Size && s.Mtime.Equal(o.Mtime)
}

// A Reader is an open file.
type Reader interface {
	io.ReaderAt
	io.Closer
	// Stat is the state of the file that is open.
	Stat() (Stat, error)
}

// A System reaches files by path. Symbolic links are followed.
type System interface {
	// Open opens a regular file for reading. ErrNotRegular for anything else.
	Open(path string) (Reader, error)
	// Stat tells of what a path leads to.
	Stat(path string) (Stat, error)
	// Resolve gives the path of what path leads to once every symbolic link is
	// followed. What isn't there yet keeps its own name.
	Resolve(path string) (string, error)
	// Replace starts a new file that will take path's place, like what is
	// there now. ErrInPlace if that can't keep what it should.
	Replace(path string, like Stat) (Replacement, error)
	// Create starts a new file at path, where nothing is.
	Create(path string, mode fs.FileMode) (Replacement, error)
	// Overwrite writes a file in place, syncs it and tells its state after.
	Overwrite(path string, write func(io.Writer) error) (Stat, error)
}

// A Replacement is a file on its way in, invisible under path until Swap.
type Replacement interface {
	io.Writer
	// Swap syncs the file and puts it at path. For one that was created, it
	// fails with fs.ErrExist if something came there.
	Swap() error
	// Displaced opens the file that Swap displaced; nil for one that was
	// created.
	Displaced() (Reader, error)
	// Restore puts the displaced file back.
	Restore() error
	// Commit makes it last: the displaced file goes, the folder is synced. It
	// tells the new file's state.
	Commit() (Stat, error)
	// Discard removes what is left. It may follow any of the others.
	Discard()
}
