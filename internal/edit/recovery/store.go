package recovery

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/internal/edit/text"
)

// SyncEvery is how often logs are synced: what a crash may cost.
const SyncEvery = time.Second

// syncAt is how much waits for the next sync, at most, in bytes of one log.
const syncAt = 256 << 10

// InlineMax is the largest base text that a log holds a copy of, in bytes. For
// a larger one the file itself has to be there still.
const InlineMax = 8 << 20

const suffix = ".log"

// ErrNotFound says that no log has that id.
var ErrNotFound = errors.New("no such recovery log")

// A Header says what a log's edits were made on.
type Header struct {
	ID string `json:"id"`
	// Path is the file's; empty for a scratch buffer.
	Path string `json:"path,omitzero"`
	// Name is for people.
	Name string `json:"name"`
	// Hash, Size and Mtime are the base file's. Mtime is zero if the edits
	// weren't made on what a file held; Hash is empty for large files.
	Hash  string    `json:"hash,omitzero"`
	Size  int64     `json:"size,omitzero"`
	Mtime time.Time `json:"mtime,omitzero"`
	// Encoding and BOM are the text's format.
	Encoding string `json:"encoding"`
	BOM      bool   `json:"bom,omitzero"`
}

// An Item is a log that an earlier core left.
type Item struct {
	Header
	// SavedAt is when it was last written, Edits how many it holds.
	SavedAt time.Time
	Edits   int
}

// A Store is a folder of logs.
type Store struct {
	dir  string
	stop chan struct{}
	wake chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	live   map[string]*Log
	closed bool
}

// Open opens the folder, which is made when the first log is written. An empty
// dir gives a store that keeps nothing.
func Open(dir string) *Store {
	s := &Store{dir: dir, stop: make(chan struct{}), wake: make(chan struct{}, 1), live: map[string]*Log{}}
	if dir != "" {
		s.done.Go(s.run)
	}
	return s
}

func (s *Store) run() {
	tick := time.NewTicker(SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = s.Sync()
		case <-s.wake:
			_ = s.Sync()
		case <-s.stop:
			return
		}
	}
}

// hurry makes the next sync come at once.
func (s *Store) hurry() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Sync writes and syncs what all logs hold in memory. An error stays with its
// log and is tried again at the next.
func (s *Store) Sync() error {
	s.mu.Lock()
	logs := make([]*Log, 0, len(s.live))
	for _, l := range s.live {
		logs = append(logs, l)
	}
	s.mu.Unlock()
	var errs []error
	for _, l := range logs {
		errs = append(errs, l.flush())
	}
	return errors.Join(errs...)
}

// Close syncs and ends the store; logs stay for the next core. It may be called
// twice.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		close(s.stop)
	}
	s.done.Wait()
	return s.Sync()
}

// Begin starts a log of edits to base. The header's ID is set here.
func (s *Store) Begin(h Header, base text.Text) *Log {
	h.ID = strings.ToLower(rand.Text()[:16])
	l := &Log{store: s, header: h}
	head, _ := json.Marshal(h)
	l.pending = appendRecord(nil, kindHeader, head)
	if h.Mtime.IsZero() || base.Len() <= InlineMax {
		l.content, l.hasContent = base, true
	}
	if s.dir == "" {
		l.dropped = true
		return l
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[h.ID] = l
	return l
}

// List gives the logs that earlier cores left, the newest first. Files that
// hold no header are left out.
func (s *Store) List() ([]Item, error) {
	if s.dir == "" {
		return nil, nil
	}
	names, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, n := range names {
		id, ok := strings.CutSuffix(n.Name(), suffix)
		if !ok || s.isLive(id) {
			continue
		}
		if item, err := s.item(id); err == nil {
			items = append(items, item)
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return b.SavedAt.Compare(a.SavedAt) })
	return items, nil
}

func (s *Store) isLive(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id] != nil
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+suffix) }

func (s *Store) open(id string) (*os.File, error) {
	if s.dir == "" || id == "" || filepath.Base(id) != id || s.isLive(id) {
		return nil, ErrNotFound
	}
	f, err := os.Open(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	return f, err
}

func (s *Store) item(id string) (Item, error) {
	f, err := s.open(id)
	if err != nil {
		return Item{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Item{}, err
	}
	h, edits, err := read(f, nil, nil)
	if err == nil && h.ID != id {
		err = ErrNotFound
	}
	return Item{h, info.ModTime(), edits}, err
}

// Item gives one log that an earlier core left.
func (s *Store) Item(id string) (Item, error) { return s.item(id) }

// A Content is the text in a log that its edits follow.
type Content struct {
	Text text.Text
	// OK: the log holds one. Else its edits are of the file's text.
	OK bool
	// Kept: it isn't what the file held, but what it was to hold.
	Kept bool
}

// Content gives the text that a log holds.
func (s *Store) Content(id string) (Content, error) {
	f, err := s.open(id)
	if err != nil {
		return Content{}, err
	}
	defer f.Close()
	return contentOf(f)
}

// Replay applies a log's edits to base: what Content gives, or else the file's
// text.
func (s *Store) Replay(id string, base text.Text) (text.Text, error) {
	f, err := s.open(id)
	if err != nil {
		return text.Text{}, err
	}
	defer f.Close()
	var edits []text.Edit
	_, _, err = read(f, func(kind byte, _ []byte) {
		if kind != kindMore {
			edits = edits[:0]
		}
	}, func(e text.Edit) error {
		edits = append(edits, e)
		return nil
	})
	out := text.NewStore(base, 0)
	for _, e := range edits {
		if err == nil {
			err = out.Apply([]text.Edit{e}, text.Step{Join: true})
		}
	}
	return out.Snapshot(), err
}

// Forget removes a log.
func (s *Store) Forget(id string) error {
	f, err := s.open(id)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(s.path(id)))
}
