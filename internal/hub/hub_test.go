package hub

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// A sink is a connection that keeps what was written, or blocks.
type sink struct {
	mu     sync.Mutex
	cond   *sync.Cond
	buf    bytes.Buffer
	closed bool
	// blocked makes writes wait until the deadline.
	blocked  bool
	deadline bool
}

func newSink() *sink {
	s := &sink{}
	s.cond = sync.NewCond(&s.mu)
	return s
}

var errDeadline = errors.New("deadline")

func (s *sink) WriteBatch(bufs net.Buffers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.blocked && !s.deadline && !s.closed {
		s.cond.Wait()
	}
	switch {
	case s.closed:
		return net.ErrClosed
	case s.blocked:
		return errDeadline
	}
	for _, b := range bufs {
		s.buf.Write(b)
	}
	s.cond.Broadcast()
	return nil
}

func (s *sink) SetWriteDeadline(time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = true
	s.cond.Broadcast()
	return nil
}

func (s *sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cond.Broadcast()
	return nil
}

func (s *sink) block(b bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked = b
	s.cond.Broadcast()
}

// until waits for a line that contains text and returns all lines.
func (s *sink) until(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) []string {
	t.Helper()
	late := time.AfterFunc(patience, func() { s.cond.Broadcast() })
	defer late.Stop()
	end := time.Now().Add(patience)
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.buf.String(), text) {
		if time.Now().After(end) {
			t.Fatalf("no %q in %.2000s", text, s.buf.String())
		}
		s.cond.Wait()
	}
	return strings.Split(strings.TrimSuffix(s.buf.String(), "\n"), "\n")
}

type note struct {
	N int `json:"n"`
}

var noted = &op.Event[note]{Name: "test.noted"}

func attach(c *Client, a Attachment) (p Place) {
	if a.Filter == nil {
		a.Filter = All()
	}
	c.Attach(a, func(place Place) []byte {
		p = place
		return fmt.Appendf(nil, "hello %s", a.ID)
	})
	return p
}

func TestOrderOnOneConnection(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	s := newSink()
	c := h.NewClient(s, nil)
	c.Send([]byte("before"))
	attach(c, Attachment{ID: "c1"})
	want := []string{"before", "hello c1"}
	for i := range 500 {
		h.Emit(noted.With(note{i}))
		h.Bulk("c1", "r1", op.Message{Event: "test.bulk", Params: note{i}}, op.Mark{Next: int64(i)})
		c.Send(fmt.Appendf(nil, "answer %d", i))
		want = append(want,
			fmt.Sprintf(`{"event":"test.noted","seq":%d,"params":{"n":%d}}`, i+1, i),
			fmt.Sprintf(`{"event":"test.bulk","params":{"n":%d}}`, i),
			fmt.Sprintf("answer %d", i))
	}
	got := s.until(t, "answer 499")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %.2000s", strings.Join(got, "\n"))
	}
}

func TestUnitsAreEncodedOnce(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	var mu sync.Mutex
	calls := map[op.Unit]int{}
	changed := &op.Event[string]{Name: "test.changed"}
	emit := func() {
		h.Emit(changed.ByUnit(func(u op.Unit) string {
			mu.Lock()
			defer mu.Unlock()
			calls[u]++
			return u.String()
		}))
	}
	var sinks []*sink
	add := func(u op.Unit, since *int64) {
		s := newSink()
		attach(h.NewClient(s, nil), Attachment{ID: fmt.Sprint("c", len(sinks)), Unit: u, Since: since})
		sinks = append(sinks, s)
	}
	for range 5 {
		add(op.UTF8, nil)
		add(op.UTF16, nil)
	}
	emit()
	for i, s := range sinks {
		if want := []string{`"params":"utf-8"`, `"params":"utf-16"`}[i%2]; !strings.Contains(s.until(t, `"seq":1`)[1], want) {
			t.Errorf("client %d has another unit", i)
		}
	}
	// A unit that nobody used is encoded for the replay, once.
	start := int64(0)
	add(op.UTF32, &start)
	add(op.UTF32, &start)
	for _, s := range sinks[10:] {
		s.until(t, `"params":"utf-32"`)
	}
	mu.Lock()
	defer mu.Unlock()
	if calls[op.UTF8] != 1 || calls[op.UTF16] != 1 || calls[op.UTF32] > 2 {
		t.Errorf("encodings %v", calls)
	}
}

func TestFilterAndOwner(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	s := newSink()
	f, err := ParseFilter([]string{"a.*", "b.c"})
	if err != nil {
		t.Fatal(err)
	}
	c := h.NewClient(s, nil)
	attach(c, Attachment{ID: "c1", Filter: f})
	for _, name := range []string{"a.x", "ab.x", "b.c", "b.d", "a"} {
		h.Emit(op.Message{Event: name, Params: note{}})
	}
	h.EmitFor("c1", op.Message{Event: "run.ended", Params: note{}})
	h.EmitFor("c2", op.Message{Event: "run.ended", Params: note{}})
	c.SetFilter(All())
	c.Send([]byte("end"))
	var got []string
	for _, l := range s.until(t, "end")[1:] {
		got = append(got, strings.TrimSuffix(l, `,"params":{"n":0}}`))
	}
	all := strings.Join(got, " ")
	for _, want := range []string{`"a.x","seq":1`, `"b.c","seq":3`, `"run.ended","seq":6`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
	for _, bad := range []string{"", "a*", "*.a", "a.*.b", "**"} {
		if _, err := ParseFilter([]string{bad}); err == nil {
			t.Errorf("pattern %q is taken", bad)
		}
	}
}

// TestReplay holds for random sequences of events and attachments that a
// client gets exactly the events that it asked for and that hello promised.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := New(Options{RingBytes: int64(rapid.IntRange(200, 3000).Draw(t, "ring"))})
		defer h.Close()
		before := rapid.IntRange(0, 80).Draw(t, "before")
		after := rapid.IntRange(1, 80).Draw(t, "after")
		for i := range before {
			h.Emit(noted.With(note{i}))
		}
		since := rapid.Int64Range(0, int64(before)+20).Draw(t, "since")
		other := rapid.Bool().Draw(t, "other core")
		s := newSink()
		var wg sync.WaitGroup
		start := make(chan struct{})
		wg.Go(func() {
			<-start
			for i := range after {
				h.Emit(noted.With(note{before + i}))
			}
		})
		close(start)
		p := attach(h.NewClient(s, nil), Attachment{ID: "c1", Since: &since, OtherCore: other})
		wg.Wait()
		h.Emit(noted.With(note{before + after})) // comes whatever was asked for
		after++
		lines := s.until(t, fmt.Sprintf(`"seq":%d,`, before+after))[1:]
		first := since + 1
		switch {
		case other:
			first = p.Oldest
		case since > p.Seq:
			first = p.Seq + 1
		case first < p.Oldest:
			first = p.Oldest
		}
		if want := int64(before+after) - first + 1; int64(len(lines)) != want {
			t.Fatalf("%d events, want %d; place %+v", len(lines), want, p)
		}
		for i, l := range lines {
			if !strings.Contains(l, fmt.Sprintf(`"seq":%d,"params":{"n":%d}`, first+int64(i), first+int64(i)-1)) {
				t.Fatalf("line %d is %s, want seq %d", i, l, first+int64(i))
			}
		}
		checkGap(t, p, since, other)
	})
}

func checkGap(t *rapid.T, p Place, since int64, other bool) {
	want := ""
	switch {
	case other:
		want = "restarted"
	case since > p.Seq:
		want = fmt.Sprintf("future %d %d", p.Seq+1, since)
	case since+1 < p.Oldest:
		want = fmt.Sprintf("evicted %d %d", since+1, p.Oldest-1)
	}
	got := ""
	if p.Gap != nil {
		got = fmt.Sprintf("%s %d %d", p.Gap.Reason, p.Gap.From, p.Gap.To)
	}
	if !strings.HasPrefix(got, want) || (want == "" && got != "") {
		t.Fatalf("gap %q, want %q", got, want)
	}
}

func TestSlowClientIsDropped(t *testing.T) {
	h := New(Options{QueueBytes: 64 << 10, RingBytes: 16 << 10})
	defer h.Close()
	slow, good := newSink(), newSink()
	gone := make(chan bool, 1)
	c := h.NewClient(slow, func(attached bool) { gone <- attached })
	attach(c, Attachment{ID: "slow"})
	slow.until(t, "hello")
	slow.block(true)
	attach(h.NewClient(good, nil), Attachment{ID: "good"})
	text := strings.Repeat("x", 1000)
	n := 0
	for ; h.Attached() == 2 && n < 10_000; n++ {
		h.Emit(op.Message{Event: "test.long", Params: text})
		good.until(t, fmt.Sprintf(`"seq":%d,`, n+1))
	}
	// 64 KiB of events of 1 KiB, looked at each 4 KiB; the drop itself takes
	// a moment, so there is no upper bound to assert.
	if n < 60 {
		t.Errorf("dropped after %d events", n)
	}
	select {
	case attached := <-gone:
		if !attached {
			t.Error("the dropped client wasn't attached")
		}
	case <-time.After(patience):
		t.Fatal("the slow client is still there")
	}
	if c.Send([]byte("late")) {
		t.Error("a dropped client takes a line")
	}
}

// TestDroppedLine holds that a client that reads, but too slowly, is told so
// at a line boundary.
func TestDroppedLine(t *testing.T) {
	h := New(Options{DropWait: patience})
	defer h.Close()
	ours, theirs := net.Pipe()
	defer ours.Close()
	c := h.NewClient(pipeConn{theirs}, nil)
	attach(c, Attachment{ID: "c1"})
	for i := range 100 {
		h.Emit(noted.With(note{i}))
	}
	c.Drop()
	lines := bufio.NewScanner(ours)
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if last+"\n" != droppedLine {
		t.Errorf("the last line is %s", last)
	}
}

type pipeConn struct{ net.Conn }

func (c pipeConn) WriteBatch(bufs net.Buffers) error {
	_, err := bufs.WriteTo(c.Conn)
	return err
}

func TestBulkSkips(t *testing.T) {
	h := New(Options{BulkBytes: 1000})
	defer h.Close()
	s := newSink()
	c := h.NewClient(s, nil)
	attach(c, Attachment{ID: "c1", Filter: &Filter{}})
	s.until(t, "hello")
	s.block(true)
	text := strings.Repeat("x", 100)
	bulk := func(i int) {
		h.Bulk("c1", "r1", op.Message{Event: "test.bulk", Params: text}, op.Mark{Stream: "out", Next: int64(i)})
	}
	for i := range 100 {
		bulk(i + 1)
	}
	h.EndRun("r1")
	h.EmitFor("c1", noted.With(note{1}))
	s.block(false)
	lines := s.until(t, `"seq":1`)
	end := lines[len(lines)-2]
	if end != `{"event":"test.bulk","params":{"run":"r1","stream":"out","skippedTo":100}}` {
		t.Errorf("before the end: %s", end)
	}
	if len(lines) > 20 {
		t.Errorf("%d lines came", len(lines))
	}
	// Another client gets bulk events only when it asks.
	other := newSink()
	o := h.NewClient(other, nil)
	attach(o, Attachment{ID: "c2"})
	bulk(101)
	o.Watch("r1")
	bulk(102)
	o.Send([]byte("end"))
	if got := other.until(t, "end"); len(got) != 3 {
		t.Errorf("the other client got %q", got)
	}
}

func TestRepliesHoldRequestsBack(t *testing.T) {
	h := New(Options{ReplyBytes: 100})
	defer h.Close()
	s := newSink()
	c := h.NewClient(s, nil)
	s.block(true)
	c.Send(make([]byte, 200))
	waited := make(chan error, 1)
	go func() { waited <- c.WaitRoom(t.Context()) }()
	select {
	case <-waited:
		t.Fatal("there was room")
	case <-time.After(20 * time.Millisecond):
	}
	s.block(false)
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// TestManyClients holds the memory of an attached client (core.md §3, 64
// KiB) and that one that never reads changes nothing for the others.
func TestManyClients(t *testing.T) {
	const clients = 1000
	h := New(Options{})
	defer h.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	sinks := make([]*sink, clients)
	for i := range sinks {
		sinks[i] = newSink()
		attach(h.NewClient(sinks[i], nil), Attachment{ID: fmt.Sprint("c", i)})
	}
	sinks[0].until(t, "hello")
	sinks[0].block(true)
	for i := range 50 {
		h.Emit(noted.With(note{i}))
	}
	for _, s := range sinks[1:] {
		s.until(t, `"seq":50`)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := int64(after.HeapAlloc+after.StackInuse) - int64(before.HeapAlloc+before.StackInuse)
	if each := used / clients; each > 32<<10 {
		t.Errorf("a client takes %d bytes", each)
	}
	sinks[0].block(false)
	sinks[0].until(t, `"seq":50`)
}
