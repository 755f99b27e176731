package core

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A task is one request on its way through a handler.
type task struct {
	conn    *conn
	request core.Request
	row     *op.Row
	params  any
	call    op.Call
	began   time.Time
	ticket  ticket
	done    chan struct{}
	ended   chan struct{}
	once    sync.Once
	// after is called behind the response.
	after func()
}

// context gives the handlers of this package their task.
func (t *task) context() context.Context {
	return context.WithValue(t.conn.ctx, taskKey{}, t)
}

type taskKey struct{}

// taskOf is the task of a call that came over a connection, else nil.
func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

// afterAnswer calls f behind the response of the call, or at once where
// there is none.
func afterAnswer(ctx context.Context, f func()) {
	if t := taskOf(ctx); t != nil {
		t.after = f
		return
	}
	f()
}

// run runs an operation that doesn't stream. A handler that overstays is
// answered for; its connection's order still waits for it.
func (t *task) run() {
	defer close(t.done)
	defer close(t.ended)
	release, err := t.hold()
	if err != nil {
		t.answer(nil, err)
		return
	}
	defer release()
	timeout := t.conn.srv.opts.AnswerTimeout
	ctx, cancel := context.WithTimeout(t.context(), timeout-timeout/20)
	defer cancel()
	late := time.AfterFunc(timeout, func() {
		t.answer(nil, op.Fail(op.CodeTimeout, "%s: no answer in %s", t.row.Desc.Op, timeout))
	})
	defer late.Stop()
	if err := waitAll(ctx, t.ticket.before); err != nil {
		t.answer(nil, err)
		return
	}
	t.answer(t.handle(ctx))
}

// hold keeps a read back while the client's responses have no room: its time
// begins only when it starts. The operations of session and run answer
// little, and always.
func (t *task) hold() (release func(), err error) {
	d, c := t.row.Desc, t.conn
	if d.Effect != op.Read || d.Namespace() == "session" || d.Namespace() == "run" {
		return func() {}, nil
	}
	select {
	case c.reads <- struct{}{}:
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
	if err := c.client.WaitRoom(c.ctx); err != nil {
		<-c.reads
		return nil, err
	}
	return func() { <-c.reads }, nil
}

// handle calls the handler; a panic is an error of ours.
func (t *task) handle(ctx context.Context) (result any, err error) {
	defer recovered(&err)
	return t.row.Call(ctx, t.call, t.params)
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// answer sends the response, once.
func (t *task) answer(result any, err error) {
	t.once.Do(func() {
		var raw []byte
		if err == nil {
			raw, err = encode(result)
		}
		if err != nil {
			t.conn.fail(t.request, t.began, err)
			return
		}
		t.conn.succeed(t.request, t.began, raw)
		if t.after != nil {
			t.after()
		}
	})
}

// start runs the first phase of a streaming operation, acknowledges the run
// and starts it.
func (t *task) start() {
	job, err := t.prepare()
	if err != nil {
		close(t.ended)
		close(t.done)
		t.answer(nil, err)
		return
	}
	do := job.Do
	job.Do = func(ctx context.Context, r op.Run) (any, error) {
		defer close(t.ended)
		if err := waitAll(ctx, t.ticket.work); err != nil {
			return nil, err
		}
		return do(ctx, r)
	}
	run, err := t.conn.srv.opts.Runs.Prepare(t.row.Desc, t.call, t.row.Scope(t.params), job)
	if err != nil {
		close(t.ended)
		close(t.done)
		t.answer(nil, err)
		return
	}
	t.answer(op.Started{Run: run.ID()}, nil)
	run.Begin()
	close(t.done)
	// The client may have gone while the run was made.
	if t.conn.ctx.Err() != nil {
		t.conn.srv.opts.Runs.EndClient(t.call.Client)
	}
}

func (t *task) prepare() (job op.Job, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(t.context(), t.conn.srv.opts.AnswerTimeout)
	defer cancel()
	if err := waitAll(ctx, t.ticket.before); err != nil {
		return job, err
	}
	return t.row.Start(ctx, t.call, t.params)
}
