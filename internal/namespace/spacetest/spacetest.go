// Package spacetest gives the tests of namespaces a core around them: the
// real dispatch, hub and runs, and clients on in-memory links.
package spacetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/client"
	facecore "dragoman/internal/face/core"
	"dragoman/internal/hub"
	"dragoman/internal/run"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Patience bounds every wait; a good run never needs it.
const Patience = 60 * time.Second

// A World is a core with the namespaces that a test binds.
type World struct {
	// T is the test.
	T *testing.T
	// Mux takes the namespaces' operations.
	Mux *op.Mux
	// Hub takes their events.
	Hub *hub.Hub
	// Runs are the core's runs.
	Runs *run.Registry
	// Root is the one root.
	Root string

	log locked
	srv *facecore.Server
	wg  sync.WaitGroup
}

// locked is a buffer for logs.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write never fails.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// New makes a world that ends with the test. bind binds namespaces. Whatever
// the core logs (internal errors, undeclared codes) fails the test.
func New(t *testing.T, root string, bind func(w *World)) *World {
	t.Helper()
	w := &World{T: t, Mux: op.NewMux(), Root: root}
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	w.Hub = hub.New(hub.Options{Log: log})
	var err error
	w.Runs, err = run.Open(run.Options{Events: w.Hub, Log: log, Errors: func(name string) []op.Code {
		row, _ := w.Mux.Lookup(name)
		return row.Desc.Errors
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.srv = facecore.New(facecore.Options{
		Mux: w.Mux, Hub: w.Hub, Runs: w.Runs, Core: "k1", Version: "test", Log: log,
		Roots: func() []string { return []string{root} }, Shutdown: func(string) {},
	})
	t.Cleanup(w.close)
	bind(w)
	return w
}

func (w *World) close() {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := w.srv.Close(ctx); err != nil {
		w.T.Error(err)
	}
	w.wg.Wait()
	if s := w.log.String(); s != "" {
		w.T.Errorf("logged:\n%s", s)
	}
}

// A Client is one client of a [World], with all the events that it got.
type Client struct {
	*client.Client
	t *testing.T

	mu     sync.Mutex
	events []client.Event
	more   chan struct{}
}

// Attach attaches a client that gets all events, and bulk events of its own
// runs.
func (w *World) Attach() *Client {
	w.T.Helper()
	c := &Client{t: w.T, more: make(chan struct{})}
	dial := func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		w.wg.Go(func() {
			_ = w.srv.ServeConn(context.Background(), theirs, facecore.NetConn(theirs), facecore.Peer{
				Transport: core.TransportUnix, Access: op.Access{Role: op.Control},
			})
		})
		return ours, nil
	}
	var err error
	c.Client, err = client.New(context.Background(), dial, client.Options{Once: true, OnEvent: c.take})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { c.Close() })
	return c
}

func (c *Client) take(e client.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	close(c.more)
	c.more = make(chan struct{})
}

// Events returns what came so far.
func (c *Client) Events() []client.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]client.Event(nil), c.events...)
}

// Await waits for an event that matches.
func (c *Client) Await(match func(client.Event) bool) client.Event {
	c.t.Helper()
	deadline := time.After(Patience)
	for seen := 0; ; {
		c.mu.Lock()
		events, more := c.events, c.more
		c.mu.Unlock()
		for ; seen < len(events); seen++ {
			if match(events[seen]) {
				return events[seen]
			}
		}
		select {
		case <-more:
		case <-deadline:
			c.t.Fatalf("the event doesn't come; got %d others", len(events))
		}
	}
}

// ofRun is what every event of a run holds.
type ofRun struct {
	Run    string         `json:"run"`
	Result jsontext.Value `json:"result"`
	Error  *op.Error      `json:"error"`
}

// Ended waits for a run's end.
func (c *Client) Ended(id string) (jsontext.Value, *op.Error) {
	c.t.Helper()
	var end ofRun
	c.Await(func(e client.Event) bool {
		if e.Name != core.RunEnded.Name {
			return false
		}
		end = ofRun{}
		return json.Unmarshal(e.Params, &end) == nil && end.Run == id
	})
	return end.Result, end.Error
}

// OfRun returns the events of a run, in order, and fails the test unless the
// last one is its only run.ended.
func (c *Client) OfRun(id string) []client.Event {
	c.t.Helper()
	var all []client.Event
	ends := 0
	for _, e := range c.Events() {
		var of ofRun
		if json.Unmarshal(e.Params, &of) != nil || of.Run != id {
			continue
		}
		if ends > 0 {
			c.t.Errorf("%s behind the run's end", e.Line)
		}
		if e.Name == core.RunEnded.Name {
			ends++
		}
		all = append(all, e)
	}
	if ends != 1 {
		c.t.Errorf("run %s has %d ends", id, ends)
	}
	return all
}

// Do starts a streaming operation and waits for its result.
func Do[P, R any](c *Client, o *op.Op[P, R], p P) (R, *op.Error) {
	c.t.Helper()
	var r R
	id, err := o.Start(c.context(), c, p)
	if err != nil {
		return r, AsError(c.t, err)
	}
	raw, e := c.Ended(id)
	if e == nil {
		if err := json.Unmarshal(raw, &r); err != nil {
			c.t.Fatal(err)
		}
	}
	return r, e
}

// Call calls an operation that doesn't stream.
func Call[P, R any](c *Client, o *op.Op[P, R], p P) (R, *op.Error) {
	c.t.Helper()
	r, err := o.Call(c.context(), c, p)
	if err != nil {
		return r, AsError(c.t, err)
	}
	return r, nil
}

// MustDo is Do that fails the test on an error.
func MustDo[P, R any](c *Client, o *op.Op[P, R], p P) R {
	c.t.Helper()
	r, e := Do(c, o, p)
	if e != nil {
		c.t.Fatalf("%s: %v %v", o.Name, e, e.Data)
	}
	return r
}

// MustCall is Call that fails the test on an error.
func MustCall[P, R any](c *Client, o *op.Op[P, R], p P) R {
	c.t.Helper()
	r, e := Call(c, o, p)
	if e != nil {
		c.t.Fatalf("%s: %v %v", o.Name, e, e.Data)
	}
	return r
}

// AsError is the protocol's error of a call.
func AsError(t *testing.T, err error) *op.Error {
	t.Helper()
	var e *op.Error
	if !errors.As(err, &e) {
		t.Fatalf("no error of the protocol: %v", err)
	}
	return e
}

// Want fails the test unless e has that code and reason ("" for none).
func Want(t *testing.T, e *op.Error, code op.Code, reason string) {
	t.Helper()
	if e == nil || e.Code != code || e.Reason() != reason {
		t.Fatalf("error %v, want %s %s", e, code, reason)
	}
}

func (c *Client) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	c.t.Cleanup(cancel)
	return ctx
}
