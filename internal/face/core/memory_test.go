package core

import (
	"runtime"
	"testing"
)

// TestMemoryOfAClient holds the limit of 64 KiB a connection, both ends of
// the test included.
func TestMemoryOfAClient(t *testing.T) {
	const clients = 200
	w := newWorld(t, nil)
	used := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	w.dial(control).hello(`{"events":[]}`)
	before := used()
	for range clients {
		w.dial(control).hello(`{"events":[]}`)
	}
	if each := (used() - before) / clients; each > 64<<10 {
		t.Errorf("a client takes %d bytes", each)
	} else {
		t.Logf("a client takes %d bytes", each)
	}
}
