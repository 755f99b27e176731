package codex

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"dragoman/internal/lane"
	"dragoman/internal/lane/mcp"
)

// A pool holds the app-servers that run, by what they were started with. It
// is safe for concurrent use.
type pool struct {
	mu      sync.Mutex
	servers map[launchKey]*entry
}

func newPool() *pool { return &pool{servers: make(map[launchKey]*entry)} }

// A launchKey is what two sessions must have in common to share a process:
// who starts it, and all that it is started with but the folder.
type launchKey struct {
	starter  lane.Starter
	identity string
}

// key is ok when the starter can be compared.
func (p *plan) key(l lane.Launch) (key launchKey, ok bool) {
	if !reflect.ValueOf(l.Starter).Comparable() {
		return launchKey{}, false
	}
	dir := ""
	if c := p.spec.Command.Program; strings.Contains(c, "/") && !strings.HasPrefix(c, "/") {
		dir = l.Dir // the program is looked up from there
	}
	identity := fmt.Sprintf("%q %q %q %q %q %q", p.spec.Command.Program, p.spec.Command.Args, l.Env, dir, p.clientName(), mcp.Secrets(p.servers))
	return launchKey{l.Starter, identity}, true
}

// An entry is one server, or one that is being started. Its refs are the
// pool's to guard.
type entry struct {
	key    launchKey
	server *server
	refs   int
	// ready is closed when server is set or failed is true.
	ready  chan struct{}
	failed bool
}

// acquire returns a server that counts the caller, started by start where
// none runs.
func (p *pool) acquire(ctx context.Context, key launchKey, start func() (*server, error)) (*entry, error) {
	for {
		p.mu.Lock()
		e := p.servers[key]
		if e != nil && e.server != nil && e.server.gone() {
			e = nil // it died; those who have it close it
		}
		if e == nil {
			e = &entry{key: key, refs: 1, ready: make(chan struct{})}
			p.servers[key] = e
			p.mu.Unlock()
			return e, p.started(e, start)
		}
		p.mu.Unlock()
		select {
		case <-e.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		p.mu.Lock()
		ok := p.servers[key] == e && !e.failed && !e.server.gone()
		if ok {
			e.refs++
		}
		p.mu.Unlock()
		if ok {
			return e, nil
		}
	}
}

// started starts the server of e.
func (p *pool) started(e *entry, start func() (*server, error)) error {
	s, err := start()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(e.ready)
	if err != nil {
		e.failed = true
		p.forget(e)
		return err
	}
	e.server = s
	return nil
}

// forget takes e out of the pool. p.mu is held.
func (p *pool) forget(e *entry) {
	if p.servers[e.key] == e {
		delete(p.servers, e.key)
	}
}

// release counts the caller out, and reports whether it was the last one: the
// server is its own to end.
func (p *pool) release(e *entry) (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.refs--
	if e.refs > 0 {
		return false
	}
	p.forget(e)
	return true
}
