package envelope

import (
	"context"
	"sync"

	"dragoman/client"
	"dragoman/wire/ndjson"
)

const (
	// queueLen is how many events of a run wait before the core is held back.
	queueLen = 64
	// orphansMax is how many events are kept whose run may become one of ours.
	orphansMax = 1 << 16
)

// runs hands the core's events to the requests that wait for them.
type runs struct {
	mu sync.Mutex
	// starting counts calls whose run isn't known yet; while there are any,
	// events of unknown runs are kept.
	starting int
	orphans  []client.Event
	byID     map[string]*stream
	watchers map[*stream][]string
}

// A stream is the events of one run, or of one request for events.
type stream struct {
	early []client.Event // those that came before the run was known
	ch    chan client.Event
	over  chan struct{} // closed when nobody reads any more
}

func newStream() *stream {
	return &stream{ch: make(chan client.Event, queueLen), over: make(chan struct{})}
}

// take hands on one event. It blocks while its reader is slow, which holds
// back the core's connection.
func (r *runs) take(e client.Event) {
	run := runOf(e.Params)
	r.mu.Lock()
	var to []*stream
	switch s := r.byID[run]; {
	case s != nil:
		to = append(to, s)
	case run != "" && r.starting > 0:
		if len(r.orphans) == orphansMax {
			r.orphans = r.orphans[1:]
		}
		r.orphans = append(r.orphans, e)
	}
	for s, patterns := range r.watchers {
		if matches(patterns, e.Name) {
			to = append(to, s)
		}
	}
	r.mu.Unlock()
	for _, s := range to {
		select {
		case s.ch <- e:
		case <-s.over:
		}
	}
}

func runOf(params []byte) string {
	raw, kind, ok := ndjson.Get(params, "run")
	if !ok || kind != ndjson.String {
		return ""
	}
	id, _ := ndjson.Unquote(nil, raw) // the core's lines are valid
	return string(id)
}

func (r *runs) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting++
}

// claim makes a run's events those of the stream that it returns; run is ""
// where the start failed.
func (r *runs) claim(run string) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := newStream()
	if run != "" {
		r.byID[run] = s
	}
	kept := r.orphans[:0]
	for _, e := range r.orphans {
		if run != "" && runOf(e.Params) == run {
			s.early = append(s.early, e)
			continue
		}
		kept = append(kept, e)
	}
	r.orphans = kept
	if r.starting--; r.starting == 0 {
		r.orphans = nil
	}
	return s
}

// watch streams every event whose name fits.
func (r *runs) watch(patterns []string) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := newStream()
	r.watchers[s] = patterns
	return s
}

// drop ends a stream.
func (r *runs) drop(run string, s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, run)
	delete(r.watchers, s)
	close(s.over)
}

// next is the stream's next event.
func (s *stream) next(ctx context.Context, core Core) (client.Event, error) {
	if len(s.early) > 0 {
		e := s.early[0]
		s.early = s.early[1:]
		return e, nil
	}
	select {
	case e := <-s.ch:
		return e, nil
	default:
	}
	select {
	case e := <-s.ch:
		return e, nil
	case <-core.Done():
		return client.Event{}, errLost
	case <-ctx.Done():
		return client.Event{}, ctx.Err()
	}
}
