//go:build unix

package file

import (
	"errors"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Sequential opens a file for reading once from start to end: with less to it
// than os.Open, which a search of many small files feels. Not safe for
// concurrent use.
func Sequential(path string) (io.ReadCloser, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err == nil {
			return &sequential{fd}, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// SequentialAt is Sequential for a file of the folder that is open as dir. It
// doesn't follow a link.
func SequentialAt(dir int, name string) (io.ReadCloser, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if err == nil {
			return &sequential{fd}, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// SequentialFD is Sequential for a descriptor that is open; Close closes it.
func SequentialFD(fd int) io.ReadCloser { return &sequential{fd} }

type sequential struct{ fd int }

func (s *sequential) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(s.fd, p)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (s *sequential) Close() error {
	if s.fd < 0 {
		return nil
	}
	fd := s.fd
	s.fd = -1
	return unix.Close(fd)
}
