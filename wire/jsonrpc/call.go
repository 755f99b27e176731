package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"dragoman/wire/ndjson"
)

// ErrForgotten settles a call that [Call.Forget] gave up.
var ErrForgotten = errors.New("call was given up")

// A Call is a request of ours that is under way.
type Call struct {
	p    *Peer
	id   int64
	done chan struct{}

	// Set by whoever takes the call from Peer.calls, before done is closed.
	result []byte
	err    error
}

// Call sends a request and waits for its reply. The result is the caller's. An
// error reply is an [*Error]. When ctx ends, the call is given up.
func (p *Peer) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	c, err := p.Start(method, params)
	if err != nil {
		return nil, err
	}
	result, err := c.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		c.Forget()
	}
	return result, err
}

// Start sends a request; nil params are left out. It fails with ErrPeerClosed
// once the link is gone.
func (p *Peer) Start(method string, params []byte) (*Call, error) {
	c := &Call{p: p, done: make(chan struct{})}
	p.mu.Lock()
	if p.calls == nil {
		p.mu.Unlock()
		return nil, ErrPeerClosed
	}
	p.lastID++
	c.id = p.lastID
	p.calls[c.id] = c
	p.mu.Unlock()
	head := strconv.AppendInt(append(p.open(), `"id":`...), c.id, 10)
	if err := p.send(append(head, ','), method, params); err != nil {
		c.settle(nil, err)
		return nil, err
	}
	return c, nil
}

// Notify sends a notification; nil params are left out.
func (p *Peer) Notify(method string, params []byte) error {
	return p.send(p.open(), method, params)
}

// open begins a message.
func (p *Peer) open() []byte {
	head := make([]byte, 0, 96)
	if p.opts.OmitVersion {
		return append(head, '{')
	}
	return append(head, `{"jsonrpc":"2.0",`...)
}

// send writes a request or notification whose head ends where "method" follows.
func (p *Peer) send(head []byte, method string, params []byte) error {
	head = ndjson.AppendQuote(append(head, `"method":`...), method)
	var err error
	if len(params) == 0 {
		err = p.out.Write(head, brace)
	} else {
		err = p.out.Write(append(head, `,"params":`...), oneLine(params), brace)
	}
	return closedError(err)
}

var brace = []byte("}")

// closedError names the end of the link as this package does.
func closedError(err error) error {
	if errors.Is(err, ndjson.ErrClosed) {
		return ErrPeerClosed
	}
	return err
}

// oneLine returns valid JSON without line feeds, which can only stand between
// its tokens.
func oneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 {
		return value
	}
	return bytes.ReplaceAll(value, []byte("\n"), []byte(" "))
}

// settle ends a call unless it has settled.
func (c *Call) settle(result []byte, err error) bool {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.p.calls[c.id] != c {
		return false
	}
	delete(c.p.calls, c.id)
	c.result, c.err = result, err
	close(c.done)
	return true
}

// ID is the request's id.
func (c *Call) ID() int64 { return c.id }

// Wait returns the reply, or the end of ctx; then the call stays pending.
func (c *Call) Wait(ctx context.Context) ([]byte, error) {
	select {
	case <-c.done:
		return c.result, c.err
	default:
	}
	select {
	case <-c.done:
		return c.result, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Forget gives the call up: it settles with ErrForgotten, and its reply will
// count as unknown.
func (c *Call) Forget() { c.settle(nil, ErrForgotten) }

// Done is closed when the call has settled.
func (c *Call) Done() <-chan struct{} { return c.done }

// reply settles the call with that id.
func (p *Peer) reply(id []byte, result []byte, err error) bool {
	n, ok := parseID(id)
	if !ok {
		return false
	}
	p.mu.Lock()
	c := p.calls[n]
	p.mu.Unlock()
	return c != nil && c.settle(result, err)
}

// parseID reads an id of ours, which may come back as a string.
func parseID(id []byte) (int64, bool) {
	if n := len(id); n > 2 && id[0] == '"' && id[n-1] == '"' {
		id = id[1 : n-1]
	}
	if len(id) == 0 || len(id) > 18 || id[0] == '0' {
		return 0, false
	}
	n := int64(0)
	for _, c := range id {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}
