package codex

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

const (
	// maxArgBytes is the longest prompt that goes into argv (lanes.md §9).
	maxArgBytes = 100 << 10
	// interruptWait is how long a process has after SIGINT (lanes.md §2).
	interruptWait = 2 * time.Second
)

// execTurn is one running process.
type execTurn struct {
	*turn
	conn *execConn
	ctx  context.Context
	// items by id, as on the app-server.
	items map[string]*item
	// over: turn.completed or turn.failed came.
	over bool
}

// Prompt runs one turn.
func (c *execConn) Prompt(ctx context.Context, lt lane.Turn) (agent.Outcome, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.life, stop)()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return agent.Outcome{}, closedError()
	}
	select {
	case <-lt.Cancel:
		return cancelled(), nil
	default:
	}
	if ctx.Err() != nil {
		return agent.Outcome{}, closedError()
	}
	return c.run(ctx, lt)
}

// run starts the process, reads it to its end, and ends all that it left.
func (c *execConn) run(ctx context.Context, lt lane.Turn) (agent.Outcome, error) {
	command := lane.Command{Program: c.plan.spec.Command.Program, Dir: c.l.Dir, Env: c.env, Stdin: lane.StdinNull}
	prompt := lt.Text
	if long := len(prompt) > maxArgBytes; long || prompt == "-" {
		command.Stdin, prompt = lane.StdinPipe, "-"
	}
	command.Args = c.args(lt.Options, prompt)
	process, err := c.l.Starter.Start(ctx, command)
	if err != nil {
		return agent.Outcome{}, agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	}
	t := &execTurn{turn: newTurn(ctx, lt.Number, c.plan.spec.MaxOutputBytes), conn: c, ctx: ctx, items: make(map[string]*item)}
	defer t.dismiss()
	var work sync.WaitGroup
	read := make(chan struct{})
	work.Go(func() { t.watch(ctx, process, lt.Cancel, read) })
	if command.Stdin == lane.StdinPipe {
		work.Go(func() {
			_, err := io.WriteString(process.Stdin(), lt.Text)
			if err = errors.Join(err, process.Stdin().Close()); err != nil {
				c.log.Debug("writing the prompt", "error", err)
			}
		})
	}
	t.read(process.Stdout())
	ending := lane.Ending(ctx, process)
	close(read)
	work.Wait()
	if err := sweep(context.WithoutCancel(ctx), process); err != nil {
		c.left = process
		c.log.Error("agent not ended after its turn", "error", err)
	}
	return t.settled(ctx, process, ending)
}

// sweep ends what a turn has left. Of a process that has exited itself only
// helpers are there, which need no time to part.
func sweep(ctx context.Context, p lane.Process) error {
	select {
	case <-p.Exited():
		return p.Kill(ctx)
	default:
		return p.End(ctx)
	}
}

// watch interrupts the process at a cancel, and ends it at a close.
func (t *execTurn) watch(ctx context.Context, p lane.Process, cancel <-chan struct{}, read <-chan struct{}) {
	select {
	case <-cancel:
		t.interrupted.Store(true)
		if err := p.Interrupt(); err != nil {
			t.conn.log.Debug("interrupt", "error", err)
		}
		timer := time.NewTimer(interruptWait)
		defer timer.Stop()
		select {
		case <-read:
			return
		case <-timer.C:
		case <-ctx.Done():
		}
	case <-read:
		return
	case <-ctx.Done():
	}
	if err := p.End(context.WithoutCancel(ctx)); err != nil {
		t.conn.log.Debug("ending the agent", "error", err)
	}
}

// read handles the output to its end.
func (t *execTurn) read(r io.Reader) {
	lines := ndjson.NewReader(r, ndjson.ReaderOptions{})
	var scanner ndjson.Scanner
	for {
		line, err := lines.Next()
		var long *ndjson.LineTooLongError
		switch {
		case err == nil:
			t.take(&scanner, bytes.Clone(line))
			continue
		case errors.As(err, &long):
			t.conn.log.Warn("a line of the agent was left out", "bytes", long.Size)
			continue
		case !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrClosedPipe):
			t.conn.log.Warn("reading from the agent", "error", err)
		}
		return
	}
}

// take handles one line.
func (t *execTurn) take(scanner *ndjson.Scanner, line []byte) {
	if scanner.Scan(line) != nil {
		fixed, _, err := ndjson.Repair(nil, line)
		if err != nil {
			t.emit(&agent.Event{Kind: agent.KindRaw, Raw: ndjson.AppendQuote(nil, string(line))})
			return
		}
		line = fixed
	}
	record := acp.AsObject(bytes.TrimSpace(line))
	if h := execHandlers[record.Str("type")]; h != nil {
		h(t, record)
		return
	}
	t.raw(line)
}

func (t *execTurn) raw(line []byte) { t.emit(&agent.Event{Kind: agent.KindRaw, Raw: line}) }

func (t *execTurn) emit(ev *agent.Event) {
	if t.ctx.Err() != nil {
		return
	}
	ev.Turn = t.number
	ev, cut := t.admit(ev)
	if ev != nil {
		t.conn.l.Sink.Emit(t.ctx, ev)
	}
	if cut {
		t.conn.l.Sink.Emit(t.ctx, &agent.Event{Kind: agent.KindTruncated, Turn: t.number})
	}
}

// execHandlers are the types of lines that we know; others are kept raw.
var execHandlers = map[string]func(t *execTurn, record acp.Object){
	"thread.started": (*execTurn).threadStarted,
	"turn.started":   func(t *execTurn, record acp.Object) { t.raw(record) },
	"turn.completed": (*execTurn).completed,
	"turn.failed":    (*execTurn).failed,
	"item.started":   (*execTurn).item,
	"item.updated":   (*execTurn).item,
	"item.completed": (*execTurn).item,
	"error":          (*execTurn).troubled,
}

func (t *execTurn) threadStarted(record acp.Object) {
	if id := record.Str("thread_id"); id != "" {
		t.conn.mu.Lock()
		t.conn.thread = id
		t.conn.mu.Unlock()
		t.conn.l.Sink.Changed()
	}
	t.raw(record)
}

func (t *execTurn) notice(level, code, text string, record acp.Object) {
	t.emit(&agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{Level: level, Code: code, Text: text}, Raw: record})
}

// troubled takes an error, of which the agent tries again or the turn fails.
func (t *execTurn) troubled(record acp.Object) {
	t.notice("warning", "agent_retry", record.Str("message"), record)
}

// completed ends the turn. Its usage is the whole thread's.
func (t *execTurn) completed(record acp.Object) {
	c := t.conn
	total := readCount(record.Object("usage"))
	report := &agent.UsageReport{Source: agent.SourceUnknown}
	if c.known && record.Object("usage") != nil {
		report.Usage, report.Source = total.minus(c.totals).usage(), agent.SourceDerived
	}
	c.totals, c.known = total, true
	t.emit(&agent.Event{Kind: agent.KindUsage, Usage: report, Raw: record})
	t.over = true
	t.outcome = agent.Outcome{StopReason: agent.StopEndTurn, Usage: report.Usage}
}

func (t *execTurn) failed(record acp.Object) {
	t.raw(record)
	t.over = true
	t.err = failure(record.Object("error"), t.produced)
}

// item takes an item: whole texts, tool calls as they begin and end.
func (t *execTurn) item(record acp.Object) {
	body := itemBody{record.Object("item")}
	done := record.Str("type") == "item.completed"
	call, isCall := body.call()
	switch kind := body.kind(); {
	case isCall && call.ID != "":
		t.call(record, body, call, done)
	case kind == "agentMessage" && done:
		t.emit(&agent.Event{Kind: agent.KindMessage, Text: body.Str("text"), Raw: record})
	case kind == "reasoning" && done:
		t.emit(&agent.Event{Kind: agent.KindThought, Text: body.thought(), Raw: record})
	case kind == "todoList":
		list, _ := body.List("items")
		t.emit(&agent.Event{Kind: agent.KindPlan, Value: planOf(list, todo), Raw: record})
	case kind == "error":
		t.notice("warning", "agent_warning", body.Str("message"), record)
	default:
		t.raw(record)
	}
}

func todo(o acp.Object) planEntry {
	e := planEntry{Content: o.Str("text"), Priority: "medium"}
	if o.True("completed") {
		e.Status = "completed"
	}
	return e
}

func (t *execTurn) call(record acp.Object, body itemBody, call agent.ToolCall, done bool) {
	kind := agent.KindToolCallUpdate
	if t.items[call.ID] == nil {
		t.items[call.ID] = &item{}
		kind = agent.KindToolCall
	}
	if done {
		asked := false
		call.Asked = &asked
		body.result(&call, "")
	}
	t.emit(&agent.Event{Kind: kind, ToolCall: &call, Raw: record})
}

// settled makes the outcome of a process that has ended.
func (t *execTurn) settled(ctx context.Context, p lane.Process, ending string) (agent.Outcome, error) {
	code := exitCode(p)
	switch {
	case ctx.Err() != nil:
		return agent.Outcome{}, closedError()
	case t.over && t.err == nil:
		t.outcome.Truncated, t.outcome.ExitCode = t.cut, code
		return t.outcome, nil
	case t.interrupted.Load():
		out := cancelled()
		out.Truncated, out.ExitCode = t.cut, code
		return out, nil
	case t.err != nil:
		return agent.Outcome{}, t.err
	case strings.Contains(ending, "no rollout found"):
		return agent.Outcome{}, agent.Fail(agent.CodeSessionOpenFailed, agent.StagePrompt, ending)
	}
	return agent.Outcome{}, agent.Fail(agent.CodeProtocolFailed, agent.StagePrompt, ending)
}

// exitCode is nil for a signal, or a process that hasn't exited.
func exitCode(p lane.Process) *int {
	select {
	case <-p.Exited():
	default:
		return nil
	}
	if status := p.Status(); status.Signal == "" {
		return &status.Code
	}
	return nil
}
