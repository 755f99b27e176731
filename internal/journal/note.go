package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// noteName is the file of a log's note.
const noteName = "note.json"

// SetNote replaces the log's note, one JSON value beside the entries: what is
// to be known of a session without reading it. It is there or not after a
// crash, never in part.
func (l *Log) SetNote(note []byte) error {
	clean := appendClean(nil, l.j.secrets.Load(), note)
	l.io.Lock()
	defer l.io.Unlock()
	if l.gone {
		return ErrClosed
	}
	f, err := os.CreateTemp(l.dir, "note-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(clean)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(l.dir, noteName))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncDir(l.dir)
}

// Note reads the log's note, nil when it has none.
func (l *Log) Note() ([]byte, error) {
	note, err := os.ReadFile(filepath.Join(l.dir, noteName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return note, err
}
