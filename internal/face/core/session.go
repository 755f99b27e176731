package core

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"dragoman/internal/hub"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// bind binds what the face itself serves.
func (s *Server) bind(m *op.Mux) {
	core.SessionHello.Handle(m, s.helloElsewhere)
	core.SessionSubscribe.Handle(m, s.subscribe)
	core.SessionClients.Handle(m, s.listClients)
	core.SessionDetach.Handle(m, s.detach)
	core.SessionPing.Handle(m, s.ping)
	core.SessionStats.Handle(m, s.readStats)
	core.SessionDescribe.Handle(m, s.describe)
	core.SessionShutdown.Handle(m, s.shutdown)
	core.RunGet.Handle(m, s.runGet)
	core.RunList.Handle(m, s.runList)
	core.RunCancel.Handle(m, s.runCancel)
	core.RunWatch.Handle(m, s.runWatch)
}

// helloElsewhere answers callers without a connection: dispatch handles
// session.hello of a connection itself.
func (s *Server) helloElsewhere(context.Context, op.Call, core.SessionHelloParams) (core.SessionHelloResult, error) {
	return core.SessionHelloResult{}, op.BadRequest("", "no_connection")
}

// chooseUnit takes the first unit that we know.
func chooseUnit(names []string) (op.Unit, error) {
	if len(names) == 0 {
		return op.UTF8, nil
	}
	for _, n := range names {
		if u, ok := op.ParseUnit(n); ok {
			return u, nil
		}
	}
	return op.UTF8, op.BadRequest("positionEncoding", op.ReasonNotOneOf)
}

// hello attaches the connection.
func (c *conn) hello(r core.Request, began time.Time, p core.SessionHelloParams) {
	a, err := c.attachment(p)
	if err != nil {
		c.fail(r, began, err)
		return
	}
	c.mu.Lock()
	c.info = core.ClientInfo{
		ClientID: a.ID, Role: role(c.peer.Access), Transport: c.peer.Transport, AttachedAt: time.Now().UTC(),
	}
	if p.Client != nil {
		c.info.Name, c.info.Version = p.Client.Name, p.Client.Version
	}
	c.unit = a.Unit
	info := c.info
	c.mu.Unlock()
	c.leave(r.ID)
	c.srv.attach(c)
	// What takes other locks is asked before: the place is told under the hub's.
	result := c.srv.helloResult(info, a)
	c.client.Attach(a, func(place hub.Place) []byte {
		result.Seq, result.Oldest = place.Seq, place.Oldest
		if g := place.Gap; g != nil {
			result.Gap = &core.Gap{From: g.From, To: g.To, Reason: core.GapReason(g.Reason)}
		}
		raw, err := encode(result)
		if err != nil {
			return errorLine(r.ID, c.srv.wireError(r.Op, err))
		}
		return okLine(r.ID, raw)
	})
	c.srv.stats.add(r.Op, time.Since(began), succeeded)
	select {
	case <-c.client.Done():
		c.srv.forget(info.ClientID)
		return
	default:
	}
	c.srv.opts.Hub.Emit(core.SessionAttached.With(info))
}

// role is what hello tells: an observer's rights are a descendant's too.
func role(a op.Access) op.Role {
	if a.Descendant || a.Role != op.Control {
		return op.Observe
	}
	return op.Control
}

// attachment checks a hello.
func (c *conn) attachment(p core.SessionHelloParams) (a hub.Attachment, err error) {
	if c.attached() {
		return a, op.BadRequest("", "attached")
	}
	if a.Unit, err = chooseUnit(p.PositionEncoding); err != nil {
		return a, err
	}
	a.Filter = hub.All()
	if p.Events != nil {
		if a.Filter, err = hub.ParseFilter(p.Events); err != nil {
			return a, err
		}
	}
	if p.Since != nil && *p.Since < 0 {
		return a, op.BadRequest("since", op.ReasonOutOfRange)
	}
	a.Since = p.Since
	a.OtherCore = p.Core != "" && p.Core != c.srv.opts.Core
	a.ID = c.srv.newClientID()
	return a, nil
}

// helloResult is the answer to hello but for the place in the sequence.
func (s *Server) helloResult(info core.ClientInfo, a hub.Attachment) core.SessionHelloResult {
	roots := s.opts.Roots()
	return core.SessionHelloResult{
		Protocol: op.Protocol, Name: "dragoman", Version: s.opts.Version,
		Ops: s.opts.Mux.Names(), Events: eventNames(), Core: s.opts.Core,
		ClientID: info.ClientID, Role: info.Role, PositionEncoding: a.Unit.String(),
		FSRoot: narrowest(roots), Root: roots[0], Roots: roots,
		OS: runtime.GOOS, Arch: runtime.GOARCH, PathSeparator: string(filepath.Separator),
		PID: os.Getpid(), StartedAt: s.startedAt, Limits: s.opts.Limits,
	}
}

func eventNames() []string {
	var names []string
	for _, e := range core.Events() {
		names = append(names, e.DescribeEvent().Event)
	}
	slices.Sort(names)
	return names
}

// narrowest is the deepest folder that holds all roots.
func narrowest(roots []string) string {
	common := roots[0]
	for _, r := range roots[1:] {
		for !within(common, r) {
			common = filepath.Dir(common)
		}
	}
	return common
}

func within(folder, path string) bool {
	if folder == path || filepath.Dir(folder) == folder {
		return true
	}
	return strings.HasPrefix(path, folder+string(filepath.Separator))
}

// connOf is the connection of a call that came over one.
func connOf(ctx context.Context) (*conn, error) {
	t := taskOf(ctx)
	if t == nil || !t.conn.attached() {
		return nil, op.BadRequest("", "hello_required")
	}
	return t.conn, nil
}

func (s *Server) subscribe(ctx context.Context, _ op.Call, p core.SessionSubscribeParams) (core.None, error) {
	c, err := connOf(ctx)
	if err != nil {
		return core.None{}, err
	}
	f, err := hub.ParseFilter(p.Events)
	if err != nil {
		return core.None{}, err
	}
	c.client.SetFilter(f)
	return core.None{}, nil
}

func (s *Server) listClients(context.Context, op.Call, core.None) (core.SessionClientsResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := core.SessionClientsResult{Clients: []core.ClientInfo{}}
	for _, c := range s.clients {
		r.Clients = append(r.Clients, c.info)
	}
	slices.SortFunc(r.Clients, func(a, b core.ClientInfo) int {
		if d := a.AttachedAt.Compare(b.AttachedAt); d != 0 {
			return d
		}
		return strings.Compare(a.ClientID, b.ClientID)
	})
	return r, nil
}

func (s *Server) detach(ctx context.Context, _ op.Call, p core.SessionDetachParams) (core.None, error) {
	s.mu.Lock()
	c := s.clients[p.ClientID]
	s.mu.Unlock()
	if c == nil {
		return core.None{}, op.NotFound("client", p.ClientID)
	}
	// It may be the caller's own connection: that ends behind the response.
	afterAnswer(ctx, func() { c.client.Finish(goodbye) })
	return core.None{}, nil
}

func (s *Server) ping(context.Context, op.Call, core.None) (core.None, error) {
	return core.None{}, nil
}

func (s *Server) readStats(context.Context, op.Call, core.None) (core.SessionStatsResult, error) {
	sample := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(sample)
	return core.SessionStatsResult{
		UptimeMs:    time.Since(s.startedAt).Milliseconds(),
		MemoryBytes: int64(sample[0].Value.Uint64() - sample[1].Value.Uint64()),
		Goroutines:  runtime.NumGoroutine(),
		Clients:     s.opts.Hub.Attached(),
		Ops: s.stats.read(func(name string) bool {
			_, ok := s.opts.Mux.Lookup(name)
			return ok
		}),
	}, nil
}

func (s *Server) describe(_ context.Context, _ op.Call, p core.SessionDescribeParams) (core.SessionDescribeResult, error) {
	names := s.opts.Mux.Names()
	if p.Op != "" {
		if _, ok := s.opts.Mux.Lookup(p.Op); !ok {
			return core.SessionDescribeResult{}, op.NotFound("op", p.Op)
		}
		names = []string{p.Op}
	}
	r := core.SessionDescribeResult{Ops: []op.Desc{}}
	for _, n := range names {
		row, _ := s.opts.Mux.Lookup(n)
		r.Ops = append(r.Ops, row.Desc)
	}
	return r, nil
}

func (s *Server) shutdown(ctx context.Context, _ op.Call, p core.SessionShutdownParams) (core.None, error) {
	runs, buffers := s.opts.Runs.Active(), []string{}
	if s.opts.Unsaved != nil {
		buffers = s.opts.Unsaved()
	}
	if !p.Force {
		reason := ""
		switch {
		case len(buffers) > 0 && !p.Drain:
			reason = op.BusyUnsaved
		case len(runs) > 0 && !p.Drain:
			reason = op.BusyRunning
		}
		if reason != "" {
			return core.None{}, op.Busy(reason, "%d runs are open, %d buffers unsaved", len(runs), len(buffers)).
				With("runs", runs).With("buffers", buffers)
		}
	}
	word := "shutdown"
	if p.Drain && !p.Force {
		word = "drain"
	}
	if s.opts.Shutdown != nil {
		afterAnswer(ctx, func() {
			s.shutOnce.Do(func() { s.wg.Go(func() { s.opts.Shutdown(word) }) })
		})
	}
	return core.None{}, nil
}
