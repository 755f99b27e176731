package envelope_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"dragoman/wire/envelope"
)

// A script is a connection as one side lives it: lines of the peer ("<") and
// own envelopes (">"), in a short form, and what comes of each.
type step struct {
	envelope string // "hello a b", "request r1 a", "event r1 x", "cancel r1", "error r1", "error"
	do       envelope.Actions
	code     envelope.Code // of the protocol error
	own      bool
}

func peer(e string, do envelope.Actions) step { return step{envelope: e, do: do} }
func wrong(e string, code envelope.Code) step {
	return step{envelope: e, do: envelope.Violation, code: code}
}
func own(e string, do envelope.Actions) step { return step{envelope: e, do: do, own: true} }
func misused(e string) step                  { return step{envelope: e, do: envelope.Misuse, own: true} }
func number(n *int) string                   { *n++; return fmt.Sprintf("m%d", *n) }
func words(s string, at ...*string) (rest []string) {
	var w string
	for n := 0; s != ""; n++ {
		w, s, _ = cutSpace(s)
		if n < len(at) {
			*at[n] = w
		} else {
			rest = append(rest, w)
		}
	}
	return rest
}

func cutSpace(s string) (head, tail string, ok bool) {
	for i := range s {
		if s[i] == ' ' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func parse(s string, n *int) *envelope.Envelope {
	e := &envelope.Envelope{Version: envelope.V1, MessageID: number(n), SentAt: "2026-12-01T00:00:00Z"}
	var kind string
	rest := words(s, &kind)
	switch kind {
	case "hello":
		e.Kind, e.Capabilities = envelope.Hello, rest
	case "request":
		e.Kind, e.RequestID, e.Operation, e.Input = envelope.Request, rest[0], rest[1], []byte("{}")
	case "event":
		e.Kind, e.RequestID, e.Event = envelope.Event, rest[0], rest[1]
	case "cancel":
		e.Kind, e.RequestID = envelope.Cancel, rest[0]
	case "error":
		e.Kind, e.Code = envelope.ErrorKind, "FAILED"
		if len(rest) > 0 {
			e.RequestID = rest[0]
		}
	}
	return e
}

func TestSession(t *testing.T) {
	const (
		unexpected = envelope.UnexpectedMessage
		write      = envelope.Write
		settle     = envelope.Settle
	)
	hello := peer("hello a c", 0)
	tests := []struct {
		name  string
		side  envelope.Side
		steps []step
	}{
		{"a second hello", envelope.HostSide, []step{hello, wrong("hello a", unexpected)}},
		{"an event before the hello", envelope.HostSide, []step{wrong("event r1 x", unexpected)}},
		{"an error before the hello", envelope.HostSide, []step{wrong("error", unexpected)}},
		{"own hello needs no other", envelope.HostSide, []step{own("hello a b", write), hello}},
		{"no request before the hello", envelope.HostSide, []step{misused("request r1 a")}},
		{"no request outside the negotiated set", envelope.HostSide, []step{hello, misused("request r1 b"), misused("request r1 c")}},
		{"a request to its end", envelope.HostSide, []step{
			hello, own("request r1 a", write), peer("event r1 x", envelope.Deliver), peer("event r1 completed", settle),
			wrong("event r1 x", unexpected), wrong("error r1", unexpected), misused("request r1 a"), peer("cancel r1", 0),
		}},
		{"a completed that crossed the cancel", envelope.HostSide, []step{
			hello, own("request r1 a", write), own("cancel r1", write|envelope.StartGrace), peer("event r1 completed", settle|envelope.CancelLost),
		}},
		{"a cancel of the agent is returned once", envelope.HostSide, []step{
			hello, own("request r1 a", write), peer("cancel r1", envelope.ReturnCancel|envelope.StartGrace), peer("cancel r1", 0),
			own("cancel r1", 0), peer("event r1 cancelled", settle),
		}},
		{"an event for an id never requested", envelope.HostSide, []step{hello, wrong("event r9 x", unexpected), wrong("error r9", unexpected)}},
		{"a request to the host", envelope.HostSide, []step{hello, wrong("request r1 a", unexpected)}},
		{"a host that gave up", envelope.HostSide, []step{
			hello, own("request r1 a", write), own("error r1", write|settle), peer("event r1 x", 0), peer("event r1 completed", 0),
			wrong("event r1 x", unexpected),
		}},
		{"an error of the connection", envelope.HostSide, []step{
			hello, own("request r1 a", write), peer("error", envelope.FailAll), misused("request r2 a"),
		}},
		{"an unsupported operation retires its id", envelope.AgentSide, []step{
			hello, peer("request r1 b", envelope.Refuse), peer("request r2 c", envelope.Refuse), wrong("request r1 a", unexpected),
		}},
		{"an agent's request to its end", envelope.AgentSide, []step{
			hello, peer("request r1 a", envelope.Deliver), own("event r1 x", write), own("event r1 completed", write|settle),
			own("event r1 x", 0), own("error r1", 0), peer("cancel r1", 0), wrong("request r1 a", unexpected),
		}},
		{"a cancel stops the work", envelope.AgentSide, []step{
			hello, peer("request r1 a", envelope.Deliver), peer("cancel r1", envelope.StopWork), peer("cancel r1", 0),
			own("event r1 cancelled", write|settle),
		}},
		{"an agent that asks for the cancel", envelope.AgentSide, []step{
			hello, peer("request r1 a", envelope.Deliver), own("cancel r1", write), own("cancel r1", 0),
			peer("cancel r1", envelope.StopWork), own("event r1 cancelled", write|settle),
		}},
		{"an agent after the host gave up", envelope.AgentSide, []step{
			hello, peer("request r1 a", envelope.Deliver), peer("error r1", envelope.StopWork), own("event r1 x", 0),
			own("event r1 completed", settle),
		}},
		{"cancels for unknown ids", envelope.AgentSide, []step{hello, peer("cancel r9", 0)}},
		{"an error for an id never requested", envelope.AgentSide, []step{hello, wrong("error r9", unexpected)}},
		{"an event to the agent", envelope.AgentSide, []step{hello, peer("request r1 a", envelope.Deliver), wrong("event r1 x", unexpected)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := envelope.NewSession(tt.side, []string{"a", "b"}, envelope.Limits{})
			n := 0
			for _, st := range tt.steps {
				play(t, s, st, &n)
			}
		})
	}
}

func play(t *testing.T, s *envelope.Session, st step, n *int) {
	t.Helper()
	e := parse(st.envelope, n)
	if st.own {
		if do, err := s.Send(e); do != st.do || (err != nil) != (st.do == envelope.Misuse) {
			t.Fatalf("own %s: got %b and %v, want %b", st.envelope, do, err, st.do)
		}
		return
	}
	do, err := s.Receive(e)
	if do != st.do || (err == nil) != (st.code == "") || err != nil && err.Code != st.code {
		t.Fatalf("%s: got %b and %v, want %b and %q", st.envelope, do, err, st.do, st.code)
	}
}

func TestMessageIDWindow(t *testing.T) {
	s := envelope.NewSession(envelope.HostSide, nil, envelope.Limits{})
	n := 0
	if _, err := s.Receive(parse("hello", &n)); err != nil {
		t.Fatal(err)
	}
	for range envelope.Window {
		if _, err := s.Receive(parse("cancel r1", &n)); err != nil {
			t.Fatal(err)
		}
	}
	last := n
	e := parse("cancel r1", &n)
	e.MessageID = fmt.Sprintf("m%d", last-envelope.Window+1)
	if _, err := s.Receive(e); err == nil || err.Code != envelope.DuplicateMessageID {
		t.Errorf("the oldest id in the window: got %v", err)
	}
	e.MessageID = "m1" // 1,025 messages ago
	if _, err := s.Receive(e); err != nil {
		t.Errorf("an id outside the window: got %v", err)
	}
}

func TestInFlight(t *testing.T) {
	host := envelope.NewSession(envelope.HostSide, []string{"a"}, envelope.Limits{InFlight: 2})
	agent := envelope.NewSession(envelope.AgentSide, []string{"a"}, envelope.Limits{InFlight: 2})
	n := 0
	for _, s := range []*envelope.Session{host, agent} {
		if _, err := s.Receive(parse("hello a", &n)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		play(t, host, own(fmt.Sprintf("request r%d a", i), envelope.Write), &n)
		play(t, agent, peer(fmt.Sprintf("request r%d a", i), envelope.Deliver), &n)
	}
	play(t, host, misused("request r2 a"), &n)
	play(t, agent, peer("request r2 a", envelope.Refuse), &n)
	if code, _ := agent.Refusal("a"); code != envelope.Busy {
		t.Errorf("got %s, want %s", code, envelope.Busy)
	}
	// What the host gave up doesn't count for ever.
	play(t, host, own("error r0", envelope.Write|envelope.Settle), &n)
	play(t, host, own("request r3 a", envelope.Write), &n)
}

// A wire is both sides of a connection with what is on its way between them.
type wire struct {
	t         *rapid.T
	host      *envelope.Session
	agent     *envelope.Session
	toAgent   []*envelope.Envelope
	toHost    []*envelope.Envelope
	n         int
	requested []string
	settled   map[string]int // at the host
	ended     map[string]int // at the agent
	started   map[string]bool
	stopping  map[string]bool
}

func (w *wire) hostSends(s string) {
	e := parse(s, &w.n)
	do, err := w.host.Send(e)
	if err != nil {
		w.t.Fatalf("host sends %s: %v", s, err)
	}
	if do.Has(envelope.Settle) {
		w.settled[e.RequestID]++
	}
	if do.Has(envelope.Write) {
		w.toAgent = append(w.toAgent, e)
	}
}

func (w *wire) agentSends(s string) {
	e := parse(s, &w.n)
	do, err := w.agent.Send(e)
	if err != nil {
		w.t.Fatalf("agent sends %s: %v", s, err)
	}
	if do.Has(envelope.Settle) {
		w.ended[e.RequestID]++
	}
	if do.Has(envelope.Write) {
		w.toHost = append(w.toHost, e)
	}
}

func (w *wire) hostReads() {
	e := w.toHost[0]
	w.toHost = w.toHost[1:]
	do, err := w.host.Receive(e)
	if err != nil {
		w.t.Fatalf("host reads %s %s: %v", e.Kind, e.RequestID, err)
	}
	if do.Has(envelope.ReturnCancel) {
		w.toAgent = append(w.toAgent, parse("cancel "+e.RequestID, &w.n))
	}
	if do.Has(envelope.Settle) {
		w.settled[e.RequestID]++
	}
}

func (w *wire) agentReads() {
	e := w.toAgent[0]
	w.toAgent = w.toAgent[1:]
	do, err := w.agent.Receive(e)
	if err != nil {
		w.t.Fatalf("agent reads %s %s: %v", e.Kind, e.RequestID, err)
	}
	switch {
	case do.Has(envelope.Deliver):
		w.started[e.RequestID] = true
	case do.Has(envelope.Refuse):
		w.ended[e.RequestID]++
		w.toHost = append(w.toHost, parse("error "+e.RequestID, &w.n))
	case do.Has(envelope.StopWork):
		w.stopping[e.RequestID] = true
	}
}

// Any interleaving of two well-behaved sides ends each request exactly once,
// and neither ever sees a protocol error.
func TestInterleavings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &wire{
			t:       t,
			host:    envelope.NewSession(envelope.HostSide, []string{"a"}, envelope.Limits{}),
			agent:   envelope.NewSession(envelope.AgentSide, []string{"a"}, envelope.Limits{InFlight: 3}),
			settled: map[string]int{}, ended: map[string]int{}, started: map[string]bool{}, stopping: map[string]bool{},
		}
		w.hostSends("hello a")
		w.agentSends("hello a")
		w.hostReads()
		w.agentReads()
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			w.move(rapid.IntRange(0, 9).Draw(t, "move"))
		}
		w.finish()
	})
}

func (w *wire) move(n int) {
	some := func(label string, ids []string) string { return rapid.SampledFrom(ids).Draw(w.t, label) }
	switch {
	case n == 0 || len(w.requested) == 0:
		id := fmt.Sprintf("r%d", len(w.requested)+1)
		w.requested = append(w.requested, id)
		w.hostSends("request " + id + " a")
	case n == 1:
		w.hostSends("cancel " + some("cancel", w.requested))
	case n == 2:
		w.hostSends("error " + some("give up", w.requested))
	case n <= 4 && len(w.toAgent) > 0:
		w.agentReads()
	case n <= 6 && len(w.toHost) > 0:
		w.hostReads()
	default:
		id := some("work", w.requested)
		if !w.started[id] {
			return
		}
		w.agentSends(rapid.SampledFrom([]string{
			"event " + id + " x", "event " + id + " completed", "event " + id + " cancelled", "error " + id, "cancel " + id,
		}).Draw(w.t, "say"))
	}
}

// finish lets both sides do what is left, as a handler that returns does.
func (w *wire) finish() {
	for range 3 {
		for len(w.toAgent) > 0 {
			w.agentReads()
		}
		for _, id := range w.requested {
			if w.started[id] && w.ended[id] == 0 {
				if w.stopping[id] {
					w.agentSends("event " + id + " cancelled")
				} else {
					w.agentSends("event " + id + " completed")
				}
			}
		}
		for len(w.toHost) > 0 {
			w.hostReads()
		}
	}
	for _, id := range w.requested {
		if w.settled[id] != 1 || w.ended[id] != 1 {
			w.t.Fatalf("%s ended %d times at the host and %d times at the agent", id, w.settled[id], w.ended[id])
		}
	}
	if w.host.InFlight() != 0 || w.agent.InFlight() != 0 {
		w.t.Fatalf("%d requests run at the host, %d at the agent", w.host.InFlight(), w.agent.InFlight())
	}
}
