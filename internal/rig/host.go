package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// object is a JSON object of the a4aa.v1 wire.
type object = map[string]any

// A host drives one `dragoman serve` over its stdio, as a stranger would: it
// shares no code with the side that it tests.
type host struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	stderr  strings.Builder
	verbose bool
	done    chan struct{} // the reader ended

	mu      sync.Mutex
	next    int
	pending map[int]chan object
	// events since the last take; news is signalled at each.
	events []object
	news   chan struct{}
	// answer picks the option for a permission question; nil cancels.
	answer func(options [][]any) string
	asked  []object
}

func startHost(o options, env []string) (*host, error) {
	h := &host{pending: map[int]chan object{}, news: make(chan struct{}, 1), done: make(chan struct{}), verbose: o.verbose}
	h.cmd = exec.Command(o.binary, "serve")
	h.cmd.Env = env
	h.cmd.Stderr = &h.stderr
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	go h.read(out)
	return h, nil
}

func (h *host) read(out io.Reader) {
	defer close(h.done)
	lines := bufio.NewReaderSize(out, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			h.take(line)
		}
		if err != nil {
			return
		}
	}
}

func (h *host) take(line []byte) {
	if h.verbose {
		fmt.Fprintf(os.Stderr, "< %.2000s\n", line)
	}
	var m object
	if err := json.Unmarshal(line, &m); err != nil {
		m = object{"method": "unreadable", "params": object{"line": string(line)}}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	params, _ := m["params"].(object)
	switch method, _ := m["method"].(string); method {
	case "session/event":
		event, _ := params["event"].(object)
		h.events = append(h.events, event)
	case "permission/request":
		h.asked = append(h.asked, params)
		h.send(object{"jsonrpc": "2.0", "id": m["id"], "result": h.choose(params)})
	case "":
		if id, ok := m["id"].(float64); ok {
			if c := h.pending[int(id)]; c != nil {
				c <- m
			}
			delete(h.pending, int(id))
		}
	}
	select {
	case h.news <- struct{}{}:
	default:
	}
}

func (h *host) choose(params object) object {
	var options [][]any
	list, _ := params["options"].([]any)
	for _, o := range list {
		triple, _ := o.([]any)
		options = append(options, triple)
	}
	if h.answer != nil {
		if id := h.answer(options); id != "" {
			return object{"selected": id}
		}
	}
	return object{"cancelled": true}
}

// send writes one message; the caller holds mu.
func (h *host) send(m object) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // our own maps always marshal
	}
	if h.verbose {
		fmt.Fprintf(os.Stderr, "> %.2000s\n", b)
	}
	h.in.Write(append(b, '\n')) // a dead sidecar shows as a missing answer
}

func (h *host) start(method string, params object) chan object {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	c := make(chan object, 1)
	h.pending[h.next] = c
	h.send(object{"jsonrpc": "2.0", "id": h.next, "method": method, "params": params})
	return c
}

// A remoteError is an error that the sidecar answered.
type remoteError struct{ message string }

func (e *remoteError) Error() string { return e.message }

func (h *host) wait(ctx context.Context, c chan object) (object, error) {
	select {
	case m := <-c:
		if e, ok := m["error"].(object); ok {
			return nil, &remoteError{fmt.Sprint(e["message"])}
		}
		result, _ := m["result"].(object)
		return result, nil
	case <-h.done:
		return nil, errors.New("the sidecar ended: " + h.stderr.String())
	case <-ctx.Done():
		return nil, errors.New("no answer in time")
	}
}

func (h *host) call(ctx context.Context, method string, params object) (object, error) {
	return h.wait(ctx, h.start(method, params))
}

// text joins the message chunks since the last takeText.
func (h *host) takeText() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, e := range h.events {
		if e["kind"] == "message-chunk" {
			b.WriteString(fmt.Sprint(e["text"]))
		}
	}
	h.events = nil
	return b.String()
}

// until waits for an event that fits.
func (h *host) until(ctx context.Context, fits func(object) bool) error {
	for {
		h.mu.Lock()
		for _, e := range h.events {
			if fits(e) {
				h.mu.Unlock()
				return nil
			}
		}
		h.mu.Unlock()
		select {
		case <-h.news:
		case <-h.done:
			return errors.New("the sidecar ended")
		case <-ctx.Done():
			return errors.New("the event didn't come")
		}
	}
}

// wordsWait bounds how long [host.speaks] waits.
const wordsWait = 5 * time.Second

// speaks waits until the agent says something, where it does so at all: an
// adapter that was just prompted may lose a cancel.
func (h *host) speaks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, wordsWait)
	defer cancel()
	_ = h.until(ctx, func(e object) bool { return e["kind"] == "message-chunk" })
}

// end closes stdin and waits for the sidecar's exit.
func (h *host) end(limit time.Duration) error {
	h.in.Close()
	kill := time.AfterFunc(limit, func() { h.cmd.Process.Kill() })
	<-h.done
	err := h.cmd.Wait()
	if !kill.Stop() {
		return fmt.Errorf("the sidecar didn't exit within %v of EOF", limit)
	}
	return err
}
