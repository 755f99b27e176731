//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const nonBlock = syscall.O_NONBLOCK | syscall.O_CLOEXEC

func statOf(info fs.FileInfo) Stat {
	s := Stat{Size: info.Size(), Mtime: info.ModTime(), Mode: info.Mode()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Key = Key{uint64(sys.Dev), uint64(sys.Ino)}
		s.UID, s.GID, s.Links = sys.Uid, sys.Gid, uint64(sys.Nlink)
		s.Ctime = ctimeOf(sys)
	}
	return s
}

func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

func keepOwner(f *os.File, like Stat) error {
	now, err := osFile{f}.Stat()
	if err != nil || now.UID == like.UID && now.GID == like.GID {
		return err
	}
	return f.Chown(int(like.UID), int(like.GID))
}

func syncFolder(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

// exchangeByLink swaps two names where the system has no call for it: for a
// moment name is the old or the new file, never nothing.
func exchangeByLink(dir *os.Root, temp, name string) error {
	spare := temp + "~"
	if err := dir.Link(name, spare); err != nil {
		return err
	}
	if err := dir.Rename(temp, name); err != nil {
		_ = dir.Remove(spare)
		return err
	}
	return dir.Rename(spare, temp)
}

// linkNew gives a file a name that nothing may have yet.
func linkNew(dir *os.Root, temp, name string) error {
	if err := dir.Link(temp, name); err != nil {
		return err
	}
	return dir.Remove(temp)
}

func timeOf(sec, nsec int64) time.Time { return time.Unix(sec, nsec) }
