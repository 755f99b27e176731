package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/internal/hub"
	"dragoman/internal/run"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// texts is a stand-in for the buffer namespace: edits append, and one whose
// text begins with "wait" holds until the test lets it go.
type texts struct {
	mu   sync.Mutex
	text map[string]string
	gate chan struct{}
}

func (x *texts) bind(w *world) {
	x.text, x.gate = map[string]string{}, make(chan struct{})
	core.BufferEdit.Handle(w.mux, func(ctx context.Context, c op.Call, p core.BufferEditParams) (core.BufferEditResult, error) {
		for _, e := range p.Edits {
			if strings.HasPrefix(e.Text, "wait") {
				select {
				case <-x.gate:
				case <-ctx.Done():
					return core.BufferEditResult{}, ctx.Err()
				}
			}
			if e.Text == "panic" {
				panic("on purpose")
			}
			if e.Text == "internal" {
				return core.BufferEditResult{}, errors.New("not one of the protocol's")
			}
			x.mu.Lock()
			x.text[p.Buffer] += e.Text
			x.mu.Unlock()
			w.hub.Emit(core.BufferChanged.With(core.BufferChangedParams{
				Buffer: p.Buffer, Edits: []core.Edit{e}, Origin: core.ClientOrigin(c, "edit"),
			}))
		}
		return core.BufferEditResult{Ranges: []core.Range{}}, nil
	})
	core.BufferText.Handle(w.mux, func(_ context.Context, _ op.Call, p core.BufferTextParams) (core.BufferTextResult, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		return core.BufferTextResult{Text: x.text[p.Buffer]}, nil
	})
	bindRuns(w)
}

func edit(id int, buffer, text string) string {
	return fmt.Sprintf(`{"id":%d,"op":"buffer.edit","params":{"buffer":%q,"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":%q}]}}`, id, buffer, text)
}

func text(id int, buffer string) string {
	return fmt.Sprintf(`{"id":%d,"op":"buffer.text","params":{"buffer":%q}}`, id, buffer)
}

func TestWritesKeepTheirOrder(t *testing.T) {
	var x texts
	w := newWorld(t, x.bind)
	p := w.dial(control)
	p.hello(`{"events":["buffer.*"]}`)
	want := ""
	var lines []string
	for i := range 100 {
		lines = append(lines, edit(i, "b1", fmt.Sprint(i, " ")))
		want += fmt.Sprint(i, " ")
	}
	p.send(append(lines, text(100, "b1"))...)
	// Each edit's event stands before its response; the read comes last.
	seen := map[string]bool{}
	for range 200 {
		line := p.line()
		if strings.HasPrefix(line, `{"event"`) {
			seen[fmt.Sprint(len(seen))] = true
			continue
		}
		var id string
		_, _ = fmt.Sscanf(line, `{"id":%s`, &id)
		id, _, _ = strings.Cut(id, ",")
		if !seen[id] {
			t.Fatalf("response %s stands before its event", id)
		}
	}
	p.want(`{"id":100,"ok":true,"result":{"text":"` + want + `",…}}`)
}

func TestWritesToOtherThingsGoOn(t *testing.T) {
	var x texts
	w := newWorld(t, x.bind)
	p := w.dial(control)
	p.send(edit(1, "b1", "wait"), edit(2, "b1", "then"), edit(3, "b2", "free"))
	p.want(`{"id":3,"ok":true,…}`)
	other := w.dial(control)
	other.send(text(1, "b1"))
	other.want(`{"id":1,"ok":true,"result":{"text":"",…}}`)
	// A read and the first phase of a streaming op follow all writes; ids in
	// flight can't be used twice.
	p.send(text(4, "b2"), `{"id":4,"op":"session.ping"}`)
	p.want(`{"id":null,"ok":false,"error":{"code":"bad_request","message":"…","data":{"id":4,"key":"id","reason":"id_in_flight"}}}`)
	close(x.gate)
	got := p.line() + p.line() + p.line()
	for _, want := range []string{`"id":1,"ok":true`, `"id":2,"ok":true`, `"id":4,"ok":true`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	p.send(text(5, "b1"))
	p.want(`{"id":5,"ok":true,"result":{"text":"waitthen",…}}`)
}

func TestLateAnswer(t *testing.T) {
	var x texts
	w := newWorld(t, x.bind, func(o *Options, _ *hub.Options, _ *run.Options) { o.AnswerTimeout = 50 * time.Millisecond })
	p := w.dial(control)
	p.send(edit(1, "b1", "wait"))
	p.want(`{"id":1,"ok":false,"error":{"code":"timeout","message":"…"}}`)
	p.send(text(2, "b1"))
	p.want(`{"id":2,"ok":true,"result":{"text":"",…}}`)
}

func TestOverloaded(t *testing.T) {
	var x texts
	w := newWorld(t, x.bind)
	p := w.dial(control)
	var lines []string
	for i := range core.MaxInFlight + 1 {
		lines = append(lines, edit(i, "b1", "wait"))
	}
	p.send(lines...)
	p.want(fmt.Sprintf(`{"id":%d,"ok":false,"error":{"code":"overloaded","message":"…"}}`, core.MaxInFlight))
	close(x.gate)
	for range core.MaxInFlight {
		p.want(`{"id":…,"ok":true,…}`)
	}
}

func TestOurBugsAreInternal(t *testing.T) {
	var x texts
	w := newWorld(t, x.bind)
	p := w.dial(control)
	for _, text := range []string{"panic", "internal"} {
		p.send(edit(1, "b1", text))
		p.want(`{"id":1,"ok":false,"error":{"code":"internal","message":"internal error"}}`)
		if s := w.log.take(); !strings.Contains(s, "internal error") {
			t.Errorf("%s: logged %q", text, s)
		}
	}
}

func TestSessionOps(t *testing.T) {
	w := newWorld(t, bindRuns)
	p := w.dial(control)
	h := p.hello(`{"client":{"name":"n","version":"v"},"positionEncoding":["x","utf-16"],"events":[]}`)
	if h.PositionEncoding != "utf-16" || h.Role != op.Control || h.ClientID != "c1" || h.Seq != 0 {
		t.Errorf("%+v", h)
	}
	other := w.dial(control)
	other.hello(`{"events":["session.detached"]}`)
	p.send(`{"id":1,"op":"session.hello"}`)
	p.want(`{"id":1,"ok":false,"error":{"code":"bad_request","message":"…","data":{"reason":"attached"}}}`)
	p.send(`{"id":2,"op":"session.clients"}`)
	p.want(`{"id":2,"ok":true,"result":{"clients":[{"clientId":"c1","name":"n","version":"v","role":"control","transport":"unix","attachedAt":"…Z"},{"clientId":"c2",…}]}}`)
	p.send(`{"id":3,"op":"session.stats"}`)
	p.want(`{"id":3,"ok":true,"result":{"uptimeMs":…,"memoryBytes":…,"goroutines":…,"clients":2,"ops":{"session.clients":{"count":1,"errors":0,"p50Us":…,"p99Us":…},"session.hello":{"count":3,"errors":1,…}}}}`)
	p.send(`{"id":4,"op":"session.describe","params":{"op":"run.watch"}}`)
	p.want(`{"id":4,"ok":true,"result":{"ops":[{"op":"run.watch","doc":"…","streaming":false,"effect":"read","since":1,"params":{…},"result":{…},"events":[],"errors":["not_found"]}]}}`)
	p.send(`{"id":5,"op":"session.detach","params":{"clientId":"c9"}}`)
	p.want(`{"id":5,"ok":false,"error":{"code":"not_found",…}}`)
	p.send(`{"id":6,"op":"exec.run","params":{"argv":["wait"]}}`)
	p.want(`{"id":6,"ok":true,…}`, `{"event":"run.started",…}`)
	p.send(`{"id":7,"op":"session.shutdown"}`)
	p.want(`{"id":7,"ok":false,"error":{"code":"busy","message":"…","data":{"buffers":[],"reason":"running","runs":["r1"]}}}`)
	p.send(`{"id":8,"op":"session.shutdown","params":{"force":true}}`)
	p.want(`{"id":8,"ok":true,"result":{}}`)
	if reason := <-w.shut; reason != "shutdown" {
		t.Errorf("shutdown %s", reason)
	}
	// Detaching oneself is answered first.
	p.send(`{"id":9,"op":"session.detach","params":{"clientId":"c1"}}`)
	p.want(`{"id":9,"ok":true,"result":{}}`)
	if _, err := p.r.ReadByte(); err == nil {
		t.Error("still connected")
	}
	other.want(`{"event":"session.detached","seq":…,"params":{"clientId":"c1","name":"n","role":"control"}}`)
}

func TestObserverMayNotCancel(t *testing.T) {
	w := newWorld(t, bindRuns)
	p := attachQuiet(t, w)
	p.send(`{"id":1,"op":"exec.run","params":{"argv":["wait"]}}`)
	p.want(`{"id":1,"ok":true,…}`, `{"event":"run.started",…}`)
	o := w.dial(Peer{Access: op.Access{Role: op.Observe}})
	for line, want := range map[string]string{
		`{"id":1,"op":"run.cancel","params":{"run":"r1"}}`: `{"id":1,"ok":false,"error":{"code":"denied",…"data":{"reason":"role"}}}`,
		`{"id":1,"op":"session.shutdown"}`:                 `{"id":1,"ok":false,"error":{"code":"denied",…}}`,
		`{"id":1,"op":"run.get","params":{"run":"r1"}}`:    `{"id":1,"ok":true,…}`,
	} {
		o.send(line)
		o.want(want)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for us := range 1000 {
		h.count++
		h.buckets[bucketOf(uint64(us))]++
	}
	for _, tt := range []struct {
		share float64
		exact int64
	}{{0.5, 500}, {0.99, 990}} {
		if got := h.percentile(tt.share); got < tt.exact-1 || got > tt.exact+tt.exact/8 {
			t.Errorf("p%v is %d, exactly %d", tt.share, got, tt.exact)
		}
	}
	for _, us := range []uint64{0, 7, 8, 9, 15, 16, 1 << 20, 1<<40 + 12345} {
		if top := bucketTop(bucketOf(us)); top < int64(us) || top > int64(us+us/8) {
			t.Errorf("%d falls into a bucket up to %d", us, top)
		}
	}
}

// TestLargeAnswersHoldReadsBack holds that a client that asks for much and
// reads nothing doesn't fill the core's memory (core.md §1).
func TestLargeAnswersHoldReadsBack(t *testing.T) {
	const asked, size = 500, 64 << 10
	var started atomic.Int64
	w := newWorld(t, func(w *world) {
		core.BufferText.Handle(w.mux, func(context.Context, op.Call, core.BufferTextParams) (core.BufferTextResult, error) {
			started.Add(1)
			return core.BufferTextResult{Text: strings.Repeat("x", size)}, nil
		})
	}, func(_ *Options, ho *hub.Options, _ *run.Options) { ho.ReplyBytes = size })
	p := w.dial(control)
	var lines []string
	for i := range asked {
		lines = append(lines, text(i, "b1"))
	}
	go p.send(lines...)
	// What the socket and the places of reads hold, and no more, however long
	// we wait; what it means that nothing more comes is in the last check.
	for started.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	if n := started.Load(); n > asked/2 {
		t.Errorf("%d of %d reads ran although nobody reads", n, asked)
	}
	for range asked {
		p.want(`{"id":…,"ok":true,…}`)
	}
	if n := started.Load(); n != asked {
		t.Errorf("%d reads ran", n)
	}
}
