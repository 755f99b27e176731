package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// OS is the operating system's files, unconfined.
type OS struct{}

var _ System = OS{}

type osFile struct{ *os.File }

func (f osFile) Stat() (Stat, error) {
	info, err := f.File.Stat()
	if err != nil {
		return Stat{}, err
	}
	return statOf(info), nil
}

// Open opens a regular file. A FIFO isn't waited for.
func (OS) Open(path string) (Reader, error) {
	f, err := os.OpenFile(path, OpenFlags, 0)
	if err != nil {
		return nil, err
	}
	return NewReader(f)
}

// OpenFlags open for reading without waiting for a FIFO.
const OpenFlags = os.O_RDONLY | nonBlock

// NewReader takes an open file over if it is a regular one, else closes it.
func NewReader(f *os.File) (Reader, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: ErrNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osFile{f}, nil
}

// StatOf gives what an info holds; NotWritable isn't known from it.
func StatOf(info fs.FileInfo) Stat { return statOf(info) }

// Stat follows symbolic links.
func (OS) Stat(path string) (Stat, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Stat{}, err
	}
	s := statOf(info)
	s.NotWritable = !mayWrite(path)
	return s, nil
}

// Resolve follows the links of the folder too.
func (OS) Resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		real, err := filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return path, nil
			}
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", &fs.PathError{Op: "resolve", Path: path, Err: errors.New("too many links")}
}

// maxLinks is how many dangling links Resolve follows.
const maxLinks = 40

// Replace makes the new file in the folder of what path leads to.
func (s OS) Replace(path string, like Stat) (Replacement, error) {
	dir, name, err := s.folder(path)
	if err != nil {
		return nil, err
	}
	return ReplaceIn(dir, name, like)
}

// Create makes the new file in path's folder, with the mode that the process's
// mask leaves.
func (s OS) Create(path string, mode fs.FileMode) (Replacement, error) {
	dir, name, err := s.folder(path)
	if err != nil {
		return nil, err
	}
	return CreateIn(dir, name, mode)
}

// folder opens the folder of what path leads to.
func (s OS) folder(path string) (*os.Root, string, error) {
	real, err := s.Resolve(path)
	if err != nil {
		return nil, "", err
	}
	dir, err := os.OpenRoot(filepath.Dir(real))
	return dir, filepath.Base(real), err
}

// Overwrite doesn't shorten the file before the new content is in it.
func (OS) Overwrite(path string, write func(io.Writer) error) (Stat, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Stat{}, err
	}
	return OverwriteFile(f, write)
}

// OverwriteFile is [System.Overwrite] for an open file, which it closes.
func OverwriteFile(f *os.File, write func(io.Writer) error) (Stat, error) {
	var err error
	out := &counter{w: f}
	if err = write(out); err == nil {
		err = f.Truncate(out.n)
	}
	if err == nil {
		err = f.Sync()
	}
	stat, statErr := osFile{f}.Stat()
	return stat, errors.Join(err, statErr, f.Close())
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
