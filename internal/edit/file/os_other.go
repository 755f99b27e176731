//go:build !unix

package file

import (
	"io/fs"
	"os"
)

const nonBlock = 0

func statOf(info fs.FileInfo) Stat {
	return Stat{Size: info.Size(), Mtime: info.ModTime(), Mode: info.Mode(), Links: 1}
}

func mayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o200 != 0
}

func keepOwner(*os.File, Stat) error { return nil }

func syncFolder(*os.Root) error { return nil }

func exchange(dir *os.Root, temp, name string) error {
	spare := temp + "~"
	if err := dir.Rename(name, spare); err != nil {
		return err
	}
	if err := dir.Rename(temp, name); err != nil {
		_ = dir.Rename(spare, name)
		return err
	}
	return dir.Rename(spare, temp)
}

func renameNew(dir *os.Root, temp, name string) error {
	if _, err := dir.Lstat(name); err == nil {
		return &os.LinkError{Op: "rename", Old: temp, New: name, Err: fs.ErrExist}
	}
	return dir.Rename(temp, name)
}
