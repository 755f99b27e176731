package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"

	"dragoman/internal/redact"
)

// Limits of a journal.
const (
	// SegmentBytes is how much is preallocated at a time. An entry that is
	// larger gets a segment of its own.
	SegmentBytes = 1 << 20
	// MaxEntryBytes bounds one entry.
	MaxEntryBytes = 64 << 20
	// maxWaiting bounds what waits for the writer, in bytes: Append then
	// waits, which holds back the agent.
	maxWaiting = 8 << 20
)

// Errors of a journal.
var (
	ErrClosed = errors.New("the journal is closed")
	ErrName   = errors.New("no name for a log")
	ErrTooBig = fmt.Errorf("an entry has more than %d bytes", MaxEntryBytes)
)

// A Journal is a folder of logs.
type Journal struct {
	dir     string
	secrets atomic.Pointer[redact.Redactor]

	mu      sync.Mutex
	room    *sync.Cond
	logs    map[string]*Log
	queue   []task
	waiting int
	closed  bool
	wake    chan struct{}
	done    chan struct{}
}

// A task is an entry to write, or, with ack, something to answer.
type task struct {
	log   *Log
	index int64
	entry []byte
	ack   chan<- error
}

// Open opens the journal in dir, which it makes.
func Open(dir string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, logs: map[string]*Log{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	j.room = sync.NewCond(&j.mu)
	j.secrets.Store(&redact.Redactor{})
	go j.write()
	return j, nil
}

// Hide sets the values that are replaced in what is written from now on.
func (j *Journal) Hide(secrets []string) { j.secrets.Store(redact.New(secrets)) }

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// Names lists the logs that are there.
func (j *Journal) Names() ([]string, error) {
	entries, err := os.ReadDir(j.dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() && goodName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Log opens the log of that name, new or with what it holds; a torn tail is
// cut off.
func (j *Journal) Log(name string) (*Log, error) {
	if !goodName.MatchString(name) {
		return nil, ErrName
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, ErrClosed
	}
	if l := j.logs[name]; l != nil {
		return l, nil
	}
	l, err := openLog(j, filepath.Join(j.dir, name))
	if err != nil {
		return nil, err
	}
	j.logs[name] = l
	return l, nil
}

// Remove deletes a log with all that it holds. Appending to it fails then.
func (j *Journal) Remove(name string) error {
	if !goodName.MatchString(name) {
		return ErrName
	}
	j.mu.Lock()
	l := j.logs[name]
	delete(j.logs, name)
	j.mu.Unlock()
	if l != nil {
		l.io.Lock()
		defer l.io.Unlock()
		l.gone = true
		_ = l.closeFile()
	}
	if err := os.RemoveAll(filepath.Join(j.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(j.dir)
}

// Close writes and syncs what waits and stops the writer. It may be called
// twice.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closed = true
	j.room.Broadcast()
	j.mu.Unlock()
	j.poke()
	<-j.done
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	for name, l := range j.logs {
		l.io.Lock()
		err = errors.Join(err, l.sync(), l.closeFile())
		l.io.Unlock()
		delete(j.logs, name)
	}
	return err
}

func (j *Journal) poke() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// put queues a task; it waits while too much waits already.
func (j *Journal) put(t task) error {
	j.mu.Lock()
	for j.waiting > maxWaiting && !j.closed {
		j.room.Wait()
	}
	if j.closed {
		j.mu.Unlock()
		return ErrClosed
	}
	j.queue = append(j.queue, t)
	j.waiting += len(t.entry)
	j.mu.Unlock()
	j.poke()
	return nil
}

// write is the writer. It takes all that waits at once, writes it with one
// call a log, and then syncs each log once for all who asked.
func (j *Journal) write() {
	defer close(j.done)
	for {
		j.mu.Lock()
		batch := j.queue
		j.queue, j.waiting = nil, 0
		closed := j.closed
		j.room.Broadcast()
		j.mu.Unlock()
		j.writeBatch(batch)
		if len(batch) > 0 {
			continue
		}
		if closed {
			return
		}
		<-j.wake
	}
}

func (j *Journal) writeBatch(batch []task) {
	redactor := j.secrets.Load()
	var touched []*Log
	for _, t := range batch {
		if t.entry == nil {
			continue
		}
		if len(t.log.buf) == 0 {
			touched = append(touched, t.log)
		}
		t.log.add(t.index, redactor, t.entry)
	}
	for _, l := range touched {
		l.flush()
	}
	synced := map[*Log]error{}
	for _, t := range batch {
		if t.ack == nil {
			continue
		}
		err, ok := synced[t.log]
		if !ok {
			t.log.io.Lock()
			err = t.log.sync()
			t.log.io.Unlock()
			synced[t.log] = err
		}
		t.ack <- err
	}
}
