package pi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/native"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// lastWords bounds how long a close waits until pi was told that it ends.
const lastWords = time.Second

// conn is one session: a process, and what it has told.
type conn struct {
	plan    *plan
	l       lane.Launch
	process lane.Process
	gate    gateFile
	writer  *ndjson.Writer
	session *native.Session
	// served is closed when the reading goroutine is gone.
	served chan struct{}
	// scanner and run are the reading goroutine's.
	scanner ndjson.Scanner
	run     *run

	mu      sync.Mutex
	next    int
	pending map[string]func(reply acp.Object) // by the command's id
	state   state

	closeMu sync.Mutex
	closed  bool
}

func newConn(p *plan, l lane.Launch, process lane.Process, gate gateFile) *conn {
	c := &conn{
		plan: p, l: l, process: process, gate: gate,
		served: make(chan struct{}), pending: make(map[string]func(acp.Object)), run: &run{},
	}
	c.session = native.NewSession(dialect{c}, l.Sink, p.spec.MaxOutputBytes)
	c.writer = ndjson.NewWriter(process.Stdin(), ndjson.WriterOptions{})
	go c.serve()
	return c
}

func (c *conn) log() *slog.Logger {
	if c.l.Log != nil {
		return c.l.Log
	}
	return slog.New(slog.DiscardHandler)
}

// serve is the reading goroutine. What was read is handled to its end before
// the session is severed.
func (c *conn) serve() {
	defer close(c.served)
	lines := ndjson.NewReader(c.process.Stdout(), ndjson.ReaderOptions{})
	for {
		line, err := lines.Next()
		var long *ndjson.LineTooLongError
		switch {
		case err == nil:
			c.take(bytes.Clone(line))
			continue
		case errors.As(err, &long):
			c.log().Warn("a line of the agent was left out", "bytes", long.Size)
			continue
		case !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrClosedPipe):
			c.log().Warn("reading from the agent", "error", err)
		}
		break
	}
	c.session.Sever()
	if !c.session.Closing() {
		c.l.Sink.Changed()
	}
}

// take handles one line.
func (c *conn) take(line []byte) {
	c.session.Handle(func() {
		record, ok := c.decode(line)
		if !ok {
			c.session.RawText(c.session.Current(), line)
			return
		}
		c.handle(record)
	})
}

// decode makes an object of a line, repaired where it has to be.
func (c *conn) decode(line []byte) (acp.Object, bool) {
	if c.scanner.Scan(line) != nil {
		fixed, _, err := ndjson.Repair(nil, line)
		if err != nil {
			return nil, false
		}
		line = fixed
	}
	o := acp.AsObject(bytes.TrimSpace(line))
	return o, o != nil
}

// Info is what is known now.
func (c *conn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := lane.Info{
		NativeID: c.state.file, AgentName: "pi", State: c.state.json(), TextInChunks: true,
		Capabilities: lane.Capabilities{
			Streaming: true, Cancellation: true, SessionResume: c.state.file != "", PermissionPrompts: c.state.gated,
			Model: can.Model, Effort: can.Effort, Usage: true, Images: c.state.images,
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

// Prompt runs one turn.
func (c *conn) Prompt(ctx context.Context, t lane.Turn) (agent.Outcome, error) {
	return c.session.Prompt(ctx, t)
}

// Close ends what runs, answers open questions, and ends the process tree.
func (c *conn) Close(ctx context.Context) error {
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return nil
	}
	c.session.Part(ctx)
	flush, cancel := context.WithTimeout(ctx, lastWords)
	if err := c.writer.Flush(flush); err != nil {
		c.log().Debug("last words to the agent", "error", err)
	}
	cancel()
	if err := c.process.End(ctx); err != nil {
		return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err.Error())
	}
	c.writer.Close()
	<-c.served
	c.session.Wait()
	if err := c.gate.remove(); err != nil {
		return agent.FailSystem(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err)
	}
	c.closed = true
	return nil
}
