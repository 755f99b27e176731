//go:build unix

package tree

import (
	"io"
	"io/fs"

	"golang.org/x/sys/unix"

	"dragoman/internal/edit/file"
)

// Open opens a regular file of the folder for one reading. It does without
// os.File, which costs more than a small file's reading.
func (f *Folder) Open(name string) (io.ReadCloser, error) {
	fd, err := unix.Openat(int(f.dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.Join(name), Err: err}
	}
	return descriptor(fd), nil
}

type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), p)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN || err == unix.EISDIR:
			return 0, file.ErrNotRegular
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (d descriptor) Close() error { return unix.Close(int(d)) }
