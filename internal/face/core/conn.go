package core

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/hub"
	"dragoman/wire/core"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// A Peer says who is at the other end of a connection.
type Peer struct {
	// Transport is how it is connected.
	Transport core.Transport
	// Access is what it may do.
	Access op.Access
	// Authenticate, where set, checks the token of the first line, which then
	// must be session.hello, and returns what the peer may do.
	Authenticate func(token string) (op.Access, bool)
	// AtEOF, where set, is called when the input has ended and everything in
	// it was answered; what it emits still reaches the peer.
	AtEOF func()
	// Settled, where set, is called when the first line was judged.
	Settled func()
}

// encode writes results and errors: strings that aren't UTF-8 get U+FFFD,
// maps a fixed order.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
}

// maxReads bounds the reads that run at once for one connection, and with
// them the memory of its responses.
const maxReads = 16

// A conn is one connection.
type conn struct {
	srv      *Server
	peer     Peer
	client   *hub.Client
	ctx      context.Context
	wg       sync.WaitGroup
	order    order
	reads    chan struct{} // a place for each read that runs
	mu       sync.Mutex
	inFlight map[string]struct{}
	info     core.ClientInfo // ClientID is "" until hello
	unit     op.Unit
}

// lastWrites bounds how long a client may take to read its last answers once
// it has asked everything, and goodbye how long one that is sent away.
const (
	lastWrites = time.Minute
	goodbye    = 2 * time.Second
)

// ServeConn serves one connection until its end; in is read, out written.
// What was asked before the end of the input is still answered.
func (s *Server) ServeConn(ctx context.Context, in io.Reader, out hub.Conn, peer Peer) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &conn{srv: s, peer: peer, ctx: ctx, inFlight: map[string]struct{}{}, reads: make(chan struct{}, maxReads)}
	c.client = s.opts.Hub.NewClient(out, func(bool) { c.detached(); cancel() })
	defer cancel()
	err := c.read(in)
	c.wg.Wait()
	if peer.AtEOF != nil {
		peer.AtEOF()
	}
	c.client.Finish(lastWrites)
	<-c.client.Done()
	return err
}

// read handles lines until the input ends.
func (c *conn) read(in io.Reader) error {
	if c.peer.Authenticate != nil {
		rest, err := c.authenticate(in)
		if err != nil {
			return err
		}
		in = rest
	}
	lines := ndjson.NewReader(in, ndjson.ReaderOptions{MaxLineBytes: int(c.srv.opts.Limits.LineBytes), DropBOM: true})
	var scanner ndjson.Scanner
	scanner.Limits.Depth = core.MaxDepth
	for {
		if err := c.client.WaitRoom(c.ctx); err != nil {
			return nil
		}
		line, err := lines.Next()
		if err == nil {
			c.handle(&scanner, line)
			continue
		}
		if !isLineError(err) {
			return endOfInput(err)
		}
		c.client.Send(errorLine(core.NullID, core.LineError(err)))
	}
}

// handle answers or starts one line.
func (c *conn) handle(s *ndjson.Scanner, line []byte) {
	if err := s.Scan(line); err != nil {
		c.client.Send(errorLine(core.NullID, core.LineError(err)))
		return
	}
	r, err := core.ParseRequest(s, line)
	if err != nil {
		e, _ := op.AsError(err)
		c.client.Send(errorLine(r.ID, e))
		return
	}
	if e := c.enter(r.ID); e != nil {
		id := r.ID
		if e.Code == op.CodeBadRequest {
			id = core.NullID
		}
		c.client.Send(errorLine(id, e))
		return
	}
	c.dispatch(r)
}

// enter counts a request as in flight.
func (c *conn) enter(id []byte) *op.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.inFlight[string(id)]; twice {
		return op.BadRequest("id", "id_in_flight").With("id", jsontext.Value(id))
	}
	if most := int(c.srv.opts.Limits.InFlight); len(c.inFlight) >= most {
		return op.Fail(op.CodeOverloaded, "%d requests are in flight", most)
	}
	c.inFlight[string(id)] = struct{}{}
	return nil
}

// leave ends a request in flight; the id may be used again from here on.
func (c *conn) leave(id []byte) {
	c.mu.Lock()
	delete(c.inFlight, string(id))
	c.mu.Unlock()
}

// call is who calls, as handlers see it.
func (c *conn) call() op.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return op.Call{Client: c.info.ClientID, Unit: c.unit, Access: c.peer.Access}
}

// attached reports whether hello was answered.
func (c *conn) attached() bool { return c.call().Client != "" }

// dispatch finds the row, checks and decodes, and runs the handler.
func (c *conn) dispatch(r core.Request) {
	began := time.Now()
	row, ok := c.srv.opts.Mux.Lookup(r.Op)
	if !ok {
		c.fail(r, began, op.Fail(op.CodeUnknownOp, "no operation %q", r.Op))
		return
	}
	if err := c.peer.Access.Allows(r.Op, row.Desc.Effect); err != nil {
		c.fail(r, began, err)
		return
	}
	if row.Desc.Streaming && !c.attached() {
		c.fail(r, began, op.BadRequest("", "hello_required"))
		return
	}
	params, err := row.Decode(r.Params)
	if err != nil {
		c.fail(r, began, err)
		return
	}
	if hello, ok := params.(core.SessionHelloParams); ok {
		c.hello(r, began, hello)
		return
	}
	r.Params = nil // the line's memory is read over from here on
	t := &task{conn: c, request: r, row: row, params: params, began: began, call: c.call()}
	t.done, t.ended = make(chan struct{}), make(chan struct{})
	t.ticket = c.order.take(row.Desc, c.srv.opts.Mux.Keys(row, params), t.done, t.ended)
	if row.Desc.Streaming {
		c.wg.Go(t.start)
	} else {
		c.wg.Go(t.run)
	}
}

// fail answers with an error.
func (c *conn) fail(r core.Request, began time.Time, err error) {
	e := c.srv.wireError(r.Op, err)
	c.srv.stats.add(r.Op, time.Since(began), failed)
	c.leave(r.ID)
	c.client.Send(errorLine(r.ID, e))
}

// succeed answers with a result that is encoded already.
func (c *conn) succeed(r core.Request, began time.Time, result []byte) {
	if size := len(result) + len(r.ID) + 40; size > core.MaxLine {
		c.fail(r, began, op.TooLarge("the result", core.MaxLine, int64(size)))
		return
	}
	c.srv.stats.add(r.Op, time.Since(began), succeeded)
	c.leave(r.ID)
	c.client.Send(okLine(r.ID, result))
}
