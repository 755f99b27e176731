//go:build linux || darwin

package proc

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func sameName(a, b string) bool { return a == b }

// executable returns file if we may execute it.
func executable(file string, _ []string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", &fs.PathError{Op: "execute", Path: file, Err: fs.ErrPermission}
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		return "", &fs.PathError{Op: "execute", Path: file, Err: err}
	}
	return file, nil
}
