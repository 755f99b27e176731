package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"pgregory.net/rapid"

	"dragoman/wire/ndjson"
)

// TestEveryCallSettlesOnce runs calls against replies of every sort, in any
// order, and any end of the link.
func TestEveryCallSettlesOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newStateMachine(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"start": m.start, "reply": m.reply, "forget": m.forget, "noise": m.noise, "": m.check,
		})
		m.end(rt)
	})
}

// A stateMachine is a Peer and what its calls must have come to.
type stateMachine struct {
	in    *io.PipeWriter
	w     *ndjson.Writer
	peer  *Peer
	ended chan error
	calls []*Call
	want  []string // outcome of each call, "" while it is pending
	seen  []string // outcome once it was observed
	stray int64    // replies that nobody waits for
}

func newStateMachine(t *rapid.T) *stateMachine {
	inR, inW := io.Pipe()
	m := &stateMachine{in: inW, w: ndjson.NewWriter(io.Discard, ndjson.WriterOptions{}), ended: make(chan error, 1)}
	m.peer = NewPeer(inR, m.w, Options{Lenient: true, MaxLineBytes: 100})
	go func() { m.ended <- m.peer.Serve(context.Background()) }()
	return m
}

func (m *stateMachine) start(t *rapid.T) {
	c, err := m.peer.Start("m", nil)
	if err != nil {
		t.Fatal(err)
	}
	m.calls, m.want, m.seen = append(m.calls, c), append(m.want, ""), append(m.seen, "")
}

// reply answers an id that may be pending, settled or unknown, and waits until
// that was read.
func (m *stateMachine) reply(t *rapid.T) {
	i := rapid.IntRange(0, len(m.calls)).Draw(t, "call") // one more than there are
	shape := rapid.SampledFrom([]struct {
		line, outcome string
		counts        bool
	}{
		{`{"id":%d,"result":"a"}`, `"a"`, true}, {`{"id":"%d","result":"b"}`, `"b"`, true},
		{`{"id":%d,"error":{"code":7}}`, "code 7", true}, {`{"id":%d,"result":tru}`, "unreadable", false},
		{`{"result":"` + fmt.Sprintf("%0200d", 0) + `","id":%d}`, "unreadable", false},
	}).Draw(t, "shape")
	m.line(t, fmt.Sprintf(shape.line, i+1))
	switch {
	case i < len(m.calls) && m.want[i] == "":
		m.want[i] = shape.outcome
	case shape.counts:
		m.stray++
	}
}

func (m *stateMachine) noise(t *rapid.T) {
	m.line(t, rapid.SampledFrom([]string{`{}`, `{"id":null,"result":1}`, `{"id":[1],"result":1}`, `x`, `[`, `{"method":"m","params":{"id":1}}`}).Draw(t, "noise"))
	m.stray = m.peer.Stats().UnknownReplies
}

// line sends a line and waits until the peer is through with it, which the
// next line's start tells: reading is in order.
func (m *stateMachine) line(t *rapid.T, line string) {
	for _, l := range []string{line, `{"barrier":1}`, `{"barrier":2}`} {
		if _, err := io.WriteString(m.in, l+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *stateMachine) forget(t *rapid.T) {
	if len(m.calls) == 0 {
		t.Skip("no call")
	}
	i := rapid.IntRange(0, len(m.calls)-1).Draw(t, "call")
	m.calls[i].Forget()
	if m.want[i] == "" {
		m.want[i] = "forgotten"
	}
}

// outcome is what a settled call came to.
func outcome(c *Call) string {
	select {
	case <-c.Done():
	default:
		return ""
	}
	result, err := c.Wait(context.Background())
	var failure *Error
	switch {
	case errors.Is(err, ErrForgotten):
		return "forgotten"
	case errors.Is(err, ErrUnreadableReply):
		return "unreadable"
	case errors.Is(err, ErrPeerClosed):
		return "closed"
	case errors.As(err, &failure):
		return fmt.Sprintf("code %d", failure.Code)
	}
	return string(result)
}

func (m *stateMachine) check(t *rapid.T) {
	pending := int64(0)
	for i, c := range m.calls {
		if m.want[i] == "" {
			pending++
		}
		got := outcome(c)
		if got != m.want[i] || m.seen[i] != "" && got != m.seen[i] {
			t.Fatalf("call %d: got %q, want %q, before %q", i+1, got, m.want[i], m.seen[i])
		}
		m.seen[i] = got
	}
	if s := m.peer.Stats(); s.Pending != pending || s.UnknownReplies != m.stray {
		t.Fatalf("got %+v, want %d pending and %d stray", s, pending, m.stray)
	}
}

func (m *stateMachine) end(t *rapid.T) {
	switch rapid.IntRange(0, 2).Draw(t, "end") {
	case 0:
		_ = m.in.Close()
	case 1:
		_ = m.peer.Close()
	case 2:
		_ = m.in.CloseWithError(errors.New("broken"))
	}
	<-m.ended
	for i, want := range m.want {
		if want == "" {
			m.want[i] = "closed"
		}
	}
	m.check(t)
	if err := m.w.Close(); err != nil {
		t.Fatal(err)
	}
}
