package hub

import "net"

// droppedLine is the last line to a client that was too slow (core.md §3).
const droppedLine = `{"event":"session.dropped","params":{"reason":"slow"}}` + "\n"

// writeLoop is the client's writing goroutine.
func (c *Client) writeLoop() {
	defer c.end()
	var b batch
	for {
		state := c.fill(&b)
		if len(b.bufs) > 0 {
			if err := c.conn.WriteBatch(b.bufs); err != nil {
				return
			}
			c.settle(&b)
		}
		switch state {
		case stateDropped:
			_ = c.conn.WriteBatch(net.Buffers{[]byte(droppedLine)})
			return
		case stateEnded:
			return
		case stateIdle:
			c.wait()
		}
	}
}

// end closes the connection and takes the client out of the hub.
func (c *Client) end() {
	_ = c.conn.Close()
	c.mu.Lock()
	c.ended = true
	c.queue, c.skipped = nil, nil
	c.mu.Unlock()
	c.hub.mu.Lock()
	attached := c.hub.detachLocked(c)
	c.hub.mu.Unlock()
	close(c.done)
	if c.onEnd != nil {
		c.onEnd(attached)
	}
}

// A batch is what goes out in one write.
type batch struct {
	bufs    net.Buffers
	store   [][]byte
	size    int
	total   int64 // the log's total behind it, 0 for no events
	replies int64
	bulk    int64
	last    piece
}

func (b *batch) reset() {
	b.bufs = b.store[:0]
	b.size, b.total, b.replies, b.bulk, b.last = 0, 0, 0, 0, piece{}
}

func (b *batch) full() bool { return b.size >= batchBytes || len(b.bufs) >= batchPieces }

// addEvent adds a line of the log; neighbours in a slab become one buffer.
func (b *batch) addEvent(p *piece) {
	b.size += p.end - p.start
	if b.last.slab != nil && &b.last.slab[0] == &p.slab[0] && b.last.end == p.start {
		b.last.end = p.end
		b.bufs[len(b.bufs)-1] = b.last.bytes()
		return
	}
	b.bufs = append(b.bufs, p.bytes())
	b.last = *p
}

// addOwn adds a line of the client's own.
func (b *batch) addOwn(it item) {
	if len(it.line) > 0 {
		b.bufs = append(b.bufs, it.line)
	}
	b.size += len(it.line)
	b.last = piece{}
	if it.bulk {
		b.bulk += int64(len(it.line))
	} else {
		b.replies += int64(len(it.line))
	}
}

type writerState int

const (
	stateMore writerState = iota
	stateIdle
	stateEnded
	stateDropped
)

// fill collects the next batch: events up to the place where the next own
// line belongs, then that, and so on.
func (c *Client) fill(b *batch) writerState {
	b.reset()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { b.store = b.bufs[:0] }()
	if c.dropped {
		return stateDropped
	}
	for !b.full() {
		if len(c.queue) > 0 && (c.cursor == nil || c.cursor.seq >= c.queue[0].after) {
			it := c.queue[0]
			c.queue[0] = item{}
			c.queue = c.queue[1:]
			b.addOwn(it)
			if c.ended && len(c.queue) == 0 {
				return stateEnded
			}
			continue
		}
		if c.cursor == nil {
			return stateIdle
		}
		n := c.cursor.next.Load()
		if n == nil {
			return stateIdle
		}
		c.cursor = n
		b.total = n.total
		if n.owner != "" && n.owner == c.id || c.filter.Load().Match(n.event) {
			b.addEvent(n.line(c.unit))
		}
	}
	return stateMore
}

// settle accounts for a batch that was written.
func (c *Client) settle(b *batch) {
	if b.total > 0 {
		c.sent.Store(b.total)
	}
	if b.replies == 0 && b.bulk == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replySize -= b.replies
	c.bulkSize -= b.bulk
	if c.room != nil && c.replySize < c.hub.opts.ReplyBytes {
		close(c.room)
		c.room = nil
	}
}

// wait returns when there may be something to write.
func (c *Client) wait() {
	c.hub.waiting.Add(1)
	defer c.hub.waiting.Add(-1)
	// The channel is taken before the log is looked at, so that an event
	// between the two closes it.
	wakeup := *c.hub.wakeup.Load()
	c.mu.Lock()
	ready := c.ended || (c.cursor != nil && c.cursor.next.Load() != nil)
	c.mu.Unlock()
	if ready {
		return
	}
	select {
	case <-c.signal:
	case <-wakeup:
	}
}
