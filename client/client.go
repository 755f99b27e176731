package client

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// The times of the watchdog (core.md §3).
const (
	PingAfter = 10 * time.Second
	DeadAfter = 25 * time.Second
)

// Waits between attempts to reconnect.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

var (
	// ErrDisconnected fails calls whose link died before their response.
	ErrDisconnected = errors.New("the link to the core was lost")
	// ErrClosed fails calls of a client that was closed.
	ErrClosed = errors.New("the client is closed")
)

// A Dialer connects to a core.
type Dialer func(ctx context.Context) (io.ReadWriteCloser, error)

// Unix dials a unix socket.
func Unix(path string) Dialer {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
}

// An Event is one event as it came.
type Event struct {
	// Name of the event.
	Name string
	// Seq is its number, 0 for bulk events.
	Seq int64
	// Params are its params as JSON; they belong to the receiver.
	Params jsontext.Value
	// Line is the whole line; it belongs to the receiver.
	Line []byte
}

// Options configure a [Client]. The zero value gets no event at all.
type Options struct {
	// Name and Version tell the core which program this is.
	Name, Version string
	// Token for transports that ask for one.
	Token string
	// PositionEncoding lists units, the preferred first.
	PositionEncoding []string
	// Events are patterns; nil with an OnEvent means all events.
	Events []string
	// Core and Since ask for a replay from the start.
	Core  string
	Since *int64
	// OnEvent takes events, in order.
	OnEvent func(Event)
	// OnGap is told what a reconnect couldn't replay.
	OnGap func(core.Gap)
	// Once gives the client up when its link dies, instead of reconnecting.
	Once bool
}

// A Client is a connection to a core that is made again when it dies.
type Client struct {
	dial Dialer
	opts Options
	ctx  context.Context
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	link  *link         // nil while there is none
	ready chan struct{} // closed while there is a link
	hello core.SessionHelloResult
	core  string
	since *int64 // the last event seen
	err   error  // why the client ended
}

// New connects, says hello and returns a client that Close ends. ctx bounds
// the first attempt alone.
func New(ctx context.Context, dial Dialer, o Options) (*Client, error) {
	c := &Client{dial: dial, opts: o, done: make(chan struct{}), ready: make(chan struct{}), core: o.Core, since: o.Since}
	c.ctx, c.stop = context.WithCancel(context.Background())
	l, err := c.connect(ctx)
	if err != nil {
		c.stop()
		return nil, err
	}
	go c.keep(l)
	return c, nil
}

// Hello is the core's answer to the last hello.
func (c *Client) Hello() core.SessionHelloResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello
}

// Done is closed when the client has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the client has ended: ErrClosed, or with Options.Once what
// ended its link. It is nil before.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the client and waits for its goroutines. It may be called
// twice.
func (c *Client) Close() error {
	c.stop()
	<-c.done
	return nil
}

// keep serves a link and makes the next one when it has died.
func (c *Client) keep(l *link) {
	defer close(c.done)
	for {
		err := l.serve(c.ctx)
		c.setLink(nil)
		if c.ctx.Err() != nil {
			err = ErrClosed
		}
		if c.ctx.Err() != nil || c.opts.Once {
			c.end(err)
			return
		}
		if l = c.reconnect(); l == nil {
			c.end(ErrClosed)
			return
		}
	}
}

func (c *Client) end(err error) {
	c.mu.Lock()
	c.err = err
	close(c.ready)
	c.mu.Unlock()
	c.stop()
}

// reconnect tries until there is a link or the client is closed.
func (c *Client) reconnect() *link {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		l, err := c.connect(c.ctx)
		if err == nil {
			return l
		}
		select {
		case <-c.ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// connect dials and says hello.
func (c *Client) connect(ctx context.Context) (*link, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	l := newLink(conn, c.event)
	hello, err := l.hello(c.helloParams())
	if err != nil {
		conn.Close()
		return nil, errors.Join(ctx.Err(), err)
	}
	c.greeted(hello)
	c.setLink(l)
	return l, nil
}

func (c *Client) helloParams() core.SessionHelloParams {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := core.SessionHelloParams{
		Token: c.opts.Token, PositionEncoding: c.opts.PositionEncoding,
		Events: c.opts.Events, Core: c.core, Since: c.since,
	}
	if c.opts.Name != "" {
		p.Client = &core.ClientName{Name: c.opts.Name, Version: c.opts.Version}
	}
	if c.opts.OnEvent == nil && p.Events == nil {
		p.Events = []string{}
	}
	return p
}

func (c *Client) greeted(h core.SessionHelloResult) {
	c.mu.Lock()
	c.hello = h
	switch {
	case c.since == nil:
		c.since = &h.Seq
	case c.core != "" && c.core != h.Core:
		// The replay of another core begins with its oldest event.
		before := h.Oldest - 1
		c.since = &before
	}
	c.core = h.Core
	c.mu.Unlock()
	if h.Gap != nil && c.opts.OnGap != nil {
		c.opts.OnGap(*h.Gap)
	}
}

func (c *Client) setLink(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if (c.link == nil) == (l == nil) {
		return
	}
	c.link = l
	if l != nil {
		close(c.ready)
		return
	}
	c.ready = make(chan struct{})
}

// event takes an event from the link.
func (c *Client) event(e Event) {
	if e.Seq > 0 {
		c.mu.Lock()
		c.since = &e.Seq
		c.mu.Unlock()
	}
	if c.opts.OnEvent != nil {
		c.opts.OnEvent(e)
	}
}

// current waits for a link.
func (c *Client) current(ctx context.Context) (*link, error) {
	for {
		c.mu.Lock()
		l, ready, err := c.link, c.ready, c.err
		c.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case l != nil:
			return l, nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// CallOp sends a request and decodes its result (op.Caller). An error
// response is an *op.Error.
func (c *Client) CallOp(ctx context.Context, name string, params, result any) error {
	raw, err := encode(params)
	if err != nil {
		return err
	}
	out, err := c.Raw(ctx, name, raw)
	if err != nil {
		return err
	}
	return decode(out, result)
}

// Raw sends a request with params as JSON (nil for none) and returns the
// result as JSON. An error response is an *op.Error.
func (c *Client) Raw(ctx context.Context, name string, params []byte) ([]byte, error) {
	l, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	return l.call(ctx, name, params)
}

var _ op.Caller = (*Client)(nil)
