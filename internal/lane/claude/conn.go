package claude

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// partingWait bounds how long a close waits for the interrupted turn to end:
// at the end of its input alone, Claude Code would finish that turn first.
const partingWait = 2 * time.Second

// conn is one session: a process, and what it has told.
type conn struct {
	plan    *plan
	l       lane.Launch
	process lane.Process
	config  serverConfig
	writer  *ndjson.Writer
	control controls

	// link ends when the agent's output has ended, and host when the session
	// begins to close: then nothing more is emitted. served is closed when the
	// reading goroutine is gone.
	link, host  context.Context
	sever, mute context.CancelFunc
	served      chan struct{}
	closing     atomic.Bool
	// work are the questions' goroutines.
	work sync.WaitGroup
	// scanner is the reading goroutine's.
	scanner ndjson.Scanner
	// emitting is held while a line is handled. Who holds it knows that no
	// event is on its way. It is taken before mu.
	emitting sync.Mutex

	// outside takes what belongs to no turn. stream and calls are the reading
	// goroutine's.
	outside *turn
	stream  stream
	calls   map[string]*call
	totals  totals
	// greeted is closed when initialize was answered.
	greeted chan struct{}

	mu      sync.Mutex
	native  string
	version string
	state   state
	// turn is the last one whose prompt was sent.
	turn *turn
	// withdraw ends the contexts of open questions, by the id of the request.
	withdraw map[string]context.CancelFunc

	closeMu sync.Mutex
	closed  bool
}

func newConn(p *plan, l lane.Launch, process lane.Process, config serverConfig) *conn {
	c := &conn{
		plan: p, l: l, process: process, config: config,
		served: make(chan struct{}), greeted: make(chan struct{}),
		calls: make(map[string]*call), withdraw: make(map[string]context.CancelFunc),
	}
	if id, fork := splitResume(l.Resume); !fork {
		c.native = id
	}
	c.totals.resumed = l.Resume != ""
	c.state.mode = p.mode
	c.link, c.sever = context.WithCancel(context.Background())
	c.host, c.mute = context.WithCancel(c.link)
	c.outside = newTurn(c.link, 0, nil)
	c.writer = ndjson.NewWriter(process.Stdin(), ndjson.WriterOptions{})
	c.control.pending = make(map[string]chan reply)
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
// the link is severed.
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
	c.sever()
	c.control.end()
	if !c.closing.Load() {
		c.l.Sink.Changed()
	}
}

// take handles one line.
func (c *conn) take(line []byte) {
	c.emitting.Lock()
	defer c.emitting.Unlock()
	record, ok := c.decode(line)
	if !ok {
		c.emit(c.current(), rawText(line))
		return
	}
	c.handle(record)
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

// emit gives an event of a turn to the host, within the turn's budget.
func (c *conn) emit(t *turn, ev *agent.Event) {
	if t.fenced || c.host.Err() != nil {
		return
	}
	ev.Turn = t.number
	ev, cut := t.admit(ev)
	if ev != nil {
		c.l.Sink.Emit(c.host, ev)
	}
	if cut {
		c.l.Sink.Emit(c.host, &agent.Event{Kind: agent.KindTruncated, Turn: t.number})
	}
}

// Info is what is known now.
func (c *conn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return lane.Info{
		NativeID:  c.native,
		AgentName: "Claude Code", AgentVersion: c.version,
		State:        c.state.json(),
		TextInChunks: true,
		Dead:         c.link.Err() != nil,
		Capabilities: lane.Capabilities{
			Streaming: true, Cancellation: true, SessionResume: true, PermissionPrompts: true,
			Model: can.Model, Mode: can.Mode, Effort: can.Effort, Permission: can.Permission,
			Usage: true, Images: true, Resources: true, Fork: true,
		},
	}
}

// change changes what Info says.
func (c *conn) change(f func()) {
	c.mu.Lock()
	f()
	c.mu.Unlock()
	c.l.Sink.Changed()
}

// current is the turn to which a line belongs that is read now: one whose
// prompt was sent and has no result yet, else the outside.
func (c *conn) current() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil || c.turn.ended() {
		return c.outside
	}
	return c.turn
}

// last is the last turn whose prompt was sent, or nil.
func (c *conn) last() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn
}

// write sends one line.
func (c *conn) write(message any) error {
	line, err := encode(message)
	if err != nil {
		return err
	}
	return c.writer.Write(line)
}

// Close interrupts what runs, answers open questions, and ends the process
// tree.
func (c *conn) Close(ctx context.Context) error {
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return nil
	}
	c.mute()
	if !c.closing.Swap(true) {
		c.part(ctx)
	}
	if err := c.process.End(ctx); err != nil {
		return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err.Error())
	}
	c.writer.Close()
	<-c.served
	c.work.Wait()
	if err := c.config.remove(); err != nil {
		return agent.FailSystem(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err)
	}
	c.closed = true
	return nil
}

// part tells the agent that the turn is over, answers its questions and waits
// a moment for its last words.
func (c *conn) part(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, partingWait)
	defer cancel()
	t := c.current()
	if t != c.outside {
		c.interrupt()
	}
	for _, asking := range []*turn{t, c.outside} {
		asking.dismiss()
		asking.settle(ctx)
	}
	if t != c.outside {
		select {
		case <-t.done:
		case <-c.link.Done():
		case <-ctx.Done():
		}
	}
	if err := c.writer.Flush(ctx); err != nil {
		c.log().Debug("last words to the agent", "error", err)
	}
}
