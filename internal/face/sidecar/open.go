package sidecar

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
	"dragoman/wire/sidecar"
)

// idBytes is the randomness of a session's id: 128 bits.
const idBytes = 16

// newID returns an opaque session id.
func newID() string {
	var b [idBytes]byte
	rand.Read(b[:]) // never fails
	return "a4aa-" + hex.EncodeToString(b[:])
}

// open checks, starts and registers a session.
func (s *server) open(r *jsonrpc.Request) {
	if s.isClosing() {
		s.refuse(r, closingError())
		return
	}
	p := sidecar.ParseOpen(r.Params)
	if p.Spec == nil {
		s.refuse(r, agent.BadSpec("spec is missing"))
		return
	}
	s.async(r, func(r *jsonrpc.Request) { s.openSession(r, p) })
}

func (s *server) openSession(r *jsonrpc.Request, p sidecar.Open) {
	prepared, err := s.config.Opener.Prepare(session.Request{
		Spec: p.Spec, Cwd: p.Cwd, Env: p.Env, Resume: p.Resume, Options: p.Options,
	})
	if err != nil {
		s.refuse(r, err)
		return
	}
	id := newID()
	h := newHost(s, id, p.Full)
	opened, err := prepared.Open(s.opens, session.Config{Host: h, StallAfter: s.config.StallAfter, Log: s.config.Log.With("session", id)})
	if err != nil {
		h.end()
		if s.opens.Err() != nil {
			err = closingError()
		}
		s.refuse(r, err)
		return
	}
	e := &entry{opened, h}
	if !s.add(id, e) {
		s.failed(e.begin()(context.Background()))
		s.refuse(r, closingError())
		return
	}
	_ = r.Reply(sidecar.AppendOpened(nil, result(id, opened)))
	h.release()
}

// result is what the host is told of a session.
func result(id string, opened *session.Session) *sidecar.Opened {
	info := opened.Info()
	can := info.Capabilities
	return &sidecar.Opened{
		SessionID: id, NativeSessionID: info.NativeID,
		Streaming: can.Streaming, Cancellation: can.Cancellation,
		SessionResume: can.SessionResume, PermissionPrompt: can.PermissionPrompts,
		Detail: can.Detail, AgentName: info.AgentName, AgentVersion: info.AgentVersion, State: info.State,
	}
}
