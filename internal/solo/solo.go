// Package solo is the smallest core: agent sessions of one client in this
// process, without documents, journal or sockets. `dragoman agent` runs on it
// where no core listens. It binds the declared operations of agent.* and
// speaks the same events, so that a face can't tell it from a core.
package solo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/client"
	"dragoman/internal/session"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Config is what a Core needs.
type Config struct {
	Opener *session.Opener
	// Root is the working folder of sessions that name none.
	Root string
	// Agents lists the known agents.
	Agents func(ctx context.Context) []core.AgentListed
	// Spec is the spec of a known agent and its variables, NAME=VALUE; ok is
	// false for an unknown one.
	Spec func(ctx context.Context, id string) (spec []byte, env []string, ok bool)
	// Tell takes every event. It may block, which holds back the agent.
	Tell func(client.Event)
}

// A Core holds sessions and runs. Its methods are safe for concurrent use.
type Core struct {
	config Config
	mux    *op.Mux
	ctx    context.Context
	stop   context.CancelFunc
	done   chan struct{}
	work   sync.WaitGroup

	mu       sync.Mutex
	closing  bool
	count    int
	runs     map[string]context.CancelCauseFunc
	sessions map[string]*conversation
}

// New returns a core without sessions.
func New(c Config) *Core {
	k := &Core{
		config: c, mux: op.NewMux(), done: make(chan struct{}),
		runs: make(map[string]context.CancelCauseFunc), sessions: make(map[string]*conversation),
	}
	k.ctx, k.stop = context.WithCancel(context.Background())
	core.SessionDescribe.Handle(k.mux, k.describe)
	core.RunCancel.Handle(k.mux, k.cancelRun)
	core.AgentList.Handle(k.mux, k.list)
	core.AgentOpen.Stream(k.mux, k.open)
	core.AgentSend.Stream(k.mux, k.send)
	core.AgentCancel.Handle(k.mux, k.cancel)
	core.AgentPermit.Handle(k.mux, k.permit)
	core.AgentClose.Stream(k.mux, k.close)
	return k
}

// Done is closed by Close.
func (k *Core) Done() <-chan struct{} { return k.done }

// Close ends every run and session, and returns when nothing of them is
// left. It may be called twice.
func (k *Core) Close(ctx context.Context) error {
	k.mu.Lock()
	first := !k.closing
	k.closing = true
	k.mu.Unlock()
	// Runs end by their context, so that no session comes to be after this.
	k.stop()
	k.work.Wait()
	k.mu.Lock()
	open := slices.Collect(maps.Values(k.sessions))
	k.mu.Unlock()
	var failed error
	for _, c := range open {
		failed = errors.Join(failed, c.session.Close(ctx))
	}
	if first {
		close(k.done)
	}
	return failed
}

// Raw calls an operation (client.Client.Raw).
func (k *Core) Raw(ctx context.Context, name string, params []byte) ([]byte, error) {
	row, ok := k.mux.Lookup(name)
	if !ok {
		return nil, op.Fail(op.CodeUnknownOp, "no operation %q", name)
	}
	decoded, err := row.Decode(params)
	if err != nil {
		return nil, err
	}
	if row.Desc.Streaming {
		return k.start(ctx, row, decoded)
	}
	result, err := row.Call(ctx, op.Call{}, decoded)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

func (k *Core) start(ctx context.Context, row *op.Row, params any) ([]byte, error) {
	job, err := row.Start(ctx, op.Call{}, params)
	if err != nil {
		return nil, err
	}
	runCtx, cancel := context.WithCancelCause(k.ctx)
	id, err := k.admit(cancel)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	k.tell(core.RunStarted.Name, core.RunStartedParams{Run: id, Op: row.Desc.Op, Session: job.Session})
	go func() {
		defer k.work.Done()
		defer cancel(nil)
		result, err := job.Do(runCtx, &run{core: k, id: id})
		k.mu.Lock()
		delete(k.runs, id)
		k.mu.Unlock()
		k.end(id, row.Desc.Op, result, err)
	}()
	return json.Marshal(op.Started{Run: id})
}

// admit counts a run that begins; nothing begins while the core is closing.
func (k *Core) admit(cancel context.CancelCauseFunc) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return "", op.Busy(op.BusyDraining, "the core is ending")
	}
	k.work.Add(1)
	k.count++
	id := "r" + strconv.Itoa(k.count)
	k.runs[id] = cancel
	return id, nil
}

func (k *Core) end(id, name string, result any, err error) {
	params := core.RunEndedParams{Run: id, Op: name, OK: err == nil}
	if err == nil {
		params.Result, err = json.Marshal(result)
	}
	if err != nil {
		params.OK, params.Result = false, nil
		params.Error, _ = op.AsError(err)
	}
	k.tell(core.RunEnded.Name, params)
}

// tell sends one event.
func (k *Core) tell(name string, params any) {
	b, err := json.Marshal(params)
	if err != nil {
		b = jsontext.Value(fmt.Sprintf(`{"error":%q}`, err)) // our own types always marshal
	}
	k.config.Tell(client.Event{Name: name, Params: b})
}

func (k *Core) describe(_ context.Context, _ op.Call, p core.SessionDescribeParams) (core.SessionDescribeResult, error) {
	var r core.SessionDescribeResult
	for _, name := range k.mux.Names() {
		if row, _ := k.mux.Lookup(name); p.Op == "" || p.Op == name {
			r.Ops = append(r.Ops, row.Desc)
		}
	}
	if r.Ops == nil {
		return r, op.NotFound("op", p.Op)
	}
	return r, nil
}

func (k *Core) cancelRun(_ context.Context, _ op.Call, p core.RunParams) (core.RunCancelResult, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	cancel := k.runs[p.Run]
	if cancel == nil {
		return core.RunCancelResult{State: core.RunStateEnded}, nil
	}
	cancel(errCancelled)
	return core.RunCancelResult{State: core.RunStateEnding}, nil
}

// errCancelled is the cause of a run's context when it is cancelled.
var errCancelled = op.Cancelled("cancelled")

// run is what a job has of its run.
type run struct {
	core *Core
	id   string
}

func (r *run) ID() string                           { return r.id }
func (r *run) Emit(m op.Message)                    { r.core.emit(m) }
func (r *run) Bulk(m op.Message, _ op.Mark)         { r.core.emit(m) }
func (r *run) Progress(done, total int64, _ string) {}
func (r *run) Running()                             {}
func (r *run) SetSession(string)                    {}

func (k *Core) emit(m op.Message) {
	params := m.Params
	if m.ByUnit != nil {
		params = m.ByUnit(op.UTF8)
	}
	k.tell(m.Event, params)
}
