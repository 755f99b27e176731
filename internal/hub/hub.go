package hub

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/wire/op"
)

// The defaults of [Options] (core.md §2, §3).
const (
	DefaultRingBytes  = 16 << 20
	DefaultQueueBytes = 64 << 20
	DefaultBulkBytes  = 4 << 20
	DefaultReplyBytes = 64 << 20
	DefaultLineBytes  = 64 << 20
	DefaultDropWait   = 100 * time.Millisecond
)

// Options configure a [Hub]; zero values mean the defaults.
type Options struct {
	// RingBytes is what is kept for replay.
	RingBytes int64
	// QueueBytes of events may wait for a client before it is dropped.
	QueueBytes int64
	// BulkBytes of bulk events may wait for a client; more are skipped.
	BulkBytes int64
	// ReplyBytes of responses may wait for a client before its requests are
	// held back.
	ReplyBytes int64
	// LineBytes is the longest event; a longer one is a bug and left out.
	LineBytes int64
	// DropWait is how long a dropped client's last line may take.
	DropWait time.Duration
	// Log gets what no client is told.
	Log *slog.Logger
}

func (o *Options) fill() {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.RingBytes, DefaultRingBytes)
	def(&o.QueueBytes, DefaultQueueBytes)
	def(&o.BulkBytes, DefaultBulkBytes)
	def(&o.ReplyBytes, DefaultReplyBytes)
	def(&o.LineBytes, DefaultLineBytes)
	if o.DropWait == 0 {
		o.DropWait = DefaultDropWait
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// A Hub is the sequence of events and its clients. Its methods may be called
// from any goroutine.
type Hub struct {
	opts Options

	mu      sync.Mutex
	head    *node // the newest event, or a node before the first
	tail    *node // the node before the oldest event of the ring
	slabs   slabs
	clients map[*Client]struct{}
	byID    map[string]*Client // attached ones
	checked int64              // total at the last look for slow clients

	units   [op.Units]atomic.Int64 // attached clients a unit
	used    [op.Units]atomic.Bool  // units that a client has had
	waiting atomic.Int64           // clients that wait for an event
	wakeup  atomic.Pointer[chan struct{}]
	kick    chan struct{}
	quit    chan struct{}
	close   sync.Once
	wg      sync.WaitGroup
}

// New starts a hub; Close ends it.
func New(o Options) *Hub {
	o.fill()
	first := &node{}
	h := &Hub{
		opts: o, head: first, tail: first,
		clients: map[*Client]struct{}{}, byID: map[string]*Client{},
		kick: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	ch := make(chan struct{})
	h.wakeup.Store(&ch)
	h.wg.Go(h.wakeLoop)
	return h
}

// wakeLoop wakes all waiting clients at once; what was emitted until it runs
// goes out in one batch.
func (h *Hub) wakeLoop() {
	for {
		select {
		case <-h.quit:
			return
		case <-h.kick:
		}
		ch := make(chan struct{})
		close(*h.wakeup.Swap(&ch))
	}
}

// closeWait bounds the last writes of a hub that closes, to clients that may
// not read.
const closeWait = 2 * time.Second

// Close ends every client after what is queued for it, as long as it reads,
// and waits for them. It may be called twice.
func (h *Hub) Close() {
	h.mu.Lock()
	clients := make([]*Client, 0, len(h.clients))
	for c := range h.clients {
		clients = append(clients, c)
	}
	h.mu.Unlock()
	for _, c := range clients {
		c.Finish(closeWait)
	}
	for _, c := range clients {
		<-c.Done()
	}
	h.close.Do(func() { close(h.quit) })
	h.wg.Wait()
}

// Emit appends an event to the sequence.
func (h *Hub) Emit(m op.Message) { h.EmitFor("", m) }

// EmitFor is Emit for an event of a run: it goes also to the client with
// that id, whatever its filter.
func (h *Hub) EmitFor(owner string, m op.Message) {
	encoded, ok := h.encodeAll(m)
	if !ok {
		return
	}
	h.mu.Lock()
	n := &node{seq: h.head.seq + 1, total: h.head.total, event: m.Event, owner: owner, params: m.ByUnit}
	var size int
	for u, params := range encoded {
		if params == nil {
			continue
		}
		p := h.slabs.put(op.Unit(u), m.Event, n.seq, params)
		n.lines[u].Store(p)
		size = max(size, p.end-p.start)
	}
	n.total += int64(size)
	h.head.next.Store(n)
	h.head = n
	for n.total-h.tail.total > h.opts.RingBytes && h.tail.next.Load() != n {
		h.tail = h.tail.next.Load()
	}
	slow := h.slowLocked()
	h.mu.Unlock()
	if h.waiting.Load() > 0 {
		select {
		case h.kick <- struct{}{}:
		default:
		}
	}
	for _, c := range slow {
		c.Drop()
	}
}

// encodeAll encodes the params for each unit in use; those without positions
// once, under the first unit.
func (h *Hub) encodeAll(m op.Message) (encoded [op.Units][]byte, ok bool) {
	for _, u := range h.unitsFor(m) {
		params := m.Params
		if m.ByUnit != nil {
			params = m.ByUnit(u)
		}
		raw, err := encode(params)
		if err == nil && int64(len(raw)) > h.opts.LineBytes-256 {
			err = op.TooLarge("an event", h.opts.LineBytes, int64(len(raw)))
		}
		if err != nil {
			h.opts.Log.Error("event isn't sent", "event", m.Event, "err", err)
			return encoded, false
		}
		encoded[u] = raw
	}
	return encoded, true
}

// unitsFor lists the units in use; the first one for events without
// positions, and when nobody is attached.
func (h *Hub) unitsFor(m op.Message) []op.Unit {
	var used []op.Unit
	for u := range op.Units {
		if m.ByUnit != nil && h.units[u].Load() > 0 {
			used = append(used, u)
		}
	}
	if used == nil {
		return []op.Unit{op.UTF8}
	}
	return used
}

// UnitsUsed says which units a client has had so far.
func (h *Hub) UnitsUsed() (used [op.Units]bool) {
	for u := range used {
		used[u] = h.used[u].Load()
	}
	return used
}

// slowLocked lists the clients over their queue; it looks once in a
// sixteenth of the queue, so that most events don't pay for it.
func (h *Hub) slowLocked() []*Client {
	if h.head.total-h.checked < h.opts.QueueBytes/16 {
		return nil
	}
	h.checked = h.head.total
	var slow []*Client
	for _, c := range h.byID {
		if h.head.total-c.sent.Load() > h.opts.QueueBytes {
			slow = append(slow, c)
		}
	}
	return slow
}

// Seq is the number of the newest event, 0 before the first.
func (h *Hub) Seq() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head.seq
}

// Attached is how many clients are attached.
func (h *Hub) Attached() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byID)
}
