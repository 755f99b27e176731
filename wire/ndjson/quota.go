package ndjson

import (
	"context"
	"slices"
)

// A Quota is one sender's share of a Writer's queue (sidecar.md §3).
type Quota struct {
	w    *Writer
	held bool // during one admission: an earlier line of this quota waits
	share
}

// A share is a bounded number of bytes.
type share struct {
	limit   int64
	pending int64
}

// fits reports whether n more bytes have room; one line always has alone.
func (s *share) fits(n int64) bool { return s.pending == 0 || s.pending+n <= s.limit }

// quotas account for what waits under all Quotas of a Writer. The Writer's
// mutex guards them.
type quotas struct {
	total    share
	admitted []admitted // lines in the queue, oldest first
	written  int        // so many of them were written
	waiters  []*waiter  // calls without room, oldest first
}

// admitted is a line of a Quota that isn't written yet.
type admitted struct {
	q    *Quota
	size int64
	at   int64 // the end of the line in the output
}

// A waiter is a WriteQuota call that waits for room.
type waiter struct {
	q     *Quota
	line  [][]byte
	size  int64
	ready chan error // gets nil once the line is enqueued
}

// Quota returns a new share of limit bytes, or of one line if that is larger;
// 0 means DefaultSessionQuota.
func (w *Writer) Quota(limit int64) *Quota {
	if limit <= 0 {
		limit = DefaultSessionQuota
	}
	return &Quota{w: w, share: share{limit: limit}}
}

// Pending is how many bytes of q wait to be written.
func (q *Quota) Pending() int64 {
	q.w.mu.Lock()
	defer q.w.mu.Unlock()
	return q.pending
}

// WriteQuota is Write that first waits until q and the writer's total have
// room. Lines of one quota keep the order of the calls. The parts must not
// change during the call. After an error the line isn't written.
func (w *Writer) WriteQuota(ctx context.Context, q *Quota, line ...[]byte) error {
	w.mu.Lock()
	if w.ending != nil {
		w.mu.Unlock()
		return ErrClosed
	}
	if err := w.check(line); err != nil {
		w.mu.Unlock()
		return err
	}
	size := int64(len(newline))
	for _, part := range line {
		size += int64(len(part))
	}
	if len(w.quotas.waiters) == 0 && q.fits(size) && w.quotas.total.fits(size) {
		w.grantLocked(q, size, line)
		w.mu.Unlock()
		return nil
	}
	wt := &waiter{q: q, line: slices.Clone(line), size: size, ready: make(chan error, 1)}
	w.quotas.waiters = append(w.quotas.waiters, wt)
	w.admitLocked()
	w.pushLocked()
	w.mu.Unlock()
	select {
	case err := <-wt.ready:
		return err
	case <-ctx.Done():
		return w.giveUp(ctx, wt)
	}
}

// giveUp takes a waiter back unless its line was enqueued in the meantime.
func (w *Writer) giveUp(ctx context.Context, wt *waiter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case err := <-wt.ready:
		return err
	default:
	}
	for i, x := range w.quotas.waiters {
		if x == wt {
			w.quotas.waiters = append(w.quotas.waiters[:i], w.quotas.waiters[i+1:]...)
			break
		}
	}
	w.admitLocked()
	return ctx.Err()
}

// grantLocked enqueues a line that has room.
func (w *Writer) grantLocked(q *Quota, size int64, line [][]byte) {
	q.pending += size
	w.quotas.total.pending += size
	w.appendLocked(false, line)
	w.quotas.admitted = append(w.quotas.admitted, admitted{q, size, w.queued})
}

// admitLocked enqueues waiting lines that now have room. A line waits behind
// earlier ones of its own quota, and nobody overtakes one that waits only for
// the total: else a large line might wait for ever.
func (w *Writer) admitLocked() {
	if len(w.quotas.waiters) == 0 {
		return
	}
	full := false
	waiting := w.quotas.waiters[:0]
	for _, wt := range w.quotas.waiters {
		switch {
		case full || wt.q.held || !wt.q.fits(wt.size):
			wt.q.held = true
			waiting = append(waiting, wt)
		case !w.quotas.total.fits(wt.size):
			full = true
			waiting = append(waiting, wt)
		default:
			w.grantLocked(wt.q, wt.size, wt.line)
			wt.ready <- nil
		}
	}
	clear(w.quotas.waiters[len(waiting):])
	w.quotas.waiters = waiting
	for _, wt := range waiting {
		wt.q.held = false
	}
}

// release gives back the room of lines that were written up to sent.
func (q *quotas) release(sent int64) {
	for q.written < len(q.admitted) && q.admitted[q.written].at <= sent {
		a := &q.admitted[q.written]
		a.q.pending -= a.size
		q.total.pending -= a.size
		a.q = nil
		q.written++
	}
	switch rest := len(q.admitted) - q.written; {
	case rest == 0 && cap(q.admitted) > maxSpareKeys:
		q.admitted, q.written = nil, 0
	case rest <= q.written: // moving the rest costs no more than writing did
		copy(q.admitted, q.admitted[q.written:])
		q.admitted, q.written = q.admitted[:rest], 0
	}
}

// abandonWaiters fails the calls that still wait.
func (q *quotas) abandonWaiters() {
	for _, wt := range q.waiters {
		wt.ready <- ErrClosed
	}
	q.waiters = nil
}

// abandon ends all accounting.
func (q *quotas) abandon() {
	q.abandonWaiters()
	for _, a := range q.admitted[q.written:] {
		a.q.pending = 0
	}
	q.admitted, q.written, q.total.pending = nil, 0, 0
}
