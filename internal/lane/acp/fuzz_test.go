package acp

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
	"dragoman/wire/ndjson"
)

// validator is a Sink that takes only events that a face can write.
type validator struct {
	t      *testing.T
	events int
}

func (v *validator) Emit(_ context.Context, ev *agent.Event) {
	v.events++
	if full := agent.AppendFull(nil, ev); !jsontext.Value(full).IsValid() {
		v.t.Errorf("the event %s is no JSON", full)
	}
	if ev.Raw != nil && !jsontext.Value(ev.Raw).IsValid() {
		v.t.Errorf("raw %q is no JSON", ev.Raw)
	}
}
func (v *validator) Ask(context.Context, *agent.Question) agent.Answer { return agent.Answer{} }
func (v *validator) Changed()                                          {}

// Whatever an agent prints, the lane takes it without a panic, and every
// event of it can be written.
func FuzzAgentOutput(f *testing.F) {
	for kind, u := range updateKinds {
		f.Add([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"` + kind + `",` + u.update + `}}}`))
	}
	f.Add([]byte("{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"plan\",\"entries\":\"\xff\\ud800\"}}}\nnoise\n[1]"))
	f.Add([]byte(`{"id":0,"method":"session/request_permission","params":{"toolCall":{"toolCallId":""},"options":[{"optionId":"a"}]}}`))
	files, err := filepath.Glob("testdata/recorded/*.tool-allow.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var said strings.Builder
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "< "); ok {
				said.WriteString(rest)
			}
		}
		f.Add([]byte(said.String()))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		sink := &validator{t: t}
		c := &conn{l: lane.Launch{Sink: sink}}
		c.life, c.end = context.WithCancel(context.Background())
		c.host, c.mute = context.WithCancel(c.life)
		defer c.end()
		defer c.mute()
		c.link, c.sever = context.WithCancel(c.life)
		defer c.sever()
		limit := int64(1000)
		c.outside = newTurn(c.link, 0, &limit)
		w := ndjson.NewWriter(io.Discard, ndjson.WriterOptions{})
		defer w.Close()
		c.peer = jsonrpc.NewPeer(bytes.NewReader(output), w, jsonrpc.Options{Lenient: true, Handler: c, OnProblem: c.problem})
		if err := c.peer.Serve(c.life); err != nil {
			t.Fatal(err)
		}
		if state := c.state.json(); !jsontext.Value(state).IsValid() {
			t.Errorf("the state %s is no JSON", state)
		}
	})
}
