package sidecar

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

func TestEOFSettlesEverything(t *testing.T) {
	opening := make(chan struct{})
	slow := &fakeLane{open: func(ctx context.Context, _ lane.Launch) error {
		close(opening)
		<-ctx.Done()
		return errors.New("given up")
	}}
	f := &fakeLane{prompt: hang}
	c := start(t, map[string]lane.Driver{"fake": f, "slow": slow}).read()
	id := c.open("fake")
	c.open("fake")
	turn := c.send("session/prompt", on(id, ""))
	open := c.send("session/open", openParams("slow", ""))
	<-opening
	last := c.n
	c.raw(strings.Repeat(`{"id":"p","method":"ping"}`+"\n", 50))
	if err := c.finish(); err != nil {
		t.Error(err)
	}
	c.answer(turn).wantError(t, -32603, data("agent_session_closed", "session/prompt", false, true))
	c.answer(open).wantError(t, -32603, data("sidecar_closing", "session/open", false, false))
	pongs := 0
	for line := range c.lines {
		if strings.Contains(line, `"id":"p"`) {
			pongs++
		}
	}
	for _, m := range c.seen {
		if string(m.ID) == `"p"` {
			pongs++
		}
	}
	if pongs != 50 || last != c.n {
		t.Errorf("%d of 50 pings were answered", pongs)
	}
	if f.closed() != 2 {
		t.Errorf("%d sessions were closed", f.closed())
	}
}

func TestEndOfContextSettlesEverything(t *testing.T) {
	f := &fakeLane{prompt: hang}
	c := start(t, lanes(f)).read()
	id := c.open("fake")
	turn := c.send("session/prompt", on(id, ""))
	waitFor(t, "the turn runs", func() bool { return strings.Contains(c.next().line, "working") })
	c.stop()
	if err := c.result(); err != nil {
		t.Error(err)
	}
	c.answer(turn).wantError(t, -32603, data("agent_session_closed", "session/prompt", false, true))
}

func TestClosedOutputEndsTheServer(t *testing.T) {
	f := &fakeLane{prompt: hang}
	c := start(t, lanes(f))
	open := make(chan struct{})
	f.open = func(context.Context, lane.Launch) error { close(open); return nil }
	c.send("session/open", openParams("fake", ""))
	<-open
	c.out.Close()
	if err := c.result(); err != nil {
		t.Error(err)
	}
	if f.closed() != 1 {
		t.Errorf("%d sessions were closed", f.closed())
	}
}

func TestFailedCleanupIsTold(t *testing.T) {
	left := errors.New("pid 7 is left")
	c := start(t, lanes(&fakeLane{closeErrs: []error{left}})).read()
	c.open("fake")
	if err := c.finish(); !errors.Is(err, left) {
		t.Errorf("got %v", err)
	}
}

func TestQuestionsEndWithTheInput(t *testing.T) {
	answered := make(chan string, 1)
	f := &fakeLane{prompt: func(ctx context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
		a := sink.Ask(ctx, &agent.Question{Turn: turn.Number, Options: []agent.Option{{ID: "yes"}}})
		answered <- a.OptionID
		return agent.Outcome{StopReason: agent.StopCancelled}, nil
	}}
	c := start(t, lanes(f)).read()
	id := c.open("fake")
	c.send("session/prompt", on(id, ""))
	waitFor(t, "it asks", func() bool { return c.next().Method == "permission/request" })
	if err := c.finish(); err != nil {
		t.Error(err)
	}
	if got := <-answered; got != "" {
		t.Errorf("the agent was told %q", got)
	}
}

// A host that stops reading holds back the agent, not the other sessions, and
// costs a bounded amount of memory; once it reads again nothing is lost
// (sidecar.md §3).
func TestHostThatStopsReading(t *testing.T) {
	const size, chunks = 64 << 10, 1024 // 64 MiB
	const quota = 8 << 20
	var sent atomic.Int64
	text := strings.Repeat("x", size)
	flood := &fakeLane{prompt: func(ctx context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
		for range chunks {
			say(ctx, sink, turn.Number, text)
			sent.Add(1)
		}
		return agent.Outcome{StopReason: agent.StopEndTurn}, nil
	}}
	other := &fakeLane{prompt: hang}
	opened := make(chan struct{}, 2)
	tell := func(context.Context, lane.Launch) error { opened <- struct{}{}; return nil }
	flood.open, other.open = tell, tell
	c := start(t, map[string]lane.Driver{"flood": flood, "other": other})
	ids := make([]string, 2)
	for i, name := range []string{"flood", "other"} {
		c.send("session/open", openParams(name, ""))
		<-opened
		ids[i] = readAnswer(t, c)
	}
	turn := c.send("session/prompt", on(ids[0], ""))
	stuck := int64(-1)
	waitFor(t, "the agent is held back", func() bool {
		before := stuck
		for range 100 {
			runtime.Gosched()
		}
		stuck = sent.Load()
		return stuck > 0 && stuck == before && stuck*size >= quota-2*size
	})
	if got := stuck * size; got > quota+4*size {
		t.Errorf("%d bytes wait for the host", got)
	}
	c.send("session/prompt", on(ids[1], ""))
	c.send("session/cancel", on(ids[1], ""))
	c.send("session/close", on(ids[1], ""))
	waitFor(t, "the other session is closed", func() bool { return other.closed() == 1 })
	c.read()
	got := 0
	for {
		m := c.next()
		if m.Method == "session/event" && strings.Contains(m.line, ids[0]) {
			got++
		}
		if string(m.ID) == turn {
			break
		}
	}
	if got != chunks {
		t.Errorf("%d of %d chunks arrived", got, chunks)
	}
}

// readAnswer reads one answer to an open, byte by byte: nothing more.
func readAnswer(t *testing.T, c *client) string {
	t.Helper()
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := c.out.Read(b); err != nil {
			t.Fatal(err)
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	_, rest, ok := strings.Cut(string(line), `"sessionId":"`)
	if !ok {
		t.Fatalf("open answered %s", line)
	}
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// The input may end while the host doesn't read: what was asked is answered
// all the same, once it does.
func TestEOFWhileTheHostDoesNotRead(t *testing.T) {
	text := strings.Repeat("x", 64<<10)
	var sent atomic.Int64
	f := &fakeLane{prompt: func(ctx context.Context, turn lane.Turn, sink lane.Sink) (agent.Outcome, error) {
		for ctx.Err() == nil {
			say(ctx, sink, turn.Number, text)
			sent.Add(1)
		}
		return agent.Outcome{}, agent.FailFlags(agent.CodeSessionClosed, agent.StagePrompt, "closed", agent.FlagsUncertain)
	}}
	opened := make(chan struct{}, 1)
	f.open = func(context.Context, lane.Launch) error { opened <- struct{}{}; return nil }
	c := start(t, lanes(f))
	c.send("session/open", openParams("fake", ""))
	<-opened
	id := readAnswer(t, c)
	turn := c.send("session/prompt", on(id, ""))
	waitFor(t, "events wait", func() bool { return sent.Load() > 64 })
	ping := c.send("ping", "null")
	c.in.Close()
	waitFor(t, "the session is closed", func() bool { return f.closed() == 1 })
	c.read()
	if m := c.answer(ping); m.Error != nil {
		t.Errorf("got %s", m.line)
	}
	c.answer(turn).wantError(t, -32603, data("agent_session_closed", "session/prompt", false, true))
	if err := c.result(); err != nil {
		t.Error(err)
	}
}
