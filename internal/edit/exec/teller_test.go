package exec

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// deaf is a run that keeps what it is told.
type deaf struct {
	op.Run
	events []core.ExecOutputParams
}

func (d *deaf) ID() string { return "r1" }

func (d *deaf) Bulk(m op.Message, _ op.Mark) {
	d.events = append(d.events, m.Params.(core.ExecOutputParams))
}

// What isn't told in time is skipped, with where it goes on.
func TestTellerSkips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &deaf{}
		tell := newTeller(r, core.Stdout)
		block := make([]byte, maxUntold/4)
		pushed := int64(0)
		push := func(n int) {
			for range n {
				tell.push(block, pushed)
				pushed += int64(len(block))
			}
		}
		push(6)
		for range 3 { // half of the room is free
			p, _, _ := tell.pop()
			tell.tell(p)
		}
		push(1) // too early
		time.Sleep(catchUp)
		push(5) // two of them find no room
		tell.end()
		tell.serve()
		at, skips := int64(0), 0
		for _, e := range r.events {
			if e.SkippedTo != nil {
				at = *e.SkippedTo
				skips++
				continue
			}
			if *e.Offset != at {
				t.Errorf("output at %d, want %d", *e.Offset, at)
			}
			at += int64(len(*e.Text))
		}
		if skips != 2 || at != pushed || len(r.events) != 9 {
			t.Errorf("%d events, %d skips, told up to %d of %d", len(r.events), skips, at, pushed)
		}
	})
}
