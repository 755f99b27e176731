package run

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// DefaultKeep is how long run.get knows a run after its end (core.md §2).
const DefaultKeep = 10 * time.Minute

// Events is where runs send; the hub is one.
type Events interface {
	// EmitFor sends an event, also to the client owner.
	EmitFor(owner string, m op.Message)
	// Bulk sends a bulk event of a run.
	Bulk(owner, run string, m op.Message, at op.Mark)
	// EndRun tells skipped places, before the run's last event.
	EndRun(run string)
}

// Options configure a [Registry].
type Options struct {
	// Dir holds the ledgers and the counter; "" keeps them in memory.
	Dir string
	// Name tells cores of different roots apart in Dir.
	Name string
	// Events is where runs send.
	Events Events
	// Errors gives the declared codes of an operation; nil knows none.
	Errors func(op string) []op.Code
	// Keep is how long ended runs are known; 0 means DefaultKeep.
	Keep time.Duration
	// Log gets internal errors.
	Log *slog.Logger
}

// A Registry keeps all runs of a core.
type Registry struct {
	opts Options
	wg   sync.WaitGroup

	mu     sync.Mutex
	ledger *ledger
	runs   map[string]*Run
	order  []*Run // by start
	ended  []past // by end
	open   int
	shut   bool
	idle   []chan struct{} // closed when no run is open
}

// past is a run that ended.
type past struct {
	run *Run
	at  time.Time
}

// Open starts a registry. Runs that a dead core left open are ended as
// cancelled with the reason core_restarted, and announced.
func Open(o Options) (*Registry, error) {
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l, left, err := openLedger(o.Dir, o.Name)
	if err != nil {
		return nil, err
	}
	g := &Registry{opts: o, ledger: l, runs: map[string]*Run{}}
	for _, e := range left {
		g.endLeft(e)
	}
	return g, nil
}

// endLeft ends a run of a dead core.
func (g *Registry) endLeft(e entry) {
	r := &Run{reg: g, done: make(chan struct{}), info: core.RunInfo{
		Run: e.Run, Op: e.Op, Client: e.Client, State: core.RunStateEnded,
		StartedAt: e.At, Error: op.Cancelled("core_restarted"),
	}}
	close(r.done)
	g.runs[e.Run] = r
	g.order = append(g.order, r)
	g.ended = append(g.ended, past{run: r, at: time.Now()})
	g.opts.Events.EmitFor("", core.RunEnded.With(core.RunEndedParams{
		Run: e.Run, Op: e.Op, Error: r.info.Error,
	}))
}

func (g *Registry) declared(name string) []op.Code {
	if g.opts.Errors == nil {
		return nil
	}
	return g.opts.Errors(name)
}

// Prepare makes a run that Begin starts. The error is busy while the core
// ends, or internal when the ledger can't be written.
func (g *Registry) Prepare(d op.Desc, c op.Call, scope op.Scope, job op.Job) (*Run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return nil, op.Busy(op.BusyDraining, "the core is ending")
	}
	g.expireLocked()
	id, err := g.ledger.newID()
	if err != nil {
		return nil, err
	}
	r := &Run{
		reg: g, effect: d.Effect, scope: scope, job: job, done: make(chan struct{}),
		info: core.RunInfo{
			Run: id, Op: d.Op, State: core.RunStateRunning, Client: c.Client,
			Session: job.Session, StartedAt: time.Now().UTC(),
		},
	}
	if job.Queued {
		r.info.State = core.RunStateQueued
	}
	err = g.ledger.append(entry{Run: id, Op: d.Op, Client: c.Client, At: r.info.StartedAt})
	if err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	g.runs[id] = r
	g.order = append(g.order, r)
	g.open++
	return r, nil
}

// closed writes a run's end into the ledger and announces it.
func (g *Registry) closed(r *Run, announce func()) {
	announce()
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.ledger.append(entry{Run: r.info.Run, Ended: true}); err != nil {
		g.opts.Log.Error("run ledger", "err", err)
	}
	g.ended = append(g.ended, past{run: r, at: time.Now()})
	g.open--
	if g.open > 0 {
		return
	}
	g.ledger.compact()
	for _, ch := range g.idle {
		close(ch)
	}
	g.idle = nil
}

// expireLocked forgets runs that ended long ago.
func (g *Registry) expireLocked() {
	n := 0
	for n < len(g.ended) && time.Since(g.ended[n].at) > g.opts.Keep {
		delete(g.runs, g.ended[n].run.info.Run)
		n++
	}
	if n == 0 {
		return
	}
	g.ended = slices.Delete(g.ended, 0, n)
	g.order = slices.DeleteFunc(g.order, func(r *Run) bool { return g.runs[r.info.Run] != r })
}

// Get returns a run, nil when it isn't known.
func (g *Registry) Get(id string) *Run {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expireLocked()
	return g.runs[id]
}

// List returns the known runs, the oldest first.
func (g *Registry) List() []*Run {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expireLocked()
	return slices.Clone(g.order)
}

// Active lists the ids of runs that haven't ended.
func (g *Registry) Active() []string {
	ids := []string{}
	for _, r := range g.List() {
		if r.Info().State != core.RunStateEnded {
			ids = append(ids, r.ID())
		}
	}
	return ids
}

// EndClient cancels the runs that were started with scope client.
func (g *Registry) EndClient(client string) {
	for _, r := range g.List() {
		if r.scope == op.ScopeClient && r.info.Client == client {
			r.Cancel("detached")
		}
	}
}

// Stop refuses new runs.
func (g *Registry) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// WaitIdle waits until no run is open.
func (g *Registry) WaitIdle(ctx context.Context) error {
	g.mu.Lock()
	if g.open == 0 {
		g.mu.Unlock()
		return nil
	}
	ch := make(chan struct{})
	g.idle = append(g.idle, ch)
	g.mu.Unlock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close refuses new runs, cancels the open ones and waits for their ends, as
// long as ctx allows. It may be called twice.
func (g *Registry) Close(ctx context.Context) error {
	g.Stop()
	for _, r := range g.List() {
		r.Cancel("shutdown")
	}
	if err := g.WaitIdle(ctx); err != nil {
		return err
	}
	g.wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.ledger
	g.ledger = &ledger{}
	return l.close()
}
