package codex

import "sync"

// inboxBytes is how much of a session's messages wait for a host that doesn't
// read before the whole app-server is held back.
const inboxBytes = 16 << 20

// A message is a notification or a request of the agent's.
type message struct {
	method string
	params []byte
	line   []byte
	// id and answer of a request that waits for a decision: exactly one
	// result is sent, or answer is closed.
	id     string
	answer chan []byte
}

// An inbox is what a session hasn't handled yet. One goroutine takes from it.
type inbox struct {
	mu    sync.Mutex
	moved *sync.Cond
	list  []message
	bytes int
	ended bool
}

func newInbox() *inbox {
	b := &inbox{}
	b.moved = sync.NewCond(&b.mu)
	return b
}

// push adds m, after a wait while the inbox is full. It is false when the
// inbox has ended.
func (b *inbox) push(m message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.bytes >= inboxBytes && !b.ended {
		b.moved.Wait()
	}
	if b.ended {
		return false
	}
	b.list = append(b.list, m)
	b.bytes += len(m.line)
	b.moved.Broadcast()
	return true
}

// take waits for messages and returns all; none when the inbox has ended and
// is empty.
func (b *inbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.list) == 0 && !b.ended {
		b.moved.Wait()
	}
	list := b.list
	b.list, b.bytes = nil, 0
	b.moved.Broadcast()
	return list
}

// end lets nothing more in. It may be called twice.
func (b *inbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.moved.Broadcast()
}
