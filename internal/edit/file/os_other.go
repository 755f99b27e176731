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

func syncFolder(string) error { return nil }

func exchange(temp, path string) error {
	spare := temp + "~"
	if err := os.Rename(path, spare); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Rename(spare, path)
		return err
	}
	return os.Rename(spare, temp)
}

func renameNew(temp, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return &os.LinkError{Op: "rename", Old: temp, New: path, Err: fs.ErrExist}
	}
	return os.Rename(temp, path)
}
