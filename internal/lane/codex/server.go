package codex

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
	"dragoman/wire/ndjson"
)

// maxGreeting bounds what is kept for the first session of what a server says
// before it has one.
const maxGreeting = 64

// A server is one app-server and the sessions that share it.
type server struct {
	process lane.Process
	writer  *ndjson.Writer
	peer    *jsonrpc.Peer
	log     *slog.Logger
	version string
	served  chan struct{}
	// opening has the token of the one session whose thread's id isn't known
	// yet: what comes of an unknown thread is its.
	opening chan struct{}

	mu       sync.Mutex
	dead     bool
	sessions []*conn
	threads  map[string]*conn
	// left are threads whose session has closed: what comes of them is late.
	left     map[string]bool
	newcomer *conn
	greeting []message
}

type clientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// start starts an app-server and greets it.
func (p *plan) start(ctx context.Context, l lane.Launch) (*server, error) {
	process, err := l.Starter.Start(ctx, lane.Command{
		Program: p.spec.Command.Program, Args: slices.Concat(p.spec.Command.Args, []string{"app-server"}),
		Dir: l.Dir, Env: l.Env, SecretValues: mcp.Secrets(p.servers),
	})
	if err != nil {
		return nil, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	s := &server{
		process: process, log: logger(l), served: make(chan struct{}), opening: make(chan struct{}, 1),
		threads: make(map[string]*conn), left: make(map[string]bool),
		writer: ndjson.NewWriter(process.Stdin(), ndjson.WriterOptions{}),
	}
	s.peer = jsonrpc.NewPeer(process.Stdout(), s.writer, jsonrpc.Options{Lenient: true, OmitVersion: true, Handler: s, Log: s.log})
	go s.serve()
	if err := s.greet(ctx, p, l); err != nil {
		if closing := s.end(context.WithoutCancel(ctx)); closing != nil {
			s.log.Error("agent not ended after a failed open", "error", closing)
		}
		return nil, err
	}
	return s, nil
}

func logger(l lane.Launch) *slog.Logger {
	if l.Log != nil {
		return l.Log
	}
	return slog.New(slog.DiscardHandler)
}

// greet says who we are.
func (s *server) greet(ctx context.Context, p *plan, l lane.Launch) error {
	ctx, cancel := within(ctx, "the first answer", l.ConnectTimeout)
	defer cancel()
	name := p.clientName()
	params, err := encode(map[string]any{"clientInfo": clientInfo{name, name, p.driver.version}, "capabilities": nil})
	if err != nil {
		return opening(err)
	}
	result, err := s.call(ctx, "initialize", params)
	if err != nil {
		return opening(err)
	}
	_, rest, _ := strings.Cut(acp.AsObject(result).Str("userAgent"), "/")
	s.version, _, _ = strings.Cut(rest, " ")
	return opening(s.peer.Notify("initialized", []byte("{}")))
}

// call makes a request, and an error of the process's end where it is gone.
func (s *server) call(ctx context.Context, method string, params []byte) ([]byte, error) {
	result, err := s.peer.Call(ctx, method, params)
	switch {
	case errors.Is(err, jsonrpc.ErrPeerClosed):
		return nil, s.lost(ctx, agent.StageOpen)
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return result, err
}

// lost is the error of a server that is gone.
func (s *server) lost(ctx context.Context, stage string) *agent.Error {
	return agent.Fail(agent.CodeProtocolFailed, stage, lane.Ending(ctx, s.process))
}

// opening makes an error of what ended an open.
func opening(err error) error {
	var own *agent.Error
	var remote *jsonrpc.Error
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case errors.As(err, &remote):
		return agent.Fail(agent.CodeSessionOpenFailed, agent.StageOpen, remote.Message)
	}
	return agent.Fail(agent.CodeProtocolFailed, agent.StageOpen, err.Error())
}

func encode(params any) ([]byte, error) {
	return json.Marshal(params, jsontext.AllowInvalidUTF8(true))
}

// serve is the reading goroutine. The sessions handle what was read before
// they find the link severed.
func (s *server) serve() {
	defer close(s.served)
	if err := s.peer.Serve(context.Background()); err != nil {
		s.log.Warn("reading from the agent", "error", err)
	}
	s.mu.Lock()
	s.dead = true
	sessions := slices.Clone(s.sessions)
	s.mu.Unlock()
	for _, c := range sessions {
		c.inbox.end()
	}
}

func (s *server) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// attach adds a session, which gets what was said before the first one. It is
// false on a server that is gone.
func (s *server) attach(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return false
	}
	s.sessions = append(s.sessions, c)
	s.newcomer = c
	for _, m := range s.greeting {
		c.inbox.push(m)
	}
	s.greeting = nil
	return true
}

// bind gives a thread to a session.
func (s *server) bind(c *conn, thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.left, thread)
	s.threads[thread] = c
}

// settled ends the time in which unknown threads are the newcomer's.
func (s *server) settled(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newcomer == c {
		s.newcomer = nil
	}
}

// detach takes a session out; what comes of its threads is late.
func (s *server) detach(c *conn) {
	s.settled(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = slices.DeleteFunc(s.sessions, func(o *conn) bool { return o == c })
	for thread, owner := range s.threads {
		if owner == c {
			delete(s.threads, thread)
			s.left[thread] = true
		}
	}
}

// end ends the process tree. It may be called twice.
func (s *server) end(ctx context.Context) error {
	if err := s.process.End(ctx); err != nil {
		return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err.Error())
	}
	s.peer.Close()
	s.writer.Close()
	<-s.served
	return nil
}

// Notify hands a notification to the sessions that it concerns.
func (s *server) Notify(_ context.Context, n jsonrpc.Notification) {
	m := message{method: n.Method, params: bytes.Clone(n.Params), line: bytes.Clone(n.Line)}
	for _, c := range s.targets(m) {
		c.inbox.push(m)
	}
}

// Request hands a question to its session. What nobody can answer is declined
// at once.
func (s *server) Request(_ context.Context, r *jsonrpc.Request) {
	m := message{method: r.Method, params: bytes.Clone(r.Params), line: bytes.Clone(r.Line), id: string(r.ID)}
	targets := s.targets(m)
	if approvals[m.method] != nil && len(targets) == 1 {
		m.answer = make(chan []byte, 1)
		if targets[0].inbox.push(m) {
			r.Go(func(ctx context.Context, r *jsonrpc.Request) { s.await(ctx, r, m.answer) })
			return
		}
	}
	if answer := declines[m.method]; answer != "" {
		r.Reply([]byte(answer))
	} else {
		r.Fail(&jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "unsupported request: " + m.method})
	}
	for _, c := range targets {
		c.inbox.push(m)
	}
}

// await answers when the session has decided.
func (s *server) await(ctx context.Context, r *jsonrpc.Request, answer <-chan []byte) {
	select {
	case result := <-answer:
		r.Reply(result)
	case <-ctx.Done():
	case <-s.peer.EOF():
	}
}

// targets are the sessions that a message concerns: its thread's, its
// parent's for a sub-agent's thread, or all for one without a thread.
func (s *server) targets(m message) []*conn {
	params := acp.AsObject(m.params)
	thread, parent := threadOf(params)
	s.mu.Lock()
	defer s.mu.Unlock()
	if thread == "" {
		if len(s.sessions) == 0 && len(s.greeting) < maxGreeting {
			s.greeting = append(s.greeting, m)
		}
		return slices.Clone(s.sessions)
	}
	owner := s.threads[thread]
	if owner == nil && s.threads[parent] != nil {
		owner = s.threads[parent]
		s.threads[thread] = owner
	}
	switch {
	case owner != nil:
		return []*conn{owner}
	case s.left[thread]:
		s.log.Debug("late message of a closed session", "method", m.method)
		return nil
	case s.newcomer != nil:
		return []*conn{s.newcomer}
	case len(s.sessions) > 0:
		return []*conn{s.sessions[0]}
	}
	s.log.Warn("a message of an unknown thread", "method", m.method)
	return nil
}

// threadOf finds a message's thread, and the thread from which that came.
func threadOf(params acp.Object) (thread, parent string) {
	for _, name := range []string{"threadId", "conversationId"} {
		if id := params.Str(name); id != "" {
			return id, ""
		}
	}
	about := params.Object("thread")
	if parent = about.Str("parentThreadId"); parent == "" {
		parent = about.Str("forkedFromId")
	}
	return about.Str("id"), parent
}

// alone reports whether c is the only session.
func (s *server) alone(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions) == 1 && s.sessions[0] == c
}
