package core

import (
	"context"
	"strings"

	"dragoman/wire/op"
)

// An order keeps the requests of one connection in the order that core.md §1
// promises. It belongs to the reading goroutine; what it hands out are
// channels to wait for.
//
//   - A read, and the first phase of a streaming operation, follow all writes
//     that came before: a connection reads its own writes.
//   - A write follows the earlier writes of the same things, and those of
//     their whole namespace ("buffer" for "buffer:b1"). A read with keys, like
//     buffer.open, counts as a write here.
//   - Everything follows the first phases of the streaming operations before,
//     which do no I/O.
//   - The work of a run that writes things follows earlier ones on them.
type order struct {
	gate   <-chan struct{}            // the last first phase
	writes []<-chan struct{}          // writes that may be under way
	keys   map[string]<-chan struct{} // the last write of a thing, runs too
}

// A ticket is a request's place in the order.
type ticket struct {
	before []<-chan struct{} // to wait for, then the handler may start
	work   []<-chan struct{} // to wait for before a run's work
}

// take gives a request its place. done is closed when its handler (for a
// streaming operation: its first phase) has returned, ended when a run's
// work has.
func (o *order) take(d op.Desc, keys []string, done, ended <-chan struct{}) ticket {
	o.prune()
	var t ticket
	if o.gate != nil {
		t.before = append(t.before, o.gate)
	}
	switch {
	case d.Streaming:
		t.before = append(t.before, o.writes...)
		t.work = o.follow(keys, ended)
		o.gate = done
	case d.Effect == op.Read && keys == nil:
		t.before = append(t.before, o.writes...)
	default:
		t.before = append(t.before, o.follow(keys, done)...)
		if d.Effect == op.Write || d.Effect == op.Read {
			o.writes = append(o.writes, done)
		}
	}
	return t
}

// follow returns what holds the things now, and lets done hold them.
func (o *order) follow(keys []string, done <-chan struct{}) []<-chan struct{} {
	var before []<-chan struct{}
	for _, k := range keys {
		namespace, _, _ := strings.Cut(k, ":")
		for _, held := range []string{k, namespace} {
			if ch, ok := o.keys[held]; ok && ch != done {
				before = append(before, ch)
			}
		}
		if o.keys == nil {
			o.keys = map[string]<-chan struct{}{}
		}
		o.keys[k] = done
	}
	return before
}

// prune forgets what has ended.
func (o *order) prune() {
	if o.gate != nil && isClosed(o.gate) {
		o.gate = nil
	}
	open := o.writes[:0]
	for _, ch := range o.writes {
		if !isClosed(ch) {
			open = append(open, ch)
		}
	}
	clear(o.writes[len(open):])
	o.writes = open
	for k, ch := range o.keys {
		if isClosed(ch) {
			delete(o.keys, k)
		}
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// waitAll waits for every channel.
func waitAll(ctx context.Context, channels []<-chan struct{}) error {
	for _, ch := range channels {
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
