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

func syncFolder(path string) error {
	d, err := os.Open(path)
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
// moment path names the old or the new file, never nothing.
func exchangeByLink(temp, path string) error {
	spare := temp + "~"
	if err := os.Link(path, spare); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(spare)
		return err
	}
	return os.Rename(spare, temp)
}

// linkNew gives a file a name that nothing may have yet.
func linkNew(temp, path string) error {
	if err := os.Link(temp, path); err != nil {
		return err
	}
	return os.Remove(temp)
}

func timeOf(sec, nsec int64) time.Time { return time.Unix(sec, nsec) }
