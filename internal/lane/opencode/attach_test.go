package opencode_test

import (
	"context"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/internal/lane/opencode"
	served "dragoman/internal/lane/serve"
	"dragoman/wire/agent"
)

// TestServeHandsOver: a server of the older surface under the lane serve is
// driven like one of this lane.
func TestServeHandsOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	spec, err := agent.ParseSpec([]byte(`{"id":"old","lane":"serve","command":{"program":"opencode","args":["serve"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	driver := served.Driver{Legacy: func(ctx context.Context, s served.LegacyServer) (lane.Conn, error) {
		return opencode.Attach(ctx, s.Spec, s.Launch, s.Process, s.URL)
	}}
	plan, err := driver.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	sink := lanetest.NewSink()
	starter := lanetest.PipeStarter(opencode.FakeProgram())
	conn, err := plan.Open(ctx, lane.Launch{Dir: t.TempDir(), Starter: starter, Sink: sink, ConnectTimeout: time.Minute, OpenTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	out, err := conn.Prompt(ctx, lane.Turn{Number: 1, Text: lanetest.Echo, Cancel: make(chan struct{})})
	if err != nil || out.StopReason != agent.StopEndTurn || sink.Text(1) != lanetest.EchoText {
		t.Errorf("outcome %+v, error %v, text %q", out, err, sink.Text(1))
	}
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
	if n := starter.Running(); n > 0 {
		t.Errorf("%d servers run after the end", n)
	}
}
