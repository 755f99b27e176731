package acp

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/internal/lane"
	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/jsonrpc"
	"dragoman/wire/ndjson"
)

// partingWait bounds how long the end of a turn waits for its questions to be
// answered, and a close for the last messages to be written.
const partingWait = time.Second

// conn is one session: a process, a peer, and what the agent has told.
type conn struct {
	plan *plan
	l    lane.Launch
	// key is for authenticate, "" for none; secrets go into no error.
	key     string
	secrets []string

	process lane.Process
	writer  *ndjson.Writer
	peer    *jsonrpc.Peer
	// life ends when Close has said goodbye, link when the agent's output has
	// ended, too, and host when the session begins to close: then nothing more
	// is emitted. served is closed when the reading goroutine is gone.
	life, link, host context.Context
	end, sever, mute context.CancelFunc
	served           chan struct{}
	closing          atomic.Bool
	// restored: history may be told until the first prompt is sent.
	restored atomic.Bool
	// heard is when the last update came, in ns since the epoch.
	heard atomic.Int64
	// emitting is held while an update is handled and emitted. Who holds it
	// knows that no event is on its way. It is taken before mu.
	emitting sync.Mutex

	// outside takes what belongs to no turn.
	outside *turn
	// calls is what was said of this turn's tool calls. Reading goroutine.
	calls calls
	cost  costs

	mu     sync.Mutex
	agent  wire.Initialized
	native string
	loaded bool
	state  state
	usage  bool
	// turn is the last one whose prompt was sent.
	turn *turn

	closeMu sync.Mutex
	closed  bool
}

func newConn(p *plan, l lane.Launch, process lane.Process) *conn {
	c := &conn{plan: p, l: l, process: process, served: make(chan struct{})}
	c.life, c.end = context.WithCancel(context.Background())
	c.link, c.sever = context.WithCancel(c.life)
	c.host, c.mute = context.WithCancel(c.life)
	c.outside = newTurn(c.link, 0, nil)
	c.writer = ndjson.NewWriter(process.Stdin(), ndjson.WriterOptions{})
	c.peer = jsonrpc.NewPeer(&output{c}, c.writer, jsonrpc.Options{
		Lenient: true, Handler: c, OnProblem: c.problem, Log: c.log(),
	})
	go c.serve()
	return c
}

func (c *conn) log() *slog.Logger {
	if c.l.Log != nil {
		return c.l.Log
	}
	return slog.New(slog.DiscardHandler)
}

// serve is the reading goroutine.
func (c *conn) serve() {
	defer close(c.served)
	if err := c.peer.Serve(c.life); err != nil && !c.closing.Load() {
		c.log().Warn("agent's output", "error", err)
	}
	// An agent that still has something to say must be able to say it, or it
	// doesn't see that its input has ended.
	_, _ = io.Copy(io.Discard, c.process.Stdout())
}

// output is the agent's stdout; its end severs the link at once, so that open
// questions end with the agent.
type output struct{ c *conn }

func (o *output) Read(b []byte) (int, error) {
	n, err := o.c.process.Stdout().Read(b)
	if err != nil {
		if err != io.EOF {
			o.c.log().Warn("reading from the agent", "error", err)
		}
		o.c.sever()
		if !o.c.closing.Load() {
			o.c.l.Sink.Changed()
		}
	}
	return n, err
}

// problem is told of lines that can't be used, of repaired ones once: the one
// notice a session (sidecar.md §1).
func (c *conn) problem(p jsonrpc.Problem) {
	c.log().Debug("line from the agent", "line", p.Line, "code", p.Code, "offset", p.Offset, "repaired", p.Repaired)
	if !p.Repaired {
		return
	}
	c.emitting.Lock()
	defer c.emitting.Unlock()
	c.emit(&agent.Event{
		Kind: agent.KindNotice, Turn: c.current().number,
		Notice: &agent.Notice{
			Level: "warning", Code: "agent_line_repaired",
			Text: "the agent writes invalid JSON, which is repaired: " + string(p.Code),
		},
	})
}

// Info is what is known now.
func (c *conn) Info() lane.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return lane.Info{
		NativeID:  c.native,
		AgentName: c.agent.Name, AgentVersion: c.agent.Version,
		State:        c.state.json(),
		TextInChunks: true,
		Dead:         c.link.Err() != nil,
		Capabilities: lane.Capabilities{
			Streaming: true, Cancellation: true, PermissionPrompts: true,
			SessionResume: c.offersLoad() || c.offersResume(),
			Model:         c.state.offers(wire.CategoryModel),
			Mode:          c.state.offers(wire.CategoryMode),
			Effort:        c.state.offers(wire.CategoryEffort),
			Permission:    c.state.offers(wire.CategoryPermission) || c.plan.enforced != nil,
			Usage:         c.usage,
			Images:        c.agent.Offers("promptCapabilities", "image"),
			Resources:     c.agent.Offers("promptCapabilities", "embeddedContext"),
			Fork:          c.agent.Offers("sessionCapabilities", "fork"),
			Detail:        c.agent.Capabilities,
		},
	}
}

func (c *conn) offersLoad() bool   { return c.agent.Offers("loadSession") }
func (c *conn) offersResume() bool { return c.agent.Offers("sessionCapabilities", "resume") }

// current is the turn to which a message belongs that is read now: one whose
// prompt was sent and not answered yet, else the outside.
func (c *conn) current() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil || c.turn.answered() {
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

// Close cancels what runs, answers open questions, and ends the process tree.
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
	c.end()
	if err := c.process.End(ctx); err != nil {
		return agent.Fail(agent.CodeProcessCleanupFailed, agent.StageProcessClose, err.Error())
	}
	c.peer.Close()
	c.writer.Close()
	<-c.served
	c.closed = true
	return nil
}

// part tells the agent that the turn is over, and answers its questions.
func (c *conn) part(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, partingWait)
	defer cancel()
	if t := c.current(); t != c.outside {
		c.sendCancel()
		t.dismiss()
		t.settled()
	}
	c.outside.dismiss()
	c.outside.settled()
	if err := c.writer.Flush(ctx); err != nil {
		c.log().Debug("last words to the agent", "error", err)
	}
}

func (c *conn) sendCancel() {
	params, err := wire.Encode(wire.CancelParams{SessionID: c.nativeID()})
	if err == nil {
		err = c.peer.Notify(wire.MethodCancel, params)
	}
	if err != nil {
		c.log().Debug("cancel", "error", err)
	}
}

func (c *conn) nativeID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.native
}
