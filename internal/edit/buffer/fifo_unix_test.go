//go:build unix

package buffer

import (
	"context"
	"syscall"
	"testing"
)

func TestAFifoIsRefusedUnread(t *testing.T) {
	w := newWorld(t)
	if err := syscall.Mkfifo(w.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.set.Open(context.Background(), OpenParams{Path: w.path("fifo")}); CodeOf(err) != Unsupported {
		t.Errorf("got %v, want %s", err, Unsupported)
	}
}
