package confine

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"dragoman/wire/op"
)

// maxLinks is how many links one path may lead through.
const maxLinks = 40

// Roots are the folders that paths must stay in.
type Roots struct {
	mu    sync.RWMutex
	roots []*root
}

// New opens roots. Close gives them back.
func New(paths ...string) (*Roots, error) {
	r := &Roots{}
	for _, p := range paths {
		if _, err := r.Add(p); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// Add opens one more root and returns its real path. A folder that is a root
// already stays one.
func (r *Roots) Add(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	added := &root{path: real}
	if _, err := added.open(); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.roots, func(o *root) bool { return o.path == real }) {
		added.close()
		return real, nil
	}
	r.roots = append(r.roots, added)
	return real, nil
}

// Remove closes a root; false: it is none.
func (r *Roots) Remove(real string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.roots, func(o *root) bool { return o.path == real })
	if i < 0 {
		return false
	}
	r.roots[i].close()
	r.roots = slices.Delete(r.roots, i, i+1)
	return true
}

// List gives the real paths of the roots in the order in which they came.
func (r *Roots) List() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]string, len(r.roots))
	for i, o := range r.roots {
		out[i] = o.path
	}
	return out
}

// Close closes all roots. It may be called twice.
func (r *Roots) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.roots {
		o.close()
	}
	r.roots = nil
	return nil
}

// Abs makes a path absolute: relative ones start at the first root.
func (r *Roots) Abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	if list := r.List(); len(list) > 0 {
		return list[0] + string(filepath.Separator) + path
	}
	return path
}

// Resolve gives the real path of what path leads to, every link followed, and
// refuses one outside the roots with outside_root. What isn't there yet keeps
// its own name.
func (r *Roots) Resolve(path string) (string, error) {
	real, _, err := r.resolve(path, follow)
	return real, err
}

// ResolveName is Resolve that doesn't follow the last name if it is a link.
func (r *Roots) ResolveName(path string) (string, error) {
	real, _, err := r.resolve(path, keepLast)
	return real, err
}

// RootOf gives the root that holds a real path; the narrowest of several.
func (r *Roots) RootOf(real string) (string, bool) {
	_, o, _ := r.holder(real)
	if o == nil {
		return "", false
	}
	return o.path, true
}

// last says what becomes of a path's last name.
type last int

const (
	follow last = iota
	keepLast
)

func (r *Roots) resolve(path string, l last) (string, *root, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", nil, op.BadRequest("path", "nul")
	}
	real, err := walk(r.Abs(path), l)
	held, o, ok := r.holder(real)
	if !ok {
		// Also where the walk ended early: nothing is told of what is outside.
		return "", nil, op.OutsideRoot(path)
	}
	return held, o, err
}

// walk finds the real path of an absolute one, component by component. With an
// error it gives the path so far.
func walk(path string, l last) (string, error) {
	volume := filepath.VolumeName(path)
	done := volume + string(filepath.Separator)
	pending := split(path[len(volume):])
	missing := false
	for links := 0; len(pending) > 0; {
		name := pending[0]
		pending = pending[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			done, missing = filepath.Dir(done), false
			continue
		}
		done = filepath.Join(done, name)
		if missing || len(pending) == 0 && l == keepLast {
			continue
		}
		target, err := linkAt(done)
		if err != nil {
			if missing = os.IsNotExist(err); missing {
				continue
			}
			return done, err
		}
		if target == "" {
			continue
		}
		if links++; links > maxLinks {
			return done, &fs.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
		}
		done = filepath.Dir(done)
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			done, target = volume+string(filepath.Separator), target[len(volume):]
		}
		pending = append(split(target), pending...)
	}
	return done, nil
}

// linkAt gives the target of a link; "" for anything else.
func linkAt(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", err
	}
	return os.Readlink(path)
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) })
}

// holder finds the narrowest root of a real path and gives the path as that
// root spells it: a file system may ignore case.
func (r *Roots) holder(real string) (string, *root, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var best *root
	for _, o := range r.roots {
		if within(o.path, real) && (best == nil || len(o.path) > len(best.path)) {
			best = o
		}
	}
	if best != nil {
		return real, best, true
	}
	for _, o := range r.roots {
		if len(real) >= len(o.path) && strings.EqualFold(real[:len(o.path)], o.path) {
			spelled := o.path + real[len(o.path):]
			if within(o.path, spelled) && o.is(real[:len(o.path)]) {
				return spelled, o, true
			}
		}
	}
	return "", nil, false
}

// within reports whether path is folder or lies in it.
func within(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(folder[len(folder)-1]))
}

// A root is one folder, held open.
type root struct {
	path string

	mu     sync.Mutex
	handle *os.Root
	info   fs.FileInfo
}

// open gives the folder at the root's path. If another folder came there, that
// one is opened; who uses the old one may go on.
func (o *root) open() (*os.Root, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	info, err := os.Lstat(o.path)
	if err != nil {
		return nil, err
	}
	if o.handle != nil && os.SameFile(info, o.info) {
		return o.handle, nil
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: o.path, Err: syscall.ENOTDIR}
	}
	handle, err := os.OpenRoot(o.path)
	if err != nil {
		return nil, err
	}
	if info, err = handle.Stat("."); err != nil {
		handle.Close()
		return nil, err
	}
	o.handle, o.info = handle, info
	return handle, nil
}

// is reports whether path leads to the root's folder.
func (o *root) is(path string) bool {
	info, err := os.Stat(path)
	o.mu.Lock()
	defer o.mu.Unlock()
	return err == nil && o.info != nil && os.SameFile(info, o.info)
}

func (o *root) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.handle != nil {
		o.handle.Close()
		o.handle = nil
	}
}
