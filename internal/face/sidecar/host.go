package sidecar

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
	"dragoman/wire/sidecar"
)

const (
	// heldMax is how much is held for the open's answer in the full form. A
	// longer history goes out before it: memory comes first.
	heldMax = 48 << 20
	// spareMax is how large a buffer is kept for the next event.
	spareMax = 1 << 20
)

// host is the engine's view of the sidecar's host for one session.
type host struct {
	s     *server
	id    string
	full  bool // events of lanes.md §1
	quota *ndjson.Quota
	head  []byte // of an event's line

	// ctx ends when the session closes: nothing waits for the host any more.
	ctx  context.Context
	stop context.CancelFunc

	line []byte // memory for the next event's line; the engine's goroutine's

	mu      sync.Mutex
	holding bool
	held    [][]byte
	size    int
}

func newHost(s *server, id string, full bool) *host {
	h := &host{s: s, id: id, full: full, holding: full, quota: s.out.Quota(ndjson.DefaultSessionQuota)}
	h.head = []byte(`{"jsonrpc":"2.0","method":"` + sidecar.MethodEvent + `","params":{"sessionId":`)
	h.head = append(ndjson.AppendQuote(h.head, id), `,"event":`...)
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// end lets go of everything that waits for the host.
func (h *host) end() { h.stop() }

// Event implements [session.Host]: one line, which waits for room.
func (h *host) Event(ctx context.Context, ev *agent.Event) {
	line := append(h.line[:0], h.head...)
	said := true
	if h.full {
		line = agent.AppendFull(line, ev)
	} else {
		line, said = sidecar.AppendEvent(line, ev)
	}
	h.line = line
	if !said {
		return
	}
	line = append(line, "}}"...)
	if !h.full || !h.hold(line) {
		h.write(ctx, line)
	}
	if h.line = line; cap(line) > spareMax {
		h.line = nil
	}
}

// hold keeps a line for release; false when it may go out.
func (h *host) hold(line []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.holding {
		return false
	}
	h.held = append(h.held, bytes.Clone(line))
	if h.size += len(line); h.size > heldMax {
		h.releaseLocked()
	}
	return true
}

// release sends what was held for the open's answer. What comes meanwhile
// waits behind it.
func (h *host) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.releaseLocked()
}

func (h *host) releaseLocked() {
	for i, line := range h.held {
		h.write(h.ctx, line)
		h.held[i] = nil
	}
	h.holding, h.held = false, nil
}

// write sends a line when there is room. While ctx and the session last,
// nothing is dropped but what can't be sent at all.
func (h *host) write(ctx context.Context, line []byte) {
	if ctx.Done() == nil {
		ctx = h.ctx
	}
	err := h.s.out.WriteQuota(ctx, h.quota, line)
	if err == nil || errors.Is(err, ndjson.ErrClosed) || ctx.Err() != nil {
		return
	}
	var long *ndjson.LineTooLongError
	if errors.As(err, &long) {
		h.s.config.Log.Warn("an event is longer than a line may be", "session", h.id, "bytes", long.Size)
		return
	}
	// An agent's JSON with line feeds, which can only stand between tokens.
	_ = h.s.out.WriteQuota(ctx, h.quota, bytes.ReplaceAll(line, []byte("\n"), []byte(" ")))
}

// Ask implements [session.Host]. Whatever isn't an answer is cancelled.
func (h *host) Ask(ctx context.Context, q *agent.Question) agent.Answer {
	result, err := h.s.peer.Call(ctx, sidecar.MethodPermission, sidecar.AppendQuestion(nil, h.id, q))
	if err != nil {
		return agent.Answer{}
	}
	return sidecar.ParseAnswer(result)
}

// Changed implements [session.Host]: a4aa.v1 doesn't tell.
func (h *host) Changed() {}
