package jsonrpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/wire/ndjson"
)

// ErrPeerClosed settles calls whose link is gone.
var ErrPeerClosed = errors.New("peer_closed")

// ErrUnreadableReply settles a call whose reply came but couldn't be read.
var ErrUnreadableReply = errors.New("reply can't be read")

// Options configure a [Peer].
type Options struct {
	// MaxLineBytes is the longest incoming line; 0 means ndjson.DefaultMaxLineBytes.
	MaxLineBytes int
	// Lenient reads the peer's lines as an agent's (sidecar.md §1, last item).
	Lenient bool
	// OmitVersion leaves the member "jsonrpc" out of what we send (codex).
	OmitVersion bool
	// MaxDepth is the deepest nesting read; 0 means ndjson.DefaultDepth.
	MaxDepth int
	// OnProblem is told of lines that can't be used, on the reading goroutine;
	// with Lenient once of each sort: repaired, and skipped.
	OnProblem func(Problem)
	// Handler gets requests and notifications; nil answers -32601 to all.
	Handler Handler
	// Log gets what nobody else is told; nil discards it.
	Log *slog.Logger
}

// A Problem is an incoming line that is broken. It never holds content.
type Problem struct {
	Line     int64       // the line's number from 1
	Code     ndjson.Code // what is wrong; LineTooLong for a line over the limit
	Offset   int         // in bytes from the line's start
	Repaired bool        // the lenient reading made it usable
	Err      error       // a *ndjson.SyntaxError or *ndjson.LineTooLongError
}

// LineTooLong is the code of a Problem with a line over the limit.
const LineTooLong ndjson.Code = "line too long"

// A Handler serves the other side's messages. Both methods run on the reading
// goroutine in wire order. A panic in one isn't caught.
type Handler interface {
	// Notify handles a notification. It may block, which holds back the peer.
	Notify(ctx context.Context, n Notification)
	// Request handles a request: it answers inline with Reply or Fail without
	// blocking, or hands over to Go. Answers given inline may wait until the
	// requests that were read together with this one are handled.
	Request(ctx context.Context, r *Request)
}

// A Notification is valid during the call of Notify.
type Notification struct {
	Method string
	Params []byte // exact bytes; nil if absent
	Line   []byte // the whole message
}

// Stats are counters of a [Peer].
type Stats struct {
	Lines          int64 // read, the broken ones too
	Unreadable     int64 // skipped: too long, or not JSON
	Repaired       int64 // used after a lenient reading
	UnknownReplies int64 // to ids that aren't pending
	Pending        int64 // our calls without a reply
	InFlight       int64 // the peer's requests handed to Go and not answered
}

// counters are what Stats can't see elsewhere.
type counters struct {
	lines, unreadable, repaired, unknown atomic.Int64
}

// A Peer is one side of a connection. Its methods are safe for concurrent use,
// except that Serve is called once.
type Peer struct {
	in      *ndjson.Reader
	src     io.Reader
	out     *ndjson.Writer
	opts    Options
	scan    ndjson.Scanner // of the reading goroutine
	request Request        // of the reading goroutine, for the next message
	methods map[string]string
	fixed   []byte // memory for repaired lines
	told    [2]bool

	ctx    context.Context // of handlers
	cancel context.CancelFunc
	gone   chan struct{} // closed when calls can't be answered any more
	eof    chan struct{}
	done   chan struct{}
	wg     sync.WaitGroup // handlers, and the watch on the writer
	count  counters
	served atomic.Bool

	mu       sync.Mutex
	closed   bool
	lastID   int64
	calls    map[int64]*Call
	inFlight map[string]*Request // by the id's bytes
}

// NewPeer returns a Peer that reads r once Serve is called, and writes to w,
// which stays the caller's to close. If r has SetReadDeadline or Close, they
// are how Close interrupts a read.
func NewPeer(r io.Reader, w *ndjson.Writer, o Options) *Peer {
	if o.Handler == nil {
		o.Handler = refuse{}
	}
	if o.OnProblem == nil {
		o.OnProblem = func(Problem) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Peer{
		in:      ndjson.NewReader(r, ndjson.ReaderOptions{MaxLineBytes: o.MaxLineBytes}),
		src:     r,
		out:     w,
		opts:    o,
		methods: make(map[string]string),
		gone:    make(chan struct{}), eof: make(chan struct{}), done: make(chan struct{}),
		calls: make(map[int64]*Call), inFlight: make(map[string]*Request),
	}
	p.scan.Limits.Depth = o.MaxDepth
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// refuse is the Handler of a Peer without one.
type refuse struct{}

func (refuse) Notify(context.Context, Notification) {}
func (refuse) Request(_ context.Context, r *Request) {
	_ = r.Fail(&Error{Code: CodeMethodNotFound, Message: "method not found: " + r.Method})
}

// Serve reads until EOF, a read error, Close, or the end of ctx. Then it
// settles all pending calls with ErrPeerClosed, waits for the running
// handlers, and returns nil at EOF and after Close, else the cause. EOF alone
// doesn't end the handlers' contexts; EOF tells it to whoever has to hurry.
func (p *Peer) Serve(ctx context.Context) error {
	if p.served.Swap(true) {
		return errors.New("peer is served already")
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	p.wg.Go(p.watch)
	err := p.read()
	stopped := !stop()
	p.settleAll()
	p.out.Push()
	close(p.eof)
	p.wg.Wait()
	p.cancel()
	close(p.done)
	switch {
	case stopped:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF) || p.isClosed():
		return nil
	}
	return err
}

// watch settles calls when the link breaks in our direction.
func (p *Peer) watch() {
	select {
	case <-p.out.Done():
		p.settleAll()
	case <-p.gone:
	}
}

// read handles lines until the stream ends.
func (p *Peer) read() error {
	var long *ndjson.LineTooLongError
	for {
		if !p.in.Buffered() {
			p.out.Push()
		}
		line, err := p.in.Next()
		switch {
		case err == nil:
			p.count.lines.Add(1)
			p.handle(line)
		case errors.As(err, &long):
			p.count.lines.Add(1)
			p.unreadable(Problem{Code: LineTooLong, Offset: int(long.Limit), Err: err}, long.Head, long.Tail)
		default:
			return err
		}
		if p.isClosed() {
			return ErrPeerClosed
		}
	}
}

func (p *Peer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// settleAll fails pending calls and refuses new ones.
func (p *Peer) settleAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		return
	}
	for _, c := range p.calls {
		c.err = ErrPeerClosed
		close(c.done)
	}
	p.calls = nil
	close(p.gone)
}

// Stats returns the counters now.
func (p *Peer) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Lines:          p.count.lines.Load(),
		Unreadable:     p.count.unreadable.Load(),
		Repaired:       p.count.repaired.Load(),
		UnknownReplies: p.count.unknown.Load(),
		Pending:        int64(len(p.calls)),
		InFlight:       int64(len(p.inFlight)),
	}
}

// EOF is closed when nothing more is read, while handlers may still run.
func (p *Peer) EOF() <-chan struct{} { return p.eof }

// Done is closed when Serve has ended.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Close ends the peer: pending calls settle with ErrPeerClosed, handlers'
// contexts end, and a read is interrupted where the stream allows it. It
// doesn't wait; Serve's return and Done tell the end. It may be called twice.
func (p *Peer) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		return nil
	}
	p.settleAll()
	p.cancel()
	if d, ok := p.src.(interface{ SetReadDeadline(time.Time) error }); ok {
		if d.SetReadDeadline(time.Unix(1, 0)) == nil {
			return nil
		}
	}
	if c, ok := p.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
