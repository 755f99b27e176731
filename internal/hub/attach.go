package hub

import "dragoman/wire/op"

// An Attachment says how a client wants its events.
type Attachment struct {
	// ID is the client's.
	ID string
	// Unit of positions.
	Unit op.Unit
	// Filter of events.
	Filter *Filter
	// Since asks for a replay of the events behind it; nil for live ones only.
	Since *int64
	// OtherCore tells that Since counts in another instance's sequence: the
	// replay then begins with the ring.
	OtherCore bool
}

// A Gap tells which events a replay lacks.
type Gap struct {
	From, To int64
	// Reason is evicted, restarted or future.
	Reason string
}

// A Place is where in the sequence a client was attached.
type Place struct {
	// Seq is the last event before the response.
	Seq int64
	// Oldest is the oldest event that can be replayed; Seq+1 when there is
	// none.
	Oldest int64
	// Gap is nil when Since was met.
	Gap *Gap
}

// Attach attaches a client: reply makes its response (a line without LF,
// owned by the hub) from the place; the replay follows it, then live events,
// none lost or doubled. reply is called under the hub's lock and mustn't
// call the hub. A client is attached once.
func (c *Client) Attach(a Attachment, reply func(Place) []byte) {
	h := c.hub
	// Before the place is taken: what comes behind it has the unit's positions.
	h.used[a.Unit].Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	cursor, place := h.placeLocked(a)
	line := reply(place)

	c.mu.Lock()
	defer c.mu.Unlock()
	// What waits already was answered before the hello.
	for i := range c.queue {
		c.queue[i].after = 0
	}
	c.pushLocked(item{line: append(line, '\n')})
	c.id, c.unit, c.cursor = a.ID, a.Unit, cursor
	c.filter.Store(a.Filter)
	c.sent.Store(cursor.total)
	if !c.ended {
		h.byID[a.ID] = c
		h.units[a.Unit].Add(1)
	}
	c.wake()
}

// placeLocked finds the node behind which a client's events begin.
func (h *Hub) placeLocked(a Attachment) (*node, Place) {
	p := Place{Seq: h.head.seq, Oldest: h.tail.seq + 1}
	switch {
	case a.Since == nil:
		return h.head, p
	case a.OtherCore:
		// The other instance's last event isn't known: To is From.
		p.Gap = &Gap{From: *a.Since + 1, To: *a.Since + 1, Reason: "restarted"}
		return h.tail, p
	case *a.Since > p.Seq:
		p.Gap = &Gap{From: p.Seq + 1, To: *a.Since, Reason: "future"}
		return h.head, p
	case *a.Since < h.tail.seq:
		p.Gap = &Gap{From: *a.Since + 1, To: h.tail.seq, Reason: "evicted"}
		return h.tail, p
	}
	n := h.tail
	for n.seq < *a.Since {
		n = n.next.Load()
	}
	return n, p
}

// SetFilter changes which events come to the client from now on; those that
// wait already pass the old or the new one.
func (c *Client) SetFilter(f *Filter) { c.filter.Store(f) }

// detachLocked takes the client out of the hub; it reports whether it was
// attached.
func (h *Hub) detachLocked(c *Client) bool {
	delete(h.clients, c)
	if c.id == "" || h.byID[c.id] != c {
		return false
	}
	delete(h.byID, c.id)
	h.units[c.unit].Add(-1)
	return true
}
