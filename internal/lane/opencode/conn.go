package opencode

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"dragoman/internal/lane"
	"dragoman/internal/lane/native"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// conn is one session with a server of its own.
type conn struct {
	plan    *plan
	l       lane.Launch
	process lane.Process
	client  *client // set before anything uses it
	session *native.Session

	// base ends at Close; work are the stream and the aborts.
	base context.Context
	stop context.CancelFunc
	work sync.WaitGroup
	// announced gets the server's address or why there is none; gone is
	// closed when the server has exited.
	announced chan announcement
	gone      chan struct{}

	// Of the goroutine that handles records.
	run      *run
	users    map[string]bool   // ids of the user's messages so far
	children map[string]string // ids of child sessions, by the call that made them
	stale    map[string]bool   // parts whose pieces can't be told from what was read again

	mu     sync.Mutex
	native string
	state  state
	broken string // why the stream is given up
	ending bool   // no more work is taken

	closeMu sync.Mutex
	closed  bool
}

type announcement struct {
	base string
	err  error
}

func newConn(p *plan, l lane.Launch, process lane.Process) *conn {
	c := &conn{
		plan: p, l: l, process: process, announced: make(chan announcement, 1), gone: make(chan struct{}),
		run: newRun(nil), users: make(map[string]bool), children: make(map[string]string), stale: make(map[string]bool),
	}
	c.base, c.stop = context.WithCancel(context.Background())
	c.session = native.NewSession(dialect{c}, l.Sink, p.spec.MaxOutputBytes)
	return c
}

func (c *conn) log() *slog.Logger {
	if c.l.Log != nil {
		return c.l.Log
	}
	return slog.New(slog.DiscardHandler)
}

// sayAddress stands before the address on stdout.
const sayAddress = "opencode server listening on "

// listen reads the server's stdout: the address, then nothing of interest.
func (c *conn) listen() {
	lines := ndjson.NewReader(c.process.Stdout(), ndjson.ReaderOptions{MaxLineBytes: 8 << 10})
	for found := false; ; {
		line, err := lines.Next()
		var long *ndjson.LineTooLongError
		if err != nil && !errors.As(err, &long) {
			if !found {
				c.announced <- announcement{err: errors.New("the agent ended its output without saying where it listens")}
			}
			break
		}
		if base, ok := strings.CutPrefix(string(line), sayAddress); ok && !found {
			found = true
			base = strings.TrimSpace(base)
			c.announced <- announcement{base, checkLoopback(base)}
		}
	}
	_, _ = io.Copy(io.Discard, c.process.Stdout())
	c.watch()
}

// watch waits for the server's exit.
func (c *conn) watch() {
	<-c.process.Exited()
	close(c.gone)
}

// address waits for the announcement, for the connect clock at most.
func (c *conn) address(ctx context.Context) (string, error) {
	ctx, cancel := native.Within(ctx, "the announcement of the address", c.l.ConnectTimeout)
	defer cancel()
	select {
	case a := <-c.announced:
		if a.err != nil {
			return "", agent.Fail(agent.CodeProtocolFailed, agent.StageOpen, a.err.Error()+": "+lane.Ending(ctx, c.process))
		}
		return a.base, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Info is what is known now.
func (c *conn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := lane.Info{
		NativeID: c.native, AgentName: "OpenCode", AgentVersion: c.state.version, State: c.state.json(), TextInChunks: true,
		Capabilities: lane.Capabilities{
			Streaming: true, Cancellation: true, SessionResume: true, PermissionPrompts: true,
			Model: can.Model, Mode: can.Mode, Usage: true, Images: true, Resources: true,
		},
	}
	select {
	case <-c.session.Severed():
		info.Dead = true
	default:
	}
	return info
}

// change changes what Info says.
func (c *conn) change(f func(s *state)) {
	c.mu.Lock()
	f(&c.state)
	c.mu.Unlock()
	c.l.Sink.Changed()
}

func (c *conn) path(tail string) string { return "/session/" + c.native + tail }

// Prompt runs one turn.
func (c *conn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	return c.session.Prompt(ctx, t)
}

// lost is the error of a session whose server is gone.
func (c *conn) lost(ctx context.Context, stage string) *agent.Error {
	if c.session.Closing() {
		return native.Closed()
	}
	c.mu.Lock()
	text := c.broken
	c.mu.Unlock()
	if text == "" {
		text = lane.Ending(ctx, c.process)
	}
	return agent.Fail(agent.CodeProtocolFailed, stage, text)
}

// spawn runs f in a goroutine that Close waits for, or not at all once that
// waits.
func (c *conn) spawn(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending {
		c.work.Go(f)
	}
}

// abort asks for the end of the turn, without waiting.
func (c *conn) abort() {
	c.spawn(func() {
		if _, err := c.client.call(c.base, http.MethodPost, c.path("/abort"), nil); err != nil {
			c.log().Debug("abort", "error", err)
		}
	})
}

// Close ends what runs, answers open questions, and ends the process tree.
func (c *conn) Close(ctx context.Context) error {
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return nil
	}
	c.session.Part(ctx)
	c.stop()
	if err := c.process.End(ctx); err != nil {
		return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err.Error())
	}
	c.session.Sever()
	c.session.Wait()
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.work.Wait()
	<-c.gone
	if c.client != nil {
		c.client.http.CloseIdleConnections()
	}
	c.closed = true
	return nil
}

// A dialect is the conn as package native sees it.
type dialect struct{ c *conn }

// Prepare has nothing to do: the model goes with the prompt.
func (dialect) Prepare(context.Context, lane.Turn) error { return nil }

// Interrupt aborts the turn.
func (d dialect) Interrupt() { d.c.abort() }

// Lost is the error of a session whose server is gone.
func (d dialect) Lost(ctx context.Context, stage string) *agent.Error { return d.c.lost(ctx, stage) }

// Send sends the prompt; that it was taken doesn't end anything.
func (d dialect) Send(ctx context.Context, t lane.Turn) error {
	c := d.c
	c.mu.Lock()
	body := c.state.prompt(t)
	c.mu.Unlock()
	_, err := c.client.call(ctx, http.MethodPost, c.path("/prompt_async"), body)
	var status *statusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		_, err := fault{text: status.Error(), status: int64(status.status)}.outcome(c.session.Current())
		return err
	case ctx.Err() != nil:
		return native.Closed()
	}
	select {
	case <-c.gone:
		return c.lost(ctx, agent.StagePrompt)
	default:
		return agent.Fail(agent.CodeProtocolFailed, agent.StagePrompt, "the connection broke: "+err.Error())
	}
}

// object reads a reply that is an object.
func object(reply []byte) acp.Object { return acp.AsObject(reply) }
