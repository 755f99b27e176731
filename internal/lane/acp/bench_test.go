package acp

import (
	"bytes"
	"context"
	"io"
	"testing"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
	"dragoman/wire/ndjson"
)

// counter is a Sink that only counts.
type counter struct{ events, bytes int }

func (c *counter) Emit(_ context.Context, ev *agent.Event) {
	c.events++
	c.bytes += len(ev.Text)
}
func (c *counter) Ask(context.Context, *agent.Question) agent.Answer { return agent.Answer{} }
func (c *counter) Changed()                                          {}

// BenchmarkChunks reads lines with a chunk of text each and emits their
// events, on one goroutine: what an event costs from the agent's bytes to the
// engine.
func BenchmarkChunks(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0195-6f0e","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"some forty bytes of text, like a token…"}}}}` + "\n")
	const batch = 1000
	input := bytes.Repeat(line, batch)
	sink := &counter{}
	c := &conn{l: lane.Launch{Sink: sink}}
	c.life, c.end = context.WithCancel(context.Background())
	c.host, c.mute = context.WithCancel(c.life)
	defer c.end()
	defer c.mute()
	c.outside = newTurn(c.life, 0, nil)
	w := ndjson.NewWriter(io.Discard, ndjson.WriterOptions{})
	defer w.Close()
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	n := 0
	for b.Loop() {
		if n%batch == 0 { // one iteration is one event
			peer := jsonrpc.NewPeer(bytes.NewReader(input), w, jsonrpc.Options{Lenient: true, Handler: c})
			if err := peer.Serve(c.life); err != nil {
				b.Fatal(err)
			}
		}
		n++
	}
	b.StopTimer()
	if want := (n + batch - 1) / batch * batch; sink.events != want {
		b.Fatalf("%d events, want %d", sink.events, want)
	}
	b.ReportMetric(float64(sink.events)/b.Elapsed().Seconds(), "events/s")
}
