package sidecar

import (
	"io"
	"testing"

	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// discardHost is a host whose output nobody needs.
func discardHost(full bool) (*host, func()) {
	s := &server{out: ndjson.NewWriter(io.Discard, ndjson.WriterOptions{}), sessions: map[string]*entry{}}
	h := newHost(s, "a4aa-0123456789abcdef0123456789abcdef", full)
	h.release()
	return h, func() { h.end(); _ = s.out.Close() }
}

var chunk = &agent.Event{Kind: agent.KindMessage, Turn: 1, Text: "forty bytes of text, as a model gives it."}

// The way of an event from the engine to the line costs no memory.
func TestEventsCostNoMemory(t *testing.T) {
	for _, full := range []bool{false, true} {
		h, end := discardHost(full)
		var _ session.Host = h
		ctx := t.Context()
		if n := testing.AllocsPerRun(10_000, func() { h.Event(ctx, chunk) }); n >= 1 {
			t.Errorf("full %v: %v allocations an event", full, n)
		}
		end()
	}
}

func BenchmarkEvent(b *testing.B) {
	h, end := discardHost(false)
	defer end()
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		h.Event(ctx, chunk)
	}
}
