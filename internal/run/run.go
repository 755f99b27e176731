// Package run keeps the runs of the core: what streaming operations do after
// they were acknowledged (core.md §2).
//
// [Registry.Prepare] makes a run, the face acknowledges it, [Run.Begin]
// announces and starts it. Its work ends it; the registry sends exactly one
// run.ended, after which nothing of the run is sent. Runs are remembered for
// Options.Keep after their end, and open ones in a ledger, so that the next
// core can tell how they ended.
//
// # Concurrency
//
// Each run has one goroutine, which [Registry.Close] waits for. All methods
// may be called from any goroutine.
package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// maxResult is the largest result that fits into a line with its frame.
const maxResult = 64<<20 - 4096

// reasonEnd is the cause of a run's context: why it was cancelled.
type reasonEnd string

func (r reasonEnd) Error() string { return "cancelled: " + string(r) }

// A Run is one run. It is the op.Run of its work.
type Run struct {
	reg    *Registry
	effect op.Effect
	scope  op.Scope
	job    op.Job
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}

	mu   sync.Mutex
	info core.RunInfo
}

// ID is the run's id.
func (r *Run) ID() string { return r.info.Run }

// Emit sends an event of the run, also to the client that started it.
func (r *Run) Emit(m op.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.State != core.RunStateEnded {
		r.reg.opts.Events.EmitFor(r.info.Client, m)
	}
}

// Bulk sends a bulk event of the run.
func (r *Run) Bulk(m op.Message, at op.Mark) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.State != core.RunStateEnded {
		r.reg.opts.Events.Bulk(r.info.Client, r.info.Run, m, at)
	}
}

// Progress emits run.progress.
func (r *Run) Progress(done, total int64, text string) {
	r.Emit(core.RunProgress.With(core.RunProgressParams{Run: r.ID(), Done: done, Total: total, Text: text}))
}

// Running tells that a queued run has begun.
func (r *Run) Running() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.State == core.RunStateQueued {
		r.info.State = core.RunStateRunning
	}
}

// SetSession names the agent session that the run belongs to.
func (r *Run) SetSession(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info.Session = id
}

// Info is what run.get tells.
func (r *Run) Info() core.RunInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info
}

// Effect is that of the run's operation.
func (r *Run) Effect() op.Effect { return r.effect }

// Done is closed behind run.ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Cancel ends the run's context; reason goes into the error, "" for a
// client's wish. It returns the state that run.cancel tells.
func (r *Run) Cancel(reason string) core.RunState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.State == core.RunStateEnded {
		return core.RunStateEnded
	}
	r.info.State = core.RunStateEnding
	r.cancel(reasonEnd(reason))
	return core.RunStateEnding
}

// Begin sends run.started and starts the work. It is called once, after the
// acknowledgement was enqueued.
func (r *Run) Begin() {
	info := r.Info()
	r.Emit(core.RunStarted.With(core.RunStartedParams{
		Run: info.Run, Op: info.Op, Client: info.Client, Session: info.Session,
	}))
	r.reg.wg.Go(func() {
		result, err := r.work()
		r.end(result, err)
	})
}

// work runs the job and turns a panic into an error of ours.
func (r *Run) work() (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return r.job.Do(r.ctx, r)
}

// end settles the run: what its ledger says, then run.ended.
func (r *Run) end(result any, err error) {
	defer r.cancel(nil)
	defer close(r.done)
	params := core.RunEndedParams{Run: r.info.Run, Op: r.info.Op}
	params.Result, params.Error = r.settle(result, err)
	params.OK = params.Error == nil
	r.reg.closed(r, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.info.State = core.RunStateEnded
		r.info.Result, r.info.Error = params.Result, params.Error
		r.reg.opts.Events.EndRun(r.info.Run)
		r.reg.opts.Events.EmitFor(r.info.Client, core.RunEnded.With(params))
	})
}

// settle makes the wire's form of a result or an error.
func (r *Run) settle(result any, err error) (jsontext.Value, *op.Error) {
	if err == nil {
		raw, merr := json.Marshal(result, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
		if merr == nil && len(raw) > maxResult {
			return nil, op.TooLarge("the result", maxResult, int64(len(raw)))
		}
		if merr == nil {
			return raw, nil
		}
		err = merr
	}
	var why reasonEnd
	cancelled := errors.As(context.Cause(r.ctx), &why)
	if cancelled && errors.Is(err, context.Canceled) {
		return nil, op.Cancelled(string(why))
	}
	e, known := op.AsError(err)
	if e.Code == op.CodeCancelled && e.Reason() == "" && why != "" {
		e = e.With("reason", string(why))
	}
	if !known {
		r.reg.opts.Log.Error("internal error", "op", r.info.Op, "run", r.info.Run, "err", err)
	} else if !slices.Contains(op.CommonCodes(), e.Code) && !slices.Contains(r.reg.declared(r.info.Op), e.Code) {
		r.reg.opts.Log.Error("undeclared error code", "op", r.info.Op, "code", e.Code)
	}
	return nil, e
}
