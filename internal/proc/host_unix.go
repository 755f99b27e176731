//go:build linux || darwin

package proc

import (
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A host is what a Supervisor needs of Unix: the instance's number and
// ledger, and the reaping of orphans.
type host struct {
	log      *slog.Logger
	instance uint32
	ledger   *ledger

	stop, stopped chan struct{}

	mu    sync.Mutex
	ended bool
}

func newHost(stateDir string, log *slog.Logger) (*host, error) {
	if err := adoptOrphans(); err != nil {
		log.Warn("orphans of children can't be adopted", "err", err)
	}
	h := &host{log: log, instance: newInstance(), stop: make(chan struct{}), stopped: make(chan struct{})}
	register(h.instance)
	if stateDir == "" {
		return h, nil
	}
	l, err := openLedger(stateDir, h.instance)
	if err != nil {
		log.Warn("no ledger of children: what a kill -9 leaves will not be found", "dir", stateDir, "err", err)
		return h, nil
	}
	h.ledger = l
	endDeadInstances(l.dir, log)
	return h, nil
}

// begin starts the reaper.
func (h *host) begin(*Supervisor) { go h.reap() }

// reapPause is the shortest time between two looks for dead orphans.
const reapPause = time.Second

// reap frees orphans that die while the tree that they came from runs on: an
// agent may double-fork a thousand tools in a session.
func (h *host) reap() {
	defer close(h.stopped)
	exits := make(chan os.Signal, 1)
	signal.Notify(exits, syscall.SIGCHLD)
	defer signal.Stop(exits)
	for {
		select {
		case <-h.stop:
			return
		case <-exits:
		}
		reapOrphans()
		select {
		case <-h.stop:
			return
		case <-time.After(reapPause):
		}
	}
}

// reapOrphans frees the dead orphans that bear a mark other than our own
// inherited one: a child that somebody else in this process started, which
// is theirs to wait for, has that one or none.
func reapOrphans() {
	table, err := readTable()
	if err != nil {
		return
	}
	self := os.Getpid()
	for _, e := range table {
		if !e.zombie || e.ppid != self {
			continue
		}
		if m := markOf(e.pid); m.valid() && m != markOf(self) {
			reapAdopted(e)
		}
	}
}

// end ends what bears a mark of this instance though it belonged to no tree
// at its end, and what we adopted from an instance that one of our children
// was; then it stops the reaper and gives the ledger up. It may be called
// again.
func (h *host) end() error {
	self := os.Getpid()
	find := func() ([]entry, error) {
		return marked(func(e entry, m mark) bool { return m.of(h.instance) || e.ppid == self && m.foreign() })
	}
	if err := endAll(find, 0); err != nil {
		return err
	}
	reapOrphans()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		close(h.stop)
		<-h.stopped
		h.ledger.close()
	}
	return nil
}

// marked returns the living processes whose mark suits.
func marked(suits func(entry, mark) bool) ([]entry, error) {
	table, err := readTable()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(table, func(e entry) bool {
		m := markOf(e.pid)
		return e.zombie || m == 0 || !suits(e, m)
	}), nil
}

// endAll ends what find returns until it returns nothing: asks, if there is
// a grace, waits it, and kills. The error says what is left after killLimit.
func endAll(find func() ([]entry, error), grace time.Duration) error {
	began := time.Now()
	sent := syscall.Signal(0)
	for pause := lookMin; ; pause = min(2*pause, lookMax) {
		left, err := certain(find)
		if err == nil && len(left) == 0 {
			return nil
		}
		passed := time.Since(began)
		want := syscall.SIGTERM
		if passed >= grace {
			want = syscall.SIGKILL
		}
		if passed > grace+killLimit {
			if err != nil {
				return err
			}
			return survivorsOf(left)
		}
		// SIGTERM once, SIGKILL to whatever is new as well.
		if want == syscall.SIGKILL || sent != want {
			sent = want
			for _, e := range left {
				signalEntry(e, want)
			}
		}
		time.Sleep(pause)
	}
}
