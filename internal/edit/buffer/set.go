package buffer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/recovery"
	"dragoman/internal/edit/text"
)

// GCPercent is what a process that holds large documents gives
// debug.SetGCPercent. Their text lies off the heap; at the default 100 the
// collector would let the pieces and undo steps take twice their size.
const GCPercent = 50

// Options say what a Set works with.
type Options struct {
	// Files reaches the disk; nil: the operating system, unconfined.
	Files file.System
	// Observer is told of every change; nil: nobody.
	Observer Observer
	// Recovery keeps unsaved edits; nil: nothing does. The caller closes it,
	// after the Set.
	Recovery *recovery.Store
	// UndoBytes bounds the undo stack of each buffer; 0: the store's default.
	UndoBytes int
	// MaxOpenBytes is the largest file that opens without force; 0:
	// the constant of that name.
	MaxOpenBytes int64
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// A Set is the open buffers.
type Set struct {
	files     file.System
	observer  Observer
	logs      *recovery.Store
	undoBytes int
	maxOpen   int64
	now       func() time.Time

	mu      sync.Mutex
	next    int
	buffers []*Buffer
	// left are the logs of earlier cores by path, until they are recovered or
	// forgotten.
	left map[string]recovery.Item
}

// A Buffer is one document. All its state is the Set's.
type Buffer struct {
	id  ID
	set *Set

	// disk is held while the buffer's file is read or written; taken before mu.
	disk sync.Mutex

	mu                      sync.Mutex
	path, name              string
	store                   *text.Store
	revision, savedRevision int64
	format, savedFormat     charset.Format
	// named: the encoding was asked for, not found out.
	named     bool
	preferred EOL
	isNew     bool
	readOnly  bool
	base      *base
	state     State
	// theirs is the disk's version in state conflict.
	theirs   *version
	log      *recovery.Log
	recovery *RecoveryInfo
	clients  map[string]bool
	joining  joining
	// scratch holds the only edit of a call: the store keeps none.
	scratch [1]text.Edit
	// final is whether the text of the store's version finalAt-1 ends with a
	// line end.
	final   bool
	finalAt int
	kept    map[int64]keptText
	closed  bool
}

// base is what was last read from or written to a file (documents.md rule 1).
type base struct {
	stat file.Stat
	hash string
}

func (b *base) disk() *Disk {
	return &Disk{Hash: b.hash, Mtime: b.stat.Mtime, Size: b.stat.Size, Mode: b.stat.Mode}
}

// New makes an empty set.
func New(o Options) *Set {
	s := &Set{files: o.Files, observer: o.Observer, logs: o.Recovery, undoBytes: o.UndoBytes, maxOpen: o.MaxOpenBytes, now: o.Now}
	if s.maxOpen == 0 {
		s.maxOpen = MaxOpenBytes
	}
	if s.files == nil {
		s.files = file.OS{}
	}
	if s.observer == nil {
		s.observer = nobody{}
	}
	if s.logs == nil {
		s.logs = recovery.Open("")
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.left = map[string]recovery.Item{}
	items, _ := s.logs.List()
	for _, it := range slices.Backward(items) {
		if it.Path != "" {
			s.left[it.Path] = it
		}
	}
	return s
}

type nobody struct{}

func (nobody) Units() [UnitCount]bool    { return [UnitCount]bool{} }
func (nobody) Opened(Info)               {}
func (nobody) Closed(ID, string, string) {}
func (nobody) Changed(Change)            {}
func (nobody) Saved(Saved)               {}
func (nobody) Info(Info, []string)       {}

// get finds a buffer; it may be closed a moment later.
func (s *Set) get(id ID) (*Buffer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.buffers {
		if b.id == id {
			return b, nil
		}
	}
	return nil, fail(NoBuffer, "there is no buffer %s", id)
}

// locked finds a buffer and locks its text. The caller unlocks.
func (s *Set) locked(id ID) (*Buffer, error) {
	b, err := s.get(id)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil, fail(NoBuffer, "buffer %s is closed", id)
	}
	return b, nil
}

// find gives the buffer of a file: by what the file is, or by path for one that
// isn't there yet. Call with s.mu held.
func (s *Set) findLocked(path string, key *file.Key) *Buffer {
	for _, b := range s.buffers {
		b.mu.Lock()
		same := b.path == path || key != nil && b.path != "" && b.base != nil && b.base.stat.Key == *key && b.base.stat.Inode != 0
		b.mu.Unlock()
		if same {
			return b
		}
	}
	return nil
}

// addLocked puts a buffer in the set and tells of it. Call with s.mu held.
func (s *Set) addLocked(b *Buffer, client string) Info {
	s.next++
	b.id, b.set = ID(fmt.Sprintf("b%d", s.next)), s
	if b.name == "" {
		b.name = filepath.Base(b.path)
	}
	b.state, b.kept, b.clients = OK, map[int64]keptText{}, map[string]bool{}
	if client != "" {
		b.clients[client] = true
	}
	s.buffers = append(s.buffers, b)
	b.mu.Lock()
	defer b.mu.Unlock()
	info := b.infoLocked()
	s.observer.Opened(info)
	return info
}

// List gives all buffers, the oldest first.
func (s *Set) List() []Info {
	s.mu.Lock()
	all := slices.Clone(s.buffers)
	s.mu.Unlock()
	out := make([]Info, 0, len(all))
	for _, b := range all {
		b.mu.Lock()
		if !b.closed {
			out = append(out, b.infoLocked())
		}
		b.mu.Unlock()
	}
	return out
}

// Get gives one buffer's info.
func (s *Set) Get(id ID) (Info, error) {
	b, err := s.locked(id)
	if err != nil {
		return Info{}, err
	}
	defer b.mu.Unlock()
	return b.infoLocked(), nil
}

// Quiet waits until nobody reads or writes the file of the buffer at path, so
// that the observer has been told of a save that was on its way. There may be
// no such buffer.
func (s *Set) Quiet(path string) {
	id, ok := s.ByPath(path)
	if !ok {
		return
	}
	if b, err := s.get(id); err == nil {
		b.disk.Lock()
		b.disk.Unlock() // only the waiting counts
	}
}

// ByPath gives the buffer that has the file at path open.
func (s *Set) ByPath(path string) (ID, bool) {
	real, err := s.files.Resolve(path)
	if err != nil {
		return "", false
	}
	var key *file.Key
	if st, err := s.files.Stat(real); err == nil {
		key = &st.Key
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.findLocked(real, key); b != nil {
		return b.id, true
	}
	return "", false
}

// Snapshot gives a buffer's text and revision, for readers that take long.
func (s *Set) Snapshot(id ID) (text.Text, int64, error) {
	b, err := s.locked(id)
	if err != nil {
		return text.Text{}, 0, err
	}
	defer b.mu.Unlock()
	return b.store.Snapshot(), b.revision, nil
}

// NewParams are the params of NewScratch.
type NewParams struct {
	Name, Text, Client string
}

// NewScratch makes a buffer without a path (buffer.new).
func (s *Set) NewScratch(p NewParams) (Info, error) {
	t, err := text.Load(strings.NewReader(p.Text), 0, int64(len(p.Text)))
	if err != nil {
		return Info{}, badRequest("text", "type", "%v", err)
	}
	b := &Buffer{name: p.Name, preferred: LF, format: charset.Format{Encoding: charset.UTF8}}
	b.savedFormat = b.format
	b.store = text.NewStore(t, s.undoBytes)
	b.store.SetSaved(text.Text{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.name == "" {
		b.name = fmt.Sprintf("untitled-%d", s.next+1)
	}
	return s.addLocked(b, p.Client), nil
}

// CloseParams are the params of Close.
type CloseParams struct {
	Buffer       ID
	Client       string
	Discard, All bool
}

// Close drops a client's use of a buffer, which goes with its last use
// (buffer.close).
func (s *Set) Close(p CloseParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.buffers, func(b *Buffer) bool { return b.id == p.Buffer })
	if i < 0 {
		return fail(NoBuffer, "there is no buffer %s", p.Buffer)
	}
	b := s.buffers[i]
	b.mu.Lock()
	defer b.mu.Unlock()
	others := len(b.clients)
	if b.clients[p.Client] {
		others--
	}
	if others > 0 && !p.All {
		b.updateLocked(func() { delete(b.clients, p.Client) })
		return nil
	}
	if b.modifiedLocked() && !p.Discard {
		return conflict(ReasonModified, "%s has unsaved text", b.name)
	}
	reason := "closed"
	if b.modifiedLocked() {
		reason = "discarded"
	}
	b.closed = true
	s.buffers = slices.Delete(s.buffers, i, i+1)
	s.observer.Closed(b.id, b.path, reason)
	b.dropLogLocked()
	return nil
}

// Detach drops every use of a client that is gone. Buffers stay, also those
// that nobody uses and that hold unsaved text; others go.
func (s *Set) Detach(client string) {
	for _, info := range s.List() {
		if slices.Contains(info.Clients, client) {
			if err := s.Close(CloseParams{Buffer: info.Buffer, Client: client}); err != nil {
				s.dropClient(info.Buffer, client)
			}
		}
	}
}

func (s *Set) dropClient(id ID, client string) {
	if b, err := s.locked(id); err == nil {
		b.updateLocked(func() { delete(b.clients, client) })
		b.mu.Unlock()
	}
}

func languageOf(name string) string { return languages[strings.ToLower(filepath.Ext(name))] }
