package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dragoman/internal/config"
	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/exec"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/git"
	"dragoman/internal/edit/watch"
	facecore "dragoman/internal/face/core"
	"dragoman/internal/hub"
	"dragoman/internal/namespace/agents"
	"dragoman/internal/namespace/fs"
	"dragoman/internal/proc"
	corerun "dragoman/internal/run"
	"dragoman/wire/locate"
	"dragoman/wire/op"
)

// A coreBuild is a core while it is put together, and then what ends it in
// reverse order. A namespace takes what it needs from it and adds itself:
// see [namespaces].
type coreBuild struct {
	env *Env
	// config is what counts for the first root.
	config *config.Config
	// ctx ends when the core is to end.
	ctx context.Context
	log *slog.Logger
	// mux is the table of operations; events is where their events go.
	mux    *op.Mux
	events op.Emitter
	runs   *corerun.Registry
	sup    *supervisor
	// state is the state folder, "" for none; name tells roots apart in it.
	state, name string
	// roots are the roots that the core started with, real and absolute.
	roots []string
	// currentRoots gives the roots now; the project namespace replaces it.
	currentRoots func() []string
	// files reaches the disk, and paths resolves what clients call a path; both
	// are confined to the roots.
	files file.System
	paths *rootPaths
	// confined are the roots; sink is told by the watcher what changes in them.
	confined *confine.Roots
	sink     *fs.Sink
	watcher  *watch.Watcher
	// globalIgnore are the user's own files of gitignore rules.
	globalIgnore []string
	// fs serves the fs namespace.
	fs *fs.Space
	// buffers is the engine of the buffer namespace.
	buffers *buffer.Set
	// exec runs programs, git asks git.
	exec *exec.Space
	git  *git.Space
	// agents serves the agent namespace.
	agents *agents.Space
	// turns follows what agents do to files.
	turns turnsHook
	// unsaved lists buffers with unsaved text, of all namespaces that have any.
	unsaved []func() []string
	// detached is called with the id of a client that is gone.
	detached []func(client string)
	// atEnd closes what namespaces opened, the last one first.
	atEnd []func(context.Context) error

	hub    *hub.Hub
	server *facecore.Server
	stop   context.CancelCauseFunc

	endOnce sync.Once
}

// namespaces is the one list of what binds operations beside the face's own
// session and run. A later one may use what earlier ones left in the build.
func namespaces() []func(*coreBuild) error {
	return []func(*coreBuild) error{
		addRoots,
		addBuffers,
		addFS,
		addProject,
		addExec,
		addGit,
		addTurns,
		addAgents,
	}
}

// buildCore puts a core together.
func buildCore(ctx context.Context, e *Env, roots []string, state string, log *slog.Logger) (*coreBuild, error) {
	b := &coreBuild{env: e, log: log, mux: op.NewMux(), state: state, roots: roots}
	b.currentRoots = func() []string { return b.roots }
	b.ctx, b.stop = context.WithCancelCause(ctx)
	var err error
	if _, b.name, err = locate.Name(roots[0]); err != nil {
		return nil, err
	}
	if b.config, err = e.loadConfig(roots[0]); err != nil {
		return nil, err
	}
	limits := coreLimits(b.config)
	b.hub = hub.New(hub.Options{QueueBytes: limits.QueueBytes, RingBytes: limits.RingBytes, Log: log})
	b.events = b.hub
	if err := b.openRuns(); err != nil {
		return nil, err
	}
	b.sup = startSupervisor(state, log)
	for _, add := range namespaces() {
		if err := add(b); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	b.server = facecore.New(facecore.Options{
		Mux: b.mux, Hub: b.hub, Runs: b.runs, Core: newCoreID(), Version: Version, Limits: limits,
		Roots:   func() []string { return slices.Clone(b.currentRoots()) },
		Unsaved: b.unsavedBuffers, Shutdown: b.shutdown, DetachHooks: b.detached, Log: log,
	})
	return b, nil
}

func (b *coreBuild) openRuns() (err error) {
	o := corerun.Options{Name: b.name, Events: b.hub, Log: b.log, Errors: func(name string) []op.Code {
		row, ok := b.mux.Lookup(name)
		if !ok {
			return nil
		}
		return row.Desc.Errors
	}}
	if b.state != "" {
		o.Dir = filepath.Join(b.state, "runs")
	}
	b.runs, err = corerun.Open(o)
	return err
}

// newCoreID is new at each start.
func newCoreID() string {
	var id [8]byte
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

func (b *coreBuild) unsavedBuffers() []string {
	ids := []string{}
	for _, f := range b.unsaved {
		ids = append(ids, f()...)
	}
	return ids
}

// shutdown is what session.shutdown does.
func (b *coreBuild) shutdown(reason string) {
	if reason == "drain" {
		b.runs.Stop()
		b.server.Closing(reason, time.Now().Add(drainLimit))
		ctx, cancel := context.WithTimeout(b.ctx, drainLimit)
		defer cancel()
		_ = b.runs.WaitIdle(ctx)
		b.stop(errDrained)
	}
	b.stop(errors.New(reason))
}

// drainLimit bounds how long a draining core waits for its runs.
const drainLimit = time.Hour

// settle tells the clients that the core ends, ends the runs and then the
// connections. It may be called twice.
func (b *coreBuild) settle() {
	b.endOnce.Do(func() {
		b.stop(nil)
		b.server.Closing(closingReason(context.Cause(b.ctx)), time.Now().Add(coreShutdownLimit))
		ctx, cancel := context.WithTimeout(context.Background(), coreShutdownLimit)
		defer cancel()
		if err := b.server.Close(ctx); err != nil {
			b.log.Error("the core's end", "err", err)
		}
	})
}

// closingReason is the word of session.closing.
func closingReason(cause error) string {
	var signal *proc.InterruptError
	switch {
	case errors.As(cause, &signal):
		return "signal"
	case errors.Is(cause, errDrained):
		return "drain"
	}
	return "shutdown"
}

// errDrained is why a core ends that was drained.
var errDrained = errors.New("drained")

// close ends everything, the last built first.
func (b *coreBuild) close() error {
	b.stop(nil)
	if b.server != nil {
		b.settle()
	}
	ctx, cancel := context.WithTimeout(context.Background(), coreShutdownLimit)
	defer cancel()
	var err error
	for _, end := range slices.Backward(b.atEnd) {
		err = errors.Join(err, end(ctx))
	}
	return errors.Join(err, b.sup.Close())
}
