package sidecar

import (
	"context"
	"errors"

	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
	"dragoman/wire/sidecar"
)

// methods are the protocol's requests. Each is called on the reading
// goroutine and doesn't block.
var methods = map[string]func(*server, *jsonrpc.Request){
	sidecar.MethodPing:   (*server).ping,
	sidecar.MethodOpen:   (*server).open,
	sidecar.MethodPrompt: (*server).prompt,
	sidecar.MethodCancel: (*server).cancel,
	sidecar.MethodClose:  (*server).close,
}

// Request implements [jsonrpc.Handler].
func (s *server) Request(_ context.Context, r *jsonrpc.Request) {
	method, ok := methods[r.Method]
	if !ok {
		_ = r.Fail(&jsonrpc.Error{Code: sidecar.CodeMethodNotFound, Message: "method not found: " + r.Method})
		return
	}
	method(s, r)
}

// Notify implements [jsonrpc.Handler]: notifications are ignored, but a
// cancel that is one deserves a word.
func (s *server) Notify(_ context.Context, n jsonrpc.Notification) {
	if n.Method == sidecar.MethodCancel || n.Method == "$/cancel_request" {
		s.reports.tell("notification-style session/cancel ignored")
	}
}

func (s *server) ping(r *jsonrpc.Request) { _ = r.Reply(s.pong) }

// prompt takes a turn in the order of the wire and answers when it has
// settled, before the session's next turn begins.
func (s *server) prompt(r *jsonrpc.Request) {
	p := sidecar.ParsePrompt(r.Params)
	e := s.known(r, p.SessionID, p.HasSession)
	if e == nil {
		return
	}
	settled, answered := make(chan *session.Turn, 1), make(chan struct{})
	_, err := e.session.Submit(session.Prompt{Text: p.Text, Options: p.Options, OnSettle: func(t *session.Turn) {
		settled <- t
		<-answered
	}})
	if err != nil {
		s.refuse(r, err)
		return
	}
	s.async(r, func(r *jsonrpc.Request) {
		defer close(answered)
		out, err := (<-settled).Result()
		if err != nil {
			s.refuse(r, err)
			return
		}
		_ = r.Reply(sidecar.AppendOutcome(nil, &out))
	})
}

// cancel ends the turn that runs when it is read.
func (s *server) cancel(r *jsonrpc.Request) {
	id, ok := sidecar.SessionID(r.Params)
	e := s.known(r, id, ok)
	if e == nil {
		return
	}
	wait := e.session.BeginCancel()
	s.async(r, func(r *jsonrpc.Request) {
		if err := wait(e.host.ctx); err != nil && !errors.Is(err, context.Canceled) {
			s.refuse(r, err)
			return
		}
		_ = r.Reply(nothing)
	})
}

var nothing = []byte("{}")

// close is idempotent: unknown and missing ids are closed already.
func (s *server) close(r *jsonrpc.Request) {
	id, _ := sidecar.SessionID(r.Params)
	e := s.find(id)
	if e == nil {
		_ = r.Reply(nothing)
		return
	}
	wait := e.begin()
	s.async(r, func(r *jsonrpc.Request) {
		if err := wait(context.Background()); err != nil {
			s.refuse(r, cleanupError(err))
			return
		}
		s.forget(id)
		_ = r.Reply(nothing)
	})
}

// cleanupError gives the error of a close its shape.
func cleanupError(err error) error {
	var known *agent.Error
	if errors.As(err, &known) {
		return known
	}
	return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err.Error())
}

// known returns the session that r means, or refuses r.
func (s *server) known(r *jsonrpc.Request, id string, given bool) *entry {
	if !given {
		s.refuse(r, agent.BadSpec("sessionId is missing"))
		return nil
	}
	e := s.find(id)
	if e == nil {
		s.refuse(r, agent.BadSpec("session is not known: "+shown(id)))
	}
	return e
}

// shown bounds what of the host's own text comes back in a message.
func shown(text string) string {
	const most = 100
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// refuse answers with an error: a spec's is invalid params with data null, an
// adapter's has exactly four members of data (sidecar.md §2).
func (s *server) refuse(r *jsonrpc.Request, err error) {
	var bad *agent.SpecError
	if errors.As(err, &bad) {
		_ = r.Fail(&jsonrpc.Error{Code: sidecar.CodeInvalidParams, Message: bad.Error()})
		return
	}
	var known *agent.Error
	if !errors.As(err, &known) {
		known = agent.Fail(agent.CodeProtocolFailed, agent.StagePrompt, err.Error())
	}
	_ = r.Fail(&jsonrpc.Error{Code: sidecar.CodeAdapter, Message: known.Error(), Data: sidecar.AppendErrorData(nil, known)})
}
