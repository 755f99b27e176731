package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A script answers the lines of one link; it returns at the link's end.
type script func(lines *bufio.Scanner, w io.Writer)

// scripted dials in-memory pipes, one script a link; after the last one it
// refuses.
func scripted(t *testing.T, wg *sync.WaitGroup, scripts ...script) Dialer {
	var mu sync.Mutex
	return func(context.Context) (io.ReadWriteCloser, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(scripts) == 0 {
			return nil, errors.New("no core")
		}
		s := scripts[0]
		scripts = scripts[1:]
		ours, theirs := net.Pipe()
		wg.Go(func() {
			defer theirs.Close()
			s(bufio.NewScanner(theirs), theirs)
		})
		return ours, nil
	}
}

func answerHello(t *testing.T, lines *bufio.Scanner, w io.Writer, want, result string) {
	if !lines.Scan() {
		t.Error("no hello")
		return
	}
	if got := lines.Text(); got != want {
		t.Errorf("hello %s, want %s", got, want)
	}
	fmt.Fprintf(w, `{"id":1,"ok":true,"result":%s}`+"\n", result)
}

const plainHello = `{"id":1,"op":"session.hello","params":{"events":[]}}`

func drain(lines *bufio.Scanner) {
	for lines.Scan() {
	}
}

func TestCall(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	c, err := New(context.Background(), scripted(t, &wg, func(lines *bufio.Scanner, w io.Writer) {
		answerHello(t, lines, w, plainHello, `{"protocol":1,"core":"k1","clientId":"c7"}`)
		for lines.Scan() {
			switch line := lines.Text(); line {
			case `{"id":2,"op":"buffer.get","params":{"buffer":"b1"}}`:
				io.WriteString(w, `{"id":2,"ok":true,"result":{"buffer":"b1","revision":7,"new_member":1}}`+"\n")
			case `{"id":3,"op":"buffer.get","params":{"buffer":"b2"}}`:
				io.WriteString(w, `{"id":3,"ok":false,"error":{"code":"no_buffer","message":"no","data":{"x":1}}}`+"\n")
			default:
				t.Errorf("line %s", line)
			}
		}
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if h := c.Hello(); h.ClientID != "c7" {
		t.Errorf("%+v", h)
	}
	info, err := core.BufferGet.Call(context.Background(), c, core.BufferParams{Buffer: "b1"})
	if err != nil || info.Revision != 7 {
		t.Errorf("%+v %v", info, err)
	}
	_, err = core.BufferGet.Call(context.Background(), c, core.BufferParams{Buffer: "b2"})
	var e *op.Error
	if !errors.As(err, &e) || e.Code != op.CodeNoBuffer {
		t.Errorf("%v", err)
	}
}

func TestReconnectAsksForWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		defer wg.Wait()
		var mu sync.Mutex
		var seen []string
		gaps := make(chan core.Gap, 1)
		c, err := New(context.Background(), scripted(t, &wg,
			func(lines *bufio.Scanner, w io.Writer) {
				answerHello(t, lines, w, `{"id":1,"op":"session.hello","params":{"client":{"name":"n","version":""}}}`, `{"core":"k1","seq":4}`)
				io.WriteString(w, `{"event":"a.b","seq":5,"params":{}}`+"\n"+`{"event":"exec.output","params":{}}`+"\n")
				lines.Scan() // a call that isn't answered
			},
			func(lines *bufio.Scanner, w io.Writer) {
				answerHello(t, lines, w, `{"id":1,"op":"session.hello","params":{"client":{"name":"n","version":""},"core":"k1","since":5}}`,
					`{"core":"k1","seq":9,"gap":{"from":6,"to":7,"reason":"evicted"}}`)
				io.WriteString(w, `{"event":"a.c","seq":8,"params":{}}`+"\n")
				drain(lines)
			}), Options{Name: "n", OnGap: func(g core.Gap) { gaps <- g }, OnEvent: func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(e.Name, e.Seq))
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Raw(context.Background(), "session.ping", nil); !errors.Is(err, ErrDisconnected) {
			t.Errorf("call over the break: %v", err)
		}
		if g := <-gaps; g.From != 6 || g.To != 7 {
			t.Errorf("gap %+v", g)
		}
		synctest.Wait()
		mu.Lock()
		if got := strings.Join(seen, " "); got != "a.b5 exec.output0 a.c8" {
			t.Errorf("events %s", got)
		}
		mu.Unlock()
		c.Close()
		if _, err := c.Raw(context.Background(), "session.ping", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		defer wg.Wait()
		began := time.Now()
		var pinged time.Duration
		c, err := New(context.Background(), scripted(t, &wg, func(lines *bufio.Scanner, w io.Writer) {
			answerHello(t, lines, w, plainHello, `{"core":"k1"}`)
			lines.Scan()
			pinged = time.Since(began)
			if lines.Text() != `{"id":2,"op":"session.ping"}` {
				t.Errorf("line %s", lines.Text())
			}
			drain(lines) // silence
		}), Options{Once: true})
		if err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		wg.Wait()
		if pinged < PingAfter || pinged > PingAfter+2*time.Second {
			t.Errorf("pinged after %v", pinged)
		}
		if d := time.Since(began); d < PingAfter+DeadAfter || d > PingAfter+DeadAfter+2*time.Second {
			t.Errorf("dead after %v", d)
		}
		if c.Err() == nil {
			t.Error("no reason")
		}
	})
}

func TestAnyByteIsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		defer wg.Wait()
		c, err := New(context.Background(), scripted(t, &wg, func(lines *bufio.Scanner, w io.Writer) {
			answerHello(t, lines, w, plainHello, `{"core":"k1"}`)
			lines.Scan()
			for range 10 {
				time.Sleep(20 * time.Second)
				io.WriteString(w, `{"event":"exec.output","params":{}}`+"\n")
			}
			io.WriteString(w, `{"id":2,"ok":true,"result":{}}`+"\n")
			drain(lines)
		}), Options{Once: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Raw(context.Background(), "session.ping", nil); err != nil {
			t.Error(err)
		}
		c.Close()
	})
}

func TestHelloRefused(t *testing.T) {
	for _, tt := range []struct{ name, answer string }{
		{"by an error", `{"id":1,"ok":false,"error":{"code":"unauthorized","message":"no"}}`},
		{"without the id", `{"id":null,"ok":false,"error":{"code":"bad_request","message":"no"}}`},
		{"by the end", ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var wg sync.WaitGroup
			defer wg.Wait()
			_, err := New(context.Background(), scripted(t, &wg, func(lines *bufio.Scanner, w io.Writer) {
				lines.Scan()
				if tt.answer != "" {
					io.WriteString(w, tt.answer+"\n")
				}
			}), Options{})
			if err == nil {
				t.Fatal("connected")
			}
		})
	}
}
