package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"dragoman/wire/op"
)

// resolveTries is how often a path is resolved again that changed in between.
const resolveTries = 4

// A Place is a name in a folder under a root, with the folder held open: what
// is done by [Place.Dir] and [Place.Name] stays there whatever others do to the
// folders above. For a root itself the name is ".".
type Place struct {
	// Real is the absolute path, with every link of the folder followed.
	Real string
	// Root is the root that holds it.
	Root string
	// Name is the name in the folder.
	Name string
	// Dir is the folder.
	Dir *os.Root
}

// Close gives the folder back.
func (p *Place) Close() error { return p.Dir.Close() }

// IsRoot reports whether the place is a root itself.
func (p *Place) IsRoot() bool { return p.Name == "." }

// Lstat tells of the thing itself.
func (p *Place) Lstat() (fs.FileInfo, error) { return p.Dir.Lstat(p.Name) }

// Follow opens the folder of what path leads to, the last link followed too.
func (r *Roots) Follow(path string) (*Place, error) { return r.place(path, follow) }

// Place opens the folder of path's last name, which isn't followed.
func (r *Roots) Place(path string) (*Place, error) { return r.place(path, keepLast) }

func (r *Roots) place(path string, l last) (*Place, error) {
	for try := 1; ; try++ {
		p, err := r.placeOnce(path, l)
		if !Escapes(err) {
			return p, err
		}
		if try == resolveTries {
			return nil, op.OutsideRoot(path)
		}
	}
}

func (r *Roots) placeOnce(path string, l last) (*Place, error) {
	real, o, err := r.resolve(path, l)
	if err != nil {
		return nil, err
	}
	handle, err := o.open()
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(o.path, real)
	if err != nil {
		return nil, err
	}
	p := &Place{Real: real, Root: o.path, Name: filepath.Base(rel)}
	dir := filepath.Dir(rel)
	p.Dir, err = handle.OpenRoot(dir)
	if err == nil {
		return p, nil
	}
	if info, statErr := handle.Stat(dir); statErr == nil && !info.IsDir() {
		// os.Root has an error of its own for that.
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return nil, err
}

// Do follows path and hands the place to f. If what is at the place became a
// link that leads out of its folder since, it is followed anew.
func (r *Roots) Do(path string, f func(*Place) error) error {
	for try := 1; ; try++ {
		p, err := r.Follow(path)
		if err != nil {
			return err
		}
		err = errors.Join(f(p), p.Close())
		if !Escapes(err) {
			return err
		}
		if try == resolveTries {
			return op.OutsideRoot(path)
		}
	}
}

// MkdirAll makes the folder at path and those above it.
func (r *Roots) MkdirAll(path string, mode fs.FileMode) error {
	real, o, err := r.resolve(path, follow)
	if err != nil {
		return err
	}
	handle, err := o.open()
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(o.path, real)
	if err != nil || rel == "." {
		return err
	}
	if err = handle.MkdirAll(rel, mode); Escapes(err) {
		return op.OutsideRoot(path)
	}
	return err
}

// Open opens the folder of a root or below it, for walking.
func (r *Roots) Open(path string) (*os.Root, string, error) {
	var dir *os.Root
	var real string
	err := r.Do(path, func(p *Place) (err error) {
		real = p.Real
		dir, err = p.Dir.OpenRoot(p.Name)
		return err
	})
	return dir, real, err
}

// Escapes reports whether a path led out of the folder that it was used from.
func Escapes(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err.Error() == escapesText
	case errors.As(err, &link):
		return link.Err.Error() == escapesText
	}
	return false
}

// escapesText is the error of os.Root, which has no exported value; a test
// tells if it changes.
const escapesText = "path escapes from parent"
