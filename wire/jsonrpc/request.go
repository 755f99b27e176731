package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"dragoman/wire/ndjson"
)

// ErrAnswered refuses a second answer to a request.
var ErrAnswered = errors.New("request is answered already")

// A Request is valid during the call of Handler.Request; Go hands on a copy.
type Request struct {
	ID     []byte // exact bytes
	Method string
	Params []byte // exact bytes; nil if absent
	Line   []byte // the whole message

	p        *Peer
	id       ndjson.Span        // of ID in Line
	params   ndjson.Span        // of Params in Line
	cancel   context.CancelFunc // of the copy that Go hands on, else nil
	answered atomic.Bool
}

// Reply answers with a result, which must be valid JSON; nil is null. Only the
// first answer counts.
func (r *Request) Reply(result []byte) error {
	if r.answered.Swap(true) {
		return ErrAnswered
	}
	return r.write(resultKey, oneLine(orNull(result)))
}

// Fail answers with an error. Only the first answer counts.
func (r *Request) Fail(e *Error) error {
	if r.answered.Swap(true) {
		return ErrAnswered
	}
	return r.write(errorKey, oneLine(e.append(nil)))
}

var (
	resultKey  = []byte(`,"result":`)
	errorKey   = []byte(`,"error":`)
	idKey      = []byte(`{"id":`)
	versionKey = []byte(`{"jsonrpc":"2.0","id":`)
)

// write sends the answer, and frees the id first, so that the peer may use it
// again as soon as it has the answer. An inline answer may wait for others.
func (r *Request) write(key, value []byte) error {
	head := versionKey
	if r.p.opts.OmitVersion {
		head = idKey
	}
	if r.cancel == nil {
		return closedError(r.p.out.Queue(head, r.ID, key, value, brace))
	}
	r.p.mu.Lock()
	delete(r.p.inFlight, string(r.ID))
	r.p.mu.Unlock()
	return closedError(r.p.out.Write(head, r.ID, key, value, brace))
}

// Go runs f on a goroutine that the Peer waits for, with a copy of the request
// and a context that ends with $/cancel_request, with the peer, or when f
// returns. It is called at most once, from Handler.Request, instead of an
// answer; f's copy is then to be answered.
func (r *Request) Go(f func(ctx context.Context, r *Request)) {
	if r.cancel != nil || r.answered.Swap(true) {
		panic("jsonrpc: Go after an answer, or on a copy")
	}
	p, own := r.p, r.clone()
	ctx, cancel := context.WithCancel(p.ctx)
	own.cancel = cancel
	p.mu.Lock()
	p.inFlight[string(own.ID)] = own
	p.mu.Unlock()
	p.wg.Go(func() {
		defer cancel()
		f(ctx, own)
		own.unanswered()
	})
}

// unanswered answers for a handler that forgot to.
func (r *Request) unanswered() {
	if !r.answered.Load() {
		_ = r.Fail(&Error{Code: CodeInternal, Message: "request wasn't answered"})
	}
}

// clone copies the request's bytes once.
func (r *Request) clone() *Request {
	own := &Request{Method: r.Method, Line: bytes.Clone(r.Line), p: r.p, id: r.id, params: r.params}
	own.ID = own.id.Of(own.Line)
	if r.Params != nil {
		own.Params = own.params.Of(own.Line)
	}
	return own
}

// cancelRequest ends the context of the request that params name: by id as in
// LSP, or by requestId as in ACP.
func (p *Peer) cancelRequest(params []byte) {
	for _, key := range [...]string{"id", "requestId"} {
		id, _, ok := ndjson.Get(params, key)
		if !ok {
			continue
		}
		p.mu.Lock()
		r := p.inFlight[string(id)]
		p.mu.Unlock()
		if r != nil {
			r.cancel()
			return
		}
	}
}
