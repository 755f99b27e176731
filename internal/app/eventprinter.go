package app

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json"

	"dragoman/client"
	"dragoman/wire/core"
)

// An eventPrinter prints events as they came, one a line. The events of a
// run may come before its id is known: until then they wait.
type eventPrinter struct {
	mu      sync.Mutex
	out     io.Writer
	err     error
	waiting [][]byte // lines, nil once the printer is open
	open    bool
	run     string
	early   map[string]core.RunEndedParams
	ended   chan core.RunEndedParams
}

func newEventPrinter(out io.Writer) *eventPrinter {
	return &eventPrinter{
		out: out, early: map[string]core.RunEndedParams{}, ended: make(chan core.RunEndedParams, 1),
	}
}

// take is the client's OnEvent.
func (p *eventPrinter) take(e client.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open {
		p.waiting = append(p.waiting, e.Line)
	} else {
		p.writeLocked(e.Line)
	}
	if e.Name != core.RunEnded.Name {
		return
	}
	var end core.RunEndedParams
	if json.Unmarshal(e.Params, &end) != nil {
		return
	}
	if p.run == "" {
		p.early[end.Run] = end
	} else if p.run == end.Run {
		p.ended <- end
	}
}

func (p *eventPrinter) writeLocked(line []byte) {
	if p.err == nil {
		p.err = writeLine(p.out, line)
	}
}

// openAll prints events from now on.
func (p *eventPrinter) openAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = true
	for _, l := range p.waiting {
		p.writeLocked(l)
	}
	p.waiting = nil
}

// line prints a line between the events.
func (p *eventPrinter) line(raw []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeLocked(raw)
	return p.err
}

// until prints a run's events up to its end; its error is the run's.
func (p *eventPrinter) until(ctx context.Context, c *client.Client, run string) error {
	p.openAll()
	p.mu.Lock()
	p.run = run
	if end, ok := p.early[run]; ok {
		p.ended <- end
	}
	p.mu.Unlock()
	select {
	case end := <-p.ended:
		if end.Error != nil {
			return fmt.Errorf("%s ended: %w", run, end.Error)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-c.Done():
		return c.Err()
	case <-ctx.Done():
		cancelRun(ctx, c, run)
		return ctx.Err()
	}
}

// cancelRun ends a run that nobody waits for any more.
func cancelRun(ctx context.Context, c *client.Client, run string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attachLimit)
	defer cancel()
	_, _ = core.RunCancel.Call(ctx, c, core.RunParams{Run: run})
}
