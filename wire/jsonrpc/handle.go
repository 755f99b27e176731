package jsonrpc

import (
	"bytes"
	"errors"

	"dragoman/wire/ndjson"
)

// message is the shape of one incoming object. Members that aren't there have
// Kind 0.
type message struct {
	id, method, params, result, err ndjson.Member
}

// handle reads one line, leniently if the peer is an agent.
func (p *Peer) handle(line []byte) {
	err := p.scan.Scan(line)
	if err != nil && p.opts.Lenient {
		line, err = p.repair(line, err)
	}
	if err != nil {
		var syntax *ndjson.SyntaxError
		errors.As(err, &syntax)
		p.unreadable(Problem{Code: syntax.Code, Offset: syntax.Offset, Err: err}, head(line), tail(line))
		return
	}
	switch p.scan.Kind() {
	case ndjson.Object:
		p.object(line)
	case ndjson.Array:
		p.refuse(null, "batches aren't supported")
	default:
		if !p.opts.Lenient { // an agent's stray output is no request
			p.refuse(null, "message isn't an object")
		}
	}
}

// repair returns the lenient reading of a line that a strict one refused.
func (p *Peer) repair(line []byte, strict error) ([]byte, error) {
	fixed, changed, err := p.scan.Repair(p.fixed[:0], line)
	if err != nil || !changed {
		return line, strict
	}
	if p.fixed = fixed; cap(fixed) > maxSpareBytes {
		p.fixed = nil
	}
	if err := p.scan.Scan(fixed); err != nil {
		return line, err
	}
	p.count.repaired.Add(1)
	var syntax *ndjson.SyntaxError
	errors.As(strict, &syntax)
	p.tell(Problem{Code: syntax.Code, Offset: syntax.Offset, Err: strict, Repaired: true})
	return fixed, nil
}

const maxSpareBytes = 1 << 20

// tell reports a problem: from an agent only the first of each sort.
func (p *Peer) tell(pr Problem) {
	pr.Line = p.in.Line()
	p.opts.Log.Debug("broken line", "line", pr.Line, "code", string(pr.Code), "offset", pr.Offset, "repaired", pr.Repaired)
	sort := 0
	if pr.Repaired {
		sort = 1
	}
	if p.opts.Lenient && p.told[sort] {
		return
	}
	p.told[sort] = true
	p.opts.OnProblem(pr)
}

// object sorts a message by its members.
func (p *Peer) object(line []byte) {
	m := p.members()
	var id []byte
	if m.id.Kind != 0 {
		id = m.id.Value.Of(line)
	}
	switch {
	case m.method.Kind == ndjson.String && id != nil:
		p.incoming(line, m)
	case m.method.Kind == ndjson.String:
		p.notification(line, m)
	case id == nil:
	case m.method.Kind == 0 && (m.err.Kind != 0 || m.result.Kind != 0):
		p.replied(line, m)
	default:
		p.refuse(id, "request has no method")
	}
}

// members picks the message's members by their exact keys.
func (p *Peer) members() (m message) {
	for _, x := range p.scan.Members() {
		switch string(x.Key) {
		case "id":
			m.id = x
		case "method":
			m.method = x
		case "params":
			m.params = x
		case "result":
			m.result = x
		case "error":
			m.err = x
		}
	}
	return m
}

// incoming handles a request.
func (p *Peer) incoming(line []byte, m message) {
	id := m.id.Value.Of(line)
	if p.busy(id) {
		p.refuse(null, "request id "+string(id[:min(len(id), maxShownID)])+" is in flight already")
		return
	}
	r := &p.request
	r.ID, r.Method, r.Params, r.Line = id, p.method(m.method.Value.Of(line)), nil, line
	r.p, r.id, r.params = p, m.id.Value, m.params.Value
	if m.params.Kind != 0 {
		r.Params = m.params.Value.Of(line)
	}
	r.answered.Store(false)
	p.opts.Handler.Request(p.ctx, r)
	r.unanswered()
}

// maxShownID is how many bytes of an id an error message shows.
const maxShownID = 256

// busy reports whether a request with that id is in flight.
func (p *Peer) busy(id []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.inFlight[string(id)]
	return ok
}

// notification handles a notification. Answers that wait go out first, for
// the handler may block.
func (p *Peer) notification(line []byte, m message) {
	n := Notification{Method: p.method(m.method.Value.Of(line)), Line: line}
	if m.params.Kind != 0 {
		n.Params = m.params.Value.Of(line)
	}
	if n.Method == "$/cancel_request" {
		p.cancelRequest(n.Params)
	}
	p.out.Push()
	p.opts.Handler.Notify(p.ctx, n)
}

// replied settles a call of ours. A null error beside a result is a success
// from agents only: a host's must not be taken for consent (sidecar.md §3).
func (p *Peer) replied(line []byte, m message) {
	var result []byte
	var err error
	if m.err.Kind == 0 || p.opts.Lenient && m.err.Kind == ndjson.Null && m.result.Kind != 0 {
		result = bytes.Clone(m.result.Value.Of(line))
	} else {
		err = parseError(bytes.Clone(m.err.Value.Of(line)))
	}
	if !p.reply(m.id.Value.Of(line), result, err) {
		p.count.unknown.Add(1)
	}
}

// refuse answers -32600.
func (p *Peer) refuse(id []byte, message string) {
	e := &Error{Code: CodeInvalidRequest, Message: message}
	r := Request{ID: id, p: p}
	_ = r.Fail(e)
}

const (
	maxMethods     = 256 // method names that are remembered
	maxMethodBytes = 64
)

// method unquotes a method's name, without an allocation for known ones.
func (p *Peer) method(raw []byte) string {
	if m, ok := p.methods[string(raw)]; ok {
		return m
	}
	name, _ := ndjson.Unquote(nil, raw)
	m := string(name)
	if len(raw) <= maxMethodBytes && len(p.methods) < maxMethods {
		p.methods[string(raw)] = m
	}
	return m
}
