package file

import (
	"crypto/rand"
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
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osFile{f}, nil
}

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

type replacement struct {
	f    *os.File
	path string
	// temp is the name of the new file, and of the displaced one after Swap.
	temp    string
	created bool
	swapped bool
	done    bool
}

// Replace makes the new file in the folder of what path leads to.
func (s OS) Replace(path string, like Stat) (Replacement, error) {
	real, err := s.Resolve(path)
	if err != nil {
		return nil, err
	}
	if like.Links > 1 {
		return nil, ErrInPlace
	}
	r, err := newReplacement(real, like.Mode.Perm())
	if errors.Is(err, fs.ErrPermission) {
		return nil, ErrInPlace
	}
	if err != nil {
		return nil, err
	}
	if err := keepOwner(r.f, like); err != nil {
		r.Discard()
		return nil, ErrInPlace
	}
	if err := r.f.Chmod(like.Mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)); err != nil {
		r.Discard()
		return nil, ErrInPlace
	}
	return r, nil
}

// Create makes the new file in path's folder, with the mode that the process's
// mask leaves.
func (s OS) Create(path string, mode fs.FileMode) (Replacement, error) {
	real, err := s.Resolve(path)
	if err != nil {
		return nil, err
	}
	r, err := newReplacement(real, mode)
	if err != nil {
		return nil, err
	}
	r.created = true
	return r, nil
}

func newReplacement(path string, mode fs.FileMode) (*replacement, error) {
	temp := filepath.Join(filepath.Dir(path), "."+shortBase(path)+"."+rand.Text()[:12]+".tmp")
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &replacement{f: f, path: path, temp: temp}, nil
}

// shortBase is a file's name cut so that a longer one still fits.
func shortBase(path string) string {
	name := filepath.Base(path)
	return name[:min(len(name), 200)]
}

func (r *replacement) Write(p []byte) (int, error) { return r.f.Write(p) }

func (r *replacement) Swap() error {
	if err := r.f.Sync(); err != nil {
		return err
	}
	var err error
	if r.created {
		err = renameNew(r.temp, r.path)
	} else {
		err = exchange(r.temp, r.path)
	}
	r.swapped = err == nil
	return err
}

func (r *replacement) Displaced() (Reader, error) {
	if r.created {
		return nil, nil
	}
	f, err := os.Open(r.temp)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (r *replacement) Restore() error {
	if r.created {
		r.swapped = false
		return os.Rename(r.path, r.temp)
	}
	err := exchange(r.temp, r.path)
	if err == nil {
		r.swapped = false
	}
	return err
}

func (r *replacement) Commit() (Stat, error) {
	r.done = true
	stat, err := osFile{r.f}.Stat()
	if !r.created {
		err = errors.Join(err, os.Remove(r.temp))
	}
	return stat, errors.Join(err, syncFolder(filepath.Dir(r.path)), r.f.Close())
}

func (r *replacement) Discard() {
	if r.done {
		return
	}
	r.done = true
	_ = r.f.Close()
	if !r.swapped {
		_ = os.Remove(r.temp)
	}
}

// Overwrite doesn't shorten the file before the new content is in it.
func (s OS) Overwrite(path string, write func(io.Writer) error) (Stat, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Stat{}, err
	}
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
