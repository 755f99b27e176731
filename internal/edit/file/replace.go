package file

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
)

// replacement works in one folder that is held open, so that nobody can lead it
// elsewhere by swapping a folder for a link.
type replacement struct {
	f    *os.File
	dir  *os.Root
	name string
	// temp is the name of the new file, and of the displaced one after Swap.
	temp    string
	created bool
	swapped bool
	done    bool
}

// ReplaceIn is [System.Replace] for a name in a folder. The replacement owns
// the folder; it is closed also on an error.
func ReplaceIn(dir *os.Root, name string, like Stat) (Replacement, error) {
	if like.Links > 1 {
		return nil, errors.Join(ErrInPlace, dir.Close())
	}
	r, err := newReplacement(dir, name, like.Mode.Perm())
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

// CreateIn is [System.Create] for a name in a folder. The replacement owns the
// folder; it is closed also on an error.
func CreateIn(dir *os.Root, name string, mode fs.FileMode) (Replacement, error) {
	r, err := newReplacement(dir, name, mode)
	if err != nil {
		return nil, err
	}
	r.created = true
	return r, nil
}

func newReplacement(dir *os.Root, name string, mode fs.FileMode) (*replacement, error) {
	temp := "." + shortName(name) + "." + rand.Text()[:12] + TempSuffix
	f, err := dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &replacement{f: f, dir: dir, name: name, temp: temp}, nil
}

// TempSuffix ends the names of files on their way in.
const TempSuffix = ".dragoman-tmp"

// shortName is a file's name cut so that a longer one still fits.
func shortName(name string) string { return name[:min(len(name), 200)] }

func (r *replacement) Write(p []byte) (int, error) { return r.f.Write(p) }

func (r *replacement) Swap() error {
	if err := r.f.Sync(); err != nil {
		return err
	}
	var err error
	if r.created {
		err = renameNew(r.dir, r.temp, r.name)
	} else {
		err = exchange(r.dir, r.temp, r.name)
	}
	r.swapped = err == nil
	return err
}

func (r *replacement) Displaced() (Reader, error) {
	if r.created {
		return nil, nil
	}
	f, err := r.dir.Open(r.temp)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (r *replacement) Restore() error {
	if r.created {
		r.swapped = false
		return r.dir.Rename(r.name, r.temp)
	}
	err := exchange(r.dir, r.temp, r.name)
	if err == nil {
		r.swapped = false
	}
	return err
}

func (r *replacement) Commit() (Stat, error) {
	r.done = true
	stat, err := osFile{r.f}.Stat()
	if !r.created {
		err = errors.Join(err, r.dir.Remove(r.temp))
	}
	return stat, errors.Join(err, syncFolder(r.dir), r.f.Close(), r.dir.Close())
}

func (r *replacement) Discard() {
	if r.done {
		return
	}
	r.done = true
	_ = r.f.Close()
	if !r.swapped {
		_ = r.dir.Remove(r.temp)
	}
	_ = r.dir.Close()
}
