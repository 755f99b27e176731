package hub

import "dragoman/wire/op"

// A skipKey names one stream of a run's bulk events.
type skipKey struct{ run, stream string }

// A skip is what a client missed of a stream so far.
type skip struct {
	event string
	next  int64
}

// Bulk sends a bulk event of a run (core.md §2): to the client that started
// it, to those whose filter names the event, and to those that watch the
// run. It has no seq and isn't replayed. A client with too much waiting
// misses it and is told where it goes on.
func (h *Hub) Bulk(owner, run string, m op.Message, at op.Mark) {
	var lines [op.Units][]byte
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, c := range h.byID {
		if id != owner && !c.filter.Load().Names(m.Event) && !c.watches(run) {
			continue
		}
		key := skipKey{run, at.Stream}
		if c.misses(key, m.Event, at.Next) {
			continue
		}
		u := c.unit
		params := m.Params
		if m.ByUnit == nil {
			u = 0
		} else if lines[u] == nil {
			params = m.ByUnit(u)
		}
		if lines[u] == nil {
			raw, err := encode(params)
			if err != nil {
				h.opts.Log.Error("event isn't sent", "event", m.Event, "err", err)
				return
			}
			lines[u] = appendEvent(nil, m.Event, 0, raw)
		}
		c.bulk(key, m.Event, lines[u], at.Next, h.head.seq)
	}
}

func (c *Client) watches(run string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watched[run]
}

// Watch asks for the bulk events of a run.
func (c *Client) Watch(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watched == nil {
		c.watched = map[string]bool{}
	}
	c.watched[run] = true
}

// misses notes a bulk event that a client misses since it is behind already
// and hasn't caught up: such an event isn't even encoded.
func (c *Client) misses(key skipKey, event string, next int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, behind := c.skipped[key]; !behind || c.bulkSize <= c.hub.opts.BulkBytes/2 {
		return false
	}
	c.skipped[key] = skip{event: event, next: next}
	return true
}

// bulk enqueues a bulk line, or remembers that it was skipped.
func (c *Client) bulk(key skipKey, event string, line []byte, next, after int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	missed, behind := c.skipped[key]
	// A client that fell behind goes on when half of the room is free.
	limit := c.hub.opts.BulkBytes
	if behind {
		limit /= 2
	}
	if c.bulkSize > 0 && c.bulkSize+int64(len(line)) > limit {
		if c.skipped == nil {
			c.skipped = map[skipKey]skip{}
		}
		c.skipped[key] = skip{event: event, next: next}
		return
	}
	if behind {
		delete(c.skipped, key)
		c.pushLocked(item{line: skipLine(key, missed), after: after, bulk: true})
	}
	c.pushLocked(item{line: line, after: after, bulk: true})
	c.wake()
}

// skipLine tells a client where a stream goes on.
func skipLine(key skipKey, s skip) []byte {
	params, err := encode(struct {
		Run       string `json:"run"`
		Stream    string `json:"stream,omitzero"`
		SkippedTo int64  `json:"skippedTo"`
	}{key.run, key.stream, s.next})
	if err != nil {
		return nil
	}
	return appendEvent(nil, s.event, 0, params)
}

// EndRun tells every client what it missed of a run, before the run's last
// event, and forgets who watched it.
func (h *Hub) EndRun(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.byID {
		c.endRun(run, h.head.seq)
	}
}

func (c *Client) endRun(run string, after int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watched, run)
	for key, s := range c.skipped {
		if key.run != run {
			continue
		}
		delete(c.skipped, key)
		if !c.ended {
			c.pushLocked(item{line: skipLine(key, s), after: after, bulk: true})
			c.wake()
		}
	}
}
