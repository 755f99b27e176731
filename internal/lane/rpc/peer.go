package rpc

import (
	"strconv"
	"sync"

	"dragoman/wire/agent"
)

// peer is our side of a connection: calls, and a loop that reads.
type peer struct {
	link     link
	envelope *envelope
	// notify takes notifications, on the reading goroutine.
	notify func(m message)
	// lost is told why the connection ended, once pending calls are settled.
	lost func(why error)

	mu      sync.Mutex
	last    int64
	pending map[string]func(message, error)
	err     error         // why it closed
	closed  chan struct{} // closed with err
	done    chan struct{} // closed when the loop has returned
}

func newPeer(l link, e *envelope, notify func(message), lost func(error)) *peer {
	return &peer{
		link: l, envelope: e, notify: notify, lost: lost, pending: map[string]func(message, error){},
		closed: make(chan struct{}), done: make(chan struct{}),
	}
}

// serve reads until the connection ends, settles what is pending, and then
// returns.
func (p *peer) serve() {
	defer close(p.done)
	d := decoder{envelope: p.envelope}
	for {
		frame, err := p.link.read()
		if err == nil {
			var m message
			if m, err = d.decode(frame); err == nil {
				p.handle(m)
				continue
			}
		}
		p.fail(err)
		return
	}
}

func (p *peer) handle(m message) {
	switch m.kind {
	case reply:
		if settle := p.take(idText(m.id)); settle != nil {
			settle(m, nil)
		}
	case request:
		p.link.write(p.envelope.refusal(m))
	case notification:
		p.notify(m)
	}
}

// idText is an id of ours, which may come back as a string.
func idText(id []byte) string {
	if text, ok := agent.String(id); ok {
		return text
	}
	return string(id)
}

func (p *peer) take(id string) func(message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	settle := p.pending[id]
	delete(p.pending, id)
	return settle
}

// fail ends the connection with its reason; the first one counts.
func (p *peer) fail(err error) {
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return
	}
	p.err = err
	pending := p.pending
	p.pending = nil
	close(p.closed)
	p.mu.Unlock()
	for _, settle := range pending {
		settle(message{}, err)
	}
	p.lost(err)
}

// start sends a call. settle is called once, on the reading goroutine or
// when the connection ends.
func (p *peer) start(method string, params []byte, settle func(message, error)) {
	p.mu.Lock()
	if p.err != nil {
		err := p.err
		p.mu.Unlock()
		settle(message{}, err)
		return
	}
	p.last++
	key := strconv.FormatInt(p.last, 10)
	id := []byte(key)
	if p.envelope.stringIDs {
		key = "a4aa-" + key
		id = quote(key)
	}
	p.pending[key] = settle
	p.mu.Unlock()
	if err := p.link.write(p.envelope.call(method, params, id)); err != nil {
		if settle := p.take(key); settle != nil {
			settle(message{}, err)
		}
	}
}

// send sends a notification.
func (p *peer) send(method string, params []byte) error {
	return p.link.write(p.envelope.notification(method, params))
}
