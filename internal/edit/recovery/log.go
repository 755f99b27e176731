package recovery

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"dragoman/internal/edit/text"
)

// A Log takes the edits of one buffer.
type Log struct {
	store  *Store
	header Header

	mu sync.Mutex
	unwritten
	dropped bool

	// writing is held while the file is written to.
	writing sync.Mutex
	file    *os.File
}

// ID is the log's, as Item names it.
func (l *Log) ID() string { return l.header.ID }

// Edit adds an edit, which refers to the text after all edits before.
func (l *Log) Edit(e text.Edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped {
		return
	}
	l.pending = appendEdit(l.pending, e)
	if len(l.pending) > syncAt {
		l.store.hurry()
	}
}

// Keep adds the whole text t and syncs: from here on the log needs no file.
func (l *Log) Keep(t text.Text) error {
	if err := l.flush(); err != nil {
		return err
	}
	l.mu.Lock()
	if !l.dropped {
		l.content, l.hasContent, l.kept = t, true, true
	}
	l.mu.Unlock()
	return l.flush()
}

// Drop gives the log up: its edits are saved or discarded. It doesn't wait; the
// next sync, which it brings about, removes the file. It may be called twice.
func (l *Log) Drop() {
	l.mu.Lock()
	l.dropped, l.unwritten = true, unwritten{}
	l.mu.Unlock()
	l.store.hurry()
}

// remove removes a log that was dropped. Call with l.writing held.
func (l *Log) remove() error {
	l.store.mu.Lock()
	delete(l.store.live, l.header.ID)
	l.store.mu.Unlock()
	if l.file == nil {
		return nil
	}
	name := l.file.Name()
	err := errors.Join(l.file.Close(), os.Remove(name))
	l.file = nil
	return err
}

// unwritten is what waits to be written.
type unwritten struct {
	pending []byte
	// content goes before pending, but after the header, which is the first
	// thing that was pending.
	content    text.Text
	hasContent bool
	kept       bool
}

func (u unwritten) empty() bool { return len(u.pending) == 0 && !u.hasContent }

// flush writes and syncs what waits. What couldn't be written waits on.
func (l *Log) flush() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	u, dropped := l.unwritten, l.dropped
	l.unwritten = unwritten{}
	l.mu.Unlock()
	if dropped {
		return l.remove()
	}
	if u.empty() {
		return nil
	}
	err := l.write(u)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dropped {
		// Edits that came in the meantime follow; content can't have, since Keep
		// flushes first.
		u.pending = append(u.pending, l.pending...)
		l.unwritten = u
	}
	return err
}

// write appends to the file; what a failure leaves in it is cut off again.
func (l *Log) write(u unwritten) error {
	if err := l.create(); err != nil {
		return err
	}
	start, err := l.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if err = l.writeAll(u); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		_ = l.file.Truncate(start)
	}
	return err
}

func (l *Log) writeAll(u unwritten) error {
	head := 0
	if u.hasContent {
		head = headerLen(u.pending)
	}
	if _, err := l.file.Write(u.pending[:head]); err != nil {
		return err
	}
	if u.hasContent {
		if err := l.writeContent(u); err != nil {
			return err
		}
	}
	_, err := l.file.Write(u.pending[head:])
	return err
}

func (l *Log) writeContent(u unwritten) error {
	kind := byte(kindContent)
	if u.kept {
		kind = kindKept
	}
	var buf, part []byte
	for at := 0; at == 0 || at < u.content.Len(); at += contentPart {
		part = u.content.Append(part[:0], at, min(at+contentPart, u.content.Len()))
		buf = appendRecord(buf[:0], kind, part)
		if _, err := l.file.Write(buf); err != nil {
			return err
		}
		kind = kindMore
	}
	return nil
}

// create makes the folder and the file at the first write.
func (l *Log) create() error {
	if l.file != nil {
		return nil
	}
	if err := os.MkdirAll(l.store.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.store.path(l.header.ID), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	l.file = f
	if d, err := os.Open(filepath.Dir(f.Name())); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}
