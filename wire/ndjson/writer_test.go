package ndjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a stream that takes only what it is allowed to.
type gate struct {
	allow chan int // so many writes may go on
	buf   lockedBuffer
	err   error
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.allow
	if g.err != nil {
		return 0, g.err
	}
	return g.buf.Write(b)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestWriterKeepsLinesWhole(t *testing.T) {
	var out lockedBuffer
	w := NewWriter(&out, WriterOptions{})
	const senders, lines = 8, 500
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range lines {
				body := bytes.Repeat([]byte{byte('a' + s)}, i*i%3000)
				if err := w.Write(fmt.Appendf(nil, "%d %d ", s, i), body); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	big := strings.Repeat("z", 3*chunkBytes+7)
	if err := w.Write([]byte(big)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(got) != senders*lines+1 || got[len(got)-1] != big {
		t.Fatalf("got %d lines", len(got))
	}
	next := [senders]int{}
	for _, line := range got[:len(got)-1] {
		var s, i int
		if _, err := fmt.Sscanf(line, "%d %d ", &s, &i); err != nil || i != next[s] {
			t.Fatalf("line %.40q, want number %d", line, next[s])
		}
		next[s]++
		if body := line[len(fmt.Sprintf("%d %d ", s, i)):]; body != strings.Repeat(string(rune('a'+s)), i*i%3000) {
			t.Fatalf("line %d of %d is mixed up", i, s)
		}
	}
	if err := w.Write([]byte("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestWriterNeverBlocks(t *testing.T) {
	g := &gate{allow: make(chan int)}
	w := NewWriter(g, WriterOptions{})
	line := make([]byte, 1<<20)
	for range 20 {
		if err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Flush: %v", err)
	}
	close(g.allow)
	if err := w.Flush(t.Context()); err != nil || w.Pending() != 0 {
		t.Errorf("Flush: %v, %d wait", err, w.Pending())
	}
	if err := w.Close(); err != nil || w.Close() != nil {
		t.Error(err)
	}
}

func TestWriterRefuses(t *testing.T) {
	w := NewWriter(io.Discard, WriterOptions{MaxLineBytes: 10})
	var long *LineTooLongError
	if err := w.Write([]byte("123456"), []byte("78901")); !errors.As(err, &long) || long.Size != 11 {
		t.Errorf("got %v", err)
	}
	if err := w.Write([]byte("a\nb")); err == nil {
		t.Error("two lines in one were taken")
	}
	if err := w.Write([]byte("1234567890")); err != nil {
		t.Error(err)
	}
	_ = w.Close()
}

func TestWriterQueueWaitsForPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		w := NewWriter(&out, WriterOptions{})
		for want, step := range []func(){
			func() { _ = w.Queue([]byte("a")) }, w.Push,
			func() { _ = w.Queue([]byte("b")) }, func() { _ = w.Write([]byte("c")) },
			func() { _ = w.Queue([]byte("d")) }, func() { _ = w.Flush(t.Context()) },
			func() { _ = w.Queue([]byte("e")) }, func() { _ = w.Queue(make([]byte, pushBytes)) },
		} {
			step()
			synctest.Wait()
			texts := []string{"", "a\n", "a\n", "a\nb\nc\n", "a\nb\nc\n", "a\nb\nc\nd\n", "a\nb\nc\nd\n"}
			if want < len(texts) && out.String() != texts[want] {
				t.Fatalf("step %d: got %q", want, out.String())
			}
		}
		if n := len(out.String()); n != 8+2+pushBytes+1 {
			t.Errorf("a full queue wasn't written: %d bytes", n)
		}
		_ = w.Queue([]byte("f"))
		_ = w.Close()
		if !strings.HasSuffix(out.String(), "f\n") {
			t.Error("Close lost a queued line")
		}
	})
}

func TestWriterBrokenStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{allow: make(chan int), err: io.ErrClosedPipe}
		w := NewWriter(g, WriterOptions{TotalQuota: 10})
		q := w.Quota(5)
		results := make(chan error, 3)
		_ = w.WriteQuota(t.Context(), q, []byte("first"))
		go func() { results <- w.WriteQuota(t.Context(), q, []byte("second")) }()
		go func() { results <- w.Flush(t.Context()) }()
		synctest.Wait()
		close(g.allow)
		for range 2 {
			if err := <-results; !errors.Is(err, ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("got %v", err)
			}
		}
		<-w.Done()
		if !errors.Is(w.Err(), io.ErrClosedPipe) || !errors.Is(w.Write([]byte("x")), ErrClosed) {
			t.Errorf("Err is %v", w.Err())
		}
		if err := w.WriteQuota(t.Context(), q, []byte("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWriterStopReleasesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{allow: make(chan int)}
		w := NewWriter(g, WriterOptions{})
		q := w.Quota(5)
		_ = w.WriteQuota(t.Context(), q, []byte("first"))
		result := make(chan error, 1)
		go func() { result <- w.WriteQuota(t.Context(), q, []byte("second")) }()
		synctest.Wait()
		w.Stop()
		if err := <-result; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
		close(g.allow)
		<-w.Done()
		w.Stop()
	})
}

func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{allow: make(chan int)}
		w := NewWriter(g, WriterOptions{TotalQuota: 100})
		a, b := w.Quota(20), w.Quota(1000)
		var mu sync.Mutex
		var order []string
		send := func(q *Quota, name string, size int) {
			go func() {
				_ = w.WriteQuota(t.Context(), q, []byte(name), make([]byte, size-1-len(name)))
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
			}()
			synctest.Wait()
		}
		want := func(names string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(order, " "); got != names {
				t.Fatalf("got %q, want %q", got, names)
			}
		}
		send(a, "a1", 50) // larger than the share, but alone
		send(a, "a2", 10) // waits for a1
		send(a, "a3", 5)  // behind a2
		send(b, "b1", 40)
		send(b, "b2", 40) // over the total
		send(b, "b3", 5)  // would fit, but behind b2
		want("a1 b1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.WriteQuota(ctx, b, make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(g.allow)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(order) != 6 || a.Pending() != 0 || b.Pending() != 0 {
			t.Errorf("got %q, %d and %d wait", order, a.Pending(), b.Pending())
		}
		_ = w.Close()
		if got := g.buf.String(); !inOrder(got, "a1", "a2", "a3") || !inOrder(got, "b1", "b2", "b3") {
			t.Errorf("wrong order: %q", got)
		}
	})
}

func inOrder(text string, parts ...string) bool {
	at := 0
	for _, p := range parts {
		i := strings.Index(text[at:], p)
		if i < 0 {
			return false
		}
		at += i
	}
	return true
}

// TestQuotaNeverExceeded sends at random and lets the stream go on at random.
func TestQuotaNeverExceeded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{allow: make(chan int)}
			w := NewWriter(g, WriterOptions{TotalQuota: 300})
			quotas := []*Quota{w.Quota(50), w.Quota(200), w.Quota(400)}
			var wg sync.WaitGroup
			total, ctx := 0, t.Context()
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				if rapid.Bool().Draw(rt, "write") {
					q := rapid.SampledFrom(quotas).Draw(rt, "quota")
					size := rapid.IntRange(1, 350).Draw(rt, "size")
					total += size
					wg.Go(func() {
						if err := w.WriteQuota(ctx, q, make([]byte, size-1)); err != nil {
							t.Error(err)
						}
					})
				} else {
					select {
					case g.allow <- 1:
					default:
					}
				}
				synctest.Wait()
				for i, q := range quotas {
					if p := q.Pending(); p > max(q.limit, 350) {
						rt.Fatalf("quota %d: %d bytes wait", i, p)
					}
				}
				if p := w.Pending(); p > 350 {
					rt.Fatalf("%d bytes wait", p)
				}
			}
			close(g.allow)
			wg.Wait()
			if err := w.Close(); err != nil || len(g.buf.String()) != total {
				rt.Fatalf("%d of %d bytes written, %v", len(g.buf.String()), total, err)
			}
		})
	})
}

func TestWriterAllocatesNothing(t *testing.T) {
	w := NewWriter(io.Discard, WriterOptions{})
	head, body := []byte("head"), make([]byte, 2048)
	for range 1000 {
		_ = w.Write(head, body)
	}
	if n := testing.AllocsPerRun(1000, func() { _ = w.Write(head, body) }); n > 0.5 {
		t.Errorf("%v allocations a line", n)
	}
	_ = w.Close()
}
