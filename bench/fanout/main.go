// Command fanout measures how fast events reach many clients: through the
// hub, which encodes each event once, and through a sender that encodes it
// for each client. Both write to the same kind of sockets, with batches.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/internal/hub"
	"dragoman/wire/core"
)

func main() {
	clients := flag.Int("clients", 1000, "attached clients")
	events := flag.Int("events", 2000, "events for each sender and repetition")
	n := flag.Int("n", 3, "repetitions")
	flag.Parse()
	if err := run(*clients, *events, *n); err != nil {
		fmt.Fprintln(os.Stderr, "fanout:", err)
		os.Exit(1)
	}
}

func run(clients, events, n int) error {
	var once, each []float64
	for range n {
		rate, memory, err := withHub(clients, events)
		if err != nil {
			return err
		}
		base, err := withEach(clients, max(events/10, 1))
		if err != nil {
			return err
		}
		fmt.Printf("hub %.0f events/s, encoding for each client %.0f, ratio %.1f, %d bytes a client\n", rate, base, rate/base, memory)
		once, each = append(once, rate), append(each, base)
	}
	slices.Sort(once)
	slices.Sort(each)
	fmt.Printf("median ratio %.1f (target 10)\n", once[len(once)/2]/each[len(each)/2])
	return nil
}

// event is one of about 300 bytes, without positions.
func event(i int) core.FsChangedParams {
	return core.FsChangedParams{
		Root: "/home/somebody/projects/example",
		Changes: []core.FsChange{{
			PathOut: core.NewPath("/home/somebody/projects/example/internal/" + strings.Repeat("x", 40) + ".go"),
			Kind:    core.Changed, Type: core.TypeFile,
		}},
		Origin: core.Origin{Kind: core.OriginDisk, Certainty: core.Exact, Run: fmt.Sprint("r", i)},
	}
}

// sockets are pairs; what is written to the first ends is read and dropped.
type sockets struct {
	ours    []net.Conn
	wg      sync.WaitGroup
	arrived atomic.Int64
}

func dialAll(n int) (*sockets, error) {
	dir, err := os.MkdirTemp("", "fanout")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s := &sockets{}
	for range n {
		theirs, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			return nil, err
		}
		ours, err := l.Accept()
		if err != nil {
			return nil, err
		}
		s.ours = append(s.ours, ours)
		s.wg.Go(func() { _, _ = io.Copy(counter{s}, bufio.NewReaderSize(theirs, 64<<10)) })
	}
	return s, nil
}

// counter counts what arrives.
type counter struct{ s *sockets }

func (c counter) Write(p []byte) (int, error) {
	c.s.arrived.Add(int64(len(p)))
	return len(p), nil
}

func (s *sockets) await(total int64) {
	for s.arrived.Load() < total {
		time.Sleep(time.Millisecond)
	}
}

func (s *sockets) close() {
	for _, c := range s.ours {
		c.Close()
	}
	s.wg.Wait()
}

type conn struct{ net.Conn }

func (c conn) WriteBatch(bufs net.Buffers) error {
	_, err := bufs.WriteTo(c.Conn)
	return err
}

func withHub(clients, events int) (rate float64, memory int64, err error) {
	s, err := dialAll(clients)
	if err != nil {
		return 0, 0, err
	}
	before := inUse()
	h := hub.New(hub.Options{})
	for i, c := range s.ours {
		h.NewClient(conn{c}, nil).Attach(hub.Attachment{ID: fmt.Sprint("c", i), Filter: hub.All()},
			func(hub.Place) []byte { return []byte("{}") })
	}
	s.await(3 * int64(clients))
	memory = (inUse() - before) / int64(clients)
	total := 3 * int64(clients)
	began := time.Now()
	for i := range events {
		h.Emit(core.FsChanged.With(event(i)))
		total += int64(clients) * int64(lineLen(i))
	}
	s.await(total)
	rate = float64(events) / time.Since(began).Seconds()
	h.Close()
	s.close()
	return rate, memory, nil
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func encode(i int, e core.FsChangedParams) []byte {
	raw, err := json.Marshal(struct {
		Event  string               `json:"event"`
		Seq    int                  `json:"seq"`
		Params core.FsChangedParams `json:"params"`
	}{core.FsChanged.Name, i + 1, e}, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return append(raw, '\n')
}

func lineLen(i int) int { return len(encode(i, event(i))) }

// withEach encodes in each client's own goroutine and writes in batches.
func withEach(clients, events int) (float64, error) {
	s, err := dialAll(clients)
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	queues := make([]chan core.FsChangedParams, clients)
	for i, c := range s.ours {
		queues[i] = make(chan core.FsChangedParams, events)
		wg.Go(func() {
			w := bufio.NewWriterSize(c, 64<<10)
			seq := 0
			for e := range queues[i] {
				_, _ = w.Write(encode(seq, e))
				seq++
				if len(queues[i]) == 0 {
					w.Flush()
				}
			}
			w.Flush()
		})
	}
	total := int64(0)
	began := time.Now()
	for i := range events {
		e := event(i)
		for _, q := range queues {
			q <- e
		}
		total += int64(clients) * int64(lineLen(i))
	}
	s.await(total)
	rate := float64(events) / time.Since(began).Seconds()
	for _, q := range queues {
		close(q)
	}
	wg.Wait()
	s.close()
	return rate, nil
}
