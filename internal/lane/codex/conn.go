package codex

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// partingWait bounds what a close waits for the interrupted turn to end, and
// then for what the server does about the thread's commands.
const partingWait = 2 * time.Second

// conn is one session: a thread of an app-server.
type conn struct {
	plan   *plan
	l      lane.Launch
	entry  *entry // its place in the pool
	server *server
	inbox  *inbox
	// link ends when the server's last message was handled, and host when the
	// session begins to close: then nothing more is emitted. served is closed
	// when the session's goroutine is gone.
	link, host  context.Context
	sever, mute context.CancelFunc
	served      chan struct{}
	closing     atomic.Bool
	// work are the questions' goroutines.
	work sync.WaitGroup

	// emitting is held while a message is handled. Who holds it knows that no
	// event is on its way. It is taken before mu. What follows is the holder's.
	emitting sync.Mutex
	outside  *turn // takes what belongs to no turn
	items    map[string]*item
	grown    growth
	tokens   tokens

	mu     sync.Mutex
	thread string
	state  state
	// turn is the last one whose prompt was sent.
	turn *turn
	// withdraw ends the contexts of open questions, by the id of the request.
	withdraw map[string]context.CancelFunc

	closeMu sync.Mutex
	parted  bool // from the server's other sessions
	last    bool // the server is this session's to end
	closed  bool
}

func newConn(p *plan, l lane.Launch, e *entry) *conn {
	c := &conn{
		plan: p, l: l, entry: e, server: e.server, inbox: newInbox(), served: make(chan struct{}),
		items: make(map[string]*item), withdraw: make(map[string]context.CancelFunc),
	}
	c.link, c.sever = context.WithCancel(context.Background())
	c.host, c.mute = context.WithCancel(c.link)
	c.outside = newTurn(c.link, 0, nil)
	c.tokens.resumed = l.Resume != ""
	c.state.options = p.chosen(l.Options)
	go c.serve()
	return c
}

// serve empties the inbox, in order.
func (c *conn) serve() {
	defer close(c.served)
	for {
		list := c.inbox.take()
		if len(list) == 0 {
			break
		}
		for i, m := range list {
			c.take(m, i == len(list)-1)
		}
	}
	c.sever()
	if !c.closing.Load() {
		c.l.Sink.Changed()
	}
}

// take handles one message. Output of a command that grew is told when
// something else comes, or nothing.
func (c *conn) take(m message, last bool) {
	c.emitting.Lock()
	defer c.emitting.Unlock()
	if !c.grow(m) {
		c.flush()
		c.handle(m)
	}
	if last {
		c.flush()
	}
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
	can := c.plan.support()
	return lane.Info{
		NativeID:  c.thread,
		AgentName: agentName, AgentVersion: c.server.version,
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

const agentName = "Codex"

// current is the turn to which a message belongs that is handled now: one
// whose prompt was sent and that hasn't ended, else the outside.
func (c *conn) current() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil || c.turn.ended() {
		return c.outside
	}
	return c.turn
}

// lost is the error of a session whose agent is gone.
func (c *conn) lost(ctx context.Context, stage string) *agent.Error {
	if c.closing.Load() {
		return closedError()
	}
	return c.server.lost(ctx, stage)
}

// Close interrupts what runs, answers open questions and leaves the server;
// the last session of one ends its process tree.
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
	if !c.parted {
		c.server.detach(c)
		c.last = c.plan.driver.pool.release(c.entry)
		c.parted = true
	}
	if c.last {
		if err := c.server.end(ctx); err != nil {
			return err
		}
	}
	c.inbox.end()
	<-c.served
	c.work.Wait()
	c.closed = true
	return nil
}

// part tells the agent that the turn is over, answers its questions, waits a
// moment for its last words and has the thread's commands ended: an interrupt
// leaves them running.
func (c *conn) part(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, partingWait)
	defer cancel()
	t := c.current()
	if t != c.outside {
		t.interrupted.Store(true)
		c.interrupt(t)
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
	thread := c.Info().NativeID
	if thread == "" || c.server.alone(c) || c.server.gone() {
		return
	}
	params := threadParams(thread)
	for _, method := range []string{"thread/backgroundTerminals/clean", "thread/unsubscribe"} {
		if _, err := c.server.peer.Call(ctx, method, params); err != nil {
			c.server.log.Debug("leaving the agent", "method", method, "error", err)
		}
	}
}
