package confine

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"dragoman/internal/edit/file"
)

// Files is how the documents reach the disk inside the roots.
type Files struct{ Roots *Roots }

var _ file.System = Files{}

// Open opens a regular file for reading. A device isn't even opened.
func (f Files) Open(path string) (r file.Reader, err error) {
	err = f.Roots.Do(path, func(p *Place) error {
		opened, err := OpenRegular(p.Dir, p.Name)
		if err == nil {
			r, err = file.NewReader(opened)
		}
		return err
	})
	return r, err
}

// OpenRegular opens a file of a folder for reading, and nothing but a regular
// file: opening a device can have effects.
func OpenRegular(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: file.ErrNotRegular}
	}
	return dir.OpenFile(name, file.OpenFlags, 0)
}

// Stat tells of what a path leads to.
func (f Files) Stat(path string) (s file.Stat, err error) {
	err = f.Roots.Do(path, func(p *Place) error {
		info, err := p.Dir.Stat(p.Name)
		if err != nil {
			return err
		}
		s = file.StatOf(info)
		s.NotWritable = !Writable(p)
		return nil
	})
	return s, err
}

// Resolve gives the real path; outside the roots it is refused.
func (f Files) Resolve(path string) (string, error) { return f.Roots.Resolve(path) }

// Replace starts a new file that will take path's place.
func (f Files) Replace(path string, like file.Stat) (file.Replacement, error) {
	p, err := f.Roots.Follow(path)
	if err != nil {
		return nil, err
	}
	return file.ReplaceIn(p.Dir, p.Name, like)
}

// Create starts a new file at path, where nothing is.
func (f Files) Create(path string, mode fs.FileMode) (file.Replacement, error) {
	p, err := f.Roots.Follow(path)
	if err != nil {
		return nil, err
	}
	return file.CreateIn(p.Dir, p.Name, mode)
}

// Overwrite writes a file in place.
func (f Files) Overwrite(path string, write func(io.Writer) error) (s file.Stat, err error) {
	var opened *os.File
	err = f.Roots.Do(path, func(p *Place) error {
		info, err := p.Dir.Stat(p.Name)
		if err == nil && !info.Mode().IsRegular() {
			err = &fs.PathError{Op: "open", Path: path, Err: file.ErrNotRegular}
		}
		if err == nil {
			opened, err = p.Dir.OpenFile(p.Name, os.O_RDWR, 0)
		}
		return err
	})
	if err != nil {
		return file.Stat{}, err
	}
	return file.OverwriteFile(opened, write)
}

// Writable reports whether this process may write what is at a place.
func Writable(p *Place) bool {
	dir, err := p.Dir.Open(".")
	if err != nil {
		return false
	}
	defer dir.Close()
	return writableAt(dir, p)
}

// Rename moves what is at one place to another, of another root too. Unless
// replace says so, it fails with fs.ErrExist if something is there.
func Rename(from, to *Place, r Replacing) error {
	src, err := from.Dir.Open(".")
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.Dir.Open(".")
	if err != nil {
		return err
	}
	defer dst.Close()
	err = renameAt(src, dst, from, to, r)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return &os.LinkError{Op: "rename", Old: from.Real, New: to.Real, Err: err}
}

// Replacing says what a rename does with what is there.
type Replacing int

// The ways.
const (
	NeverReplace Replacing = iota
	Replace
)
