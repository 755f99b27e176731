package hub

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/wire/op"
)

// A Conn is the writing side of a connection.
type Conn interface {
	// WriteBatch writes whole lines, each with its LF. The memory is shared
	// and isn't kept or changed. Only one goroutine calls it.
	WriteBatch(bufs net.Buffers) error
	// SetWriteDeadline ends a blocked write; it may be called at any time.
	SetWriteDeadline(t time.Time) error
	// Close ends the connection, the reading side too.
	Close() error
}

// batchBytes and batchPieces bound one write, which always ends with a line:
// a dropped client's last line needs a boundary soon.
const (
	batchBytes  = 64 << 10
	batchPieces = 128
)

// An item is a line of the client's own.
type item struct {
	line []byte
	// after is the event that must have gone out before.
	after int64
	bulk  bool
}

// A Client is one connection: attached or not, it gets responses; attached,
// also events.
type Client struct {
	hub  *Hub
	conn Conn

	// sent is the log's total up to the last event that was written.
	sent   atomic.Int64
	filter atomic.Pointer[Filter]
	signal chan struct{} // the queue has something, or the client ends
	done   chan struct{}
	onEnd  func(attached bool)

	mu        sync.Mutex
	id        string
	unit      op.Unit
	cursor    *node // nil until attached
	queue     []item
	replySize int64 // bytes of responses in queue
	bulkSize  int64 // bytes of bulk events in queue
	room      chan struct{}
	watched   map[string]bool // runs
	skipped   map[skipKey]skip
	ended     bool // nothing more is taken
	dropped   bool
}

// NewClient adds a connection and starts its writing goroutine. onEnd is
// called once, when that has ended and the connection is closed; attached
// tells whether it had been.
func (h *Hub) NewClient(conn Conn, onEnd func(attached bool)) *Client {
	c := &Client{
		hub: h, conn: conn, onEnd: onEnd,
		signal: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.filter.Store(&Filter{})
	h.mu.Lock()
	h.clients[c] = struct{}{}
	h.mu.Unlock()
	h.wg.Go(c.writeLoop)
	return c
}

// Done is closed when the client is gone.
func (c *Client) Done() <-chan struct{} { return c.done }

// Send enqueues a response (a line without LF, which the hub then owns): it
// goes out behind every event that was emitted before. It reports false when
// the client has ended.
func (c *Client) Send(line []byte) bool {
	after := c.hub.Seq()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	// Another response may have looked at the sequence later and come first.
	if n := len(c.queue); n > 0 {
		after = max(after, c.queue[n-1].after)
	}
	c.pushLocked(item{line: append(line, '\n'), after: after})
	c.wake()
	return true
}

func (c *Client) pushLocked(it item) {
	c.queue = append(c.queue, it)
	if it.bulk {
		c.bulkSize += int64(len(it.line))
	} else {
		c.replySize += int64(len(it.line))
	}
}

// WaitRoom waits until the client's responses have room: what its own large
// responses fill holds back its requests (core.md §1).
func (c *Client) WaitRoom(ctx context.Context) error {
	for {
		c.mu.Lock()
		if c.ended || c.replySize < c.hub.opts.ReplyBytes {
			c.mu.Unlock()
			return nil
		}
		if c.room == nil {
			c.room = make(chan struct{})
		}
		room := c.room
		c.mu.Unlock()
		select {
		case <-room:
		case <-c.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Finish ends the client once what waits for it was written, events up to
// now included, or when wait has passed. It doesn't block; a second call may
// shorten the time.
func (c *Client) Finish(wait time.Duration) {
	after := c.hub.Seq()
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(wait))
	if c.ended {
		return
	}
	c.ended = true
	// An empty last item holds the end back behind the events.
	c.queue = append(c.queue, item{after: after})
	c.wake()
}

// Drop ends a client that is too slow: its last line says so where that
// works within Options.DropWait. It doesn't wait.
func (c *Client) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped {
		return
	}
	c.ended, c.dropped = true, true
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.hub.opts.DropWait))
	c.wake()
}

// Close ends the client at once.
func (c *Client) Close() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	_ = c.conn.Close()
	c.wake()
	<-c.done
}

func (c *Client) wake() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}
