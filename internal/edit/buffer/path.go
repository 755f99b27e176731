package buffer

import "path/filepath"

// PathParams are the params of SetPath.
type PathParams struct {
	Buffer ID
	Path   string
}

// SetPath gives a buffer another path, without touching the disk
// (buffer.setPath). What is there isn't the buffer's base.
func (s *Set) SetPath(p PathParams) (Info, error) {
	path, err := s.files.Resolve(p.Path)
	if err != nil {
		return Info{}, diskError(p.Path, err)
	}
	if other, ok := s.ByPath(path); ok && other != p.Buffer {
		return Info{}, conflict(ReasonPathOpen, "%s is open as %s", path, other)
	}
	b, err := s.get(p.Buffer)
	if err != nil {
		return Info{}, err
	}
	b.disk.Lock()
	defer b.disk.Unlock()
	_, statErr := s.files.Stat(path)
	b.mu.Lock()
	defer b.mu.Unlock()
	if path != b.path {
		b.updateLocked(func() {
			b.setPathLocked(path)
			b.base, b.state, b.theirs, b.isNew = nil, OK, nil, statErr != nil
		})
	}
	return b.infoLocked(), nil
}

// Moved makes buffers follow a file or folder that was renamed.
func (s *Set) Moved(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.buffers {
		b.mu.Lock()
		rest, err := filepath.Rel(from, b.path)
		if b.path != "" && err == nil && filepath.IsLocal(rest) {
			b.updateLocked(func() { b.setPathLocked(filepath.Join(to, rest)) })
		}
		b.mu.Unlock()
	}
}

func (b *Buffer) setPathLocked(path string) {
	b.path, b.name = path, filepath.Base(path)
}
