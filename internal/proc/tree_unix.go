//go:build linux || darwin

package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"dragoman/internal/lane"
)

// A tree is a leader and its descendants.
type tree struct {
	// leader is our child, and its group's leader.
	leader entry
	// pidfd of the leader, -1 where there is none.
	pidfd int
	// mark that descendants bear, 0 for none.
	mark mark
	// session: the leader leads a session with a controlling terminal.
	session bool

	mu sync.Mutex
	// reaped: the leader's pid may be somebody else's.
	reaped bool
	// known are descendants that a look has shown, pid to start time.
	known map[int]uint64
	// nested are the instances of dragoman that started some of them: their
	// orphans bear their marks.
	nested map[uint32]bool
}

// startTree forks and executes path. The child has its own group, or its own
// session with the terminal.
func (h *host) startTree(c *Command, path string, files []*os.File, seq uint64) (*tree, error) {
	t := &tree{pidfd: -1, mark: newMark(h.instance, seq), session: c.Terminal == SessionTerminal, known: map[int]uint64{}, nested: map[uint32]bool{}}
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: lastOfEach(c.Env), Sys: &syscall.SysProcAttr{}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	if t.session {
		attr.Sys.Setsid, attr.Sys.Setctty, attr.Sys.Ctty = true, true, 0
	} else {
		attr.Sys.Setpgid = true
	}
	wantPidFD(attr.Sys, &t.pidfd)
	if err := t.fork(path, append([]string{c.Program}, c.Args...), attr); err != nil {
		return nil, explain(path, err)
	}
	h.ledger.started(t.leader)
	return t, nil
}

func (t *tree) fork(path string, argv []string, attr *syscall.ProcAttr) error {
	children.Lock()
	defer children.Unlock()
	undo, ok := t.mark.put()
	if !ok {
		t.mark = 0
	}
	pid, _, err := syscall.StartProcess(path, argv, attr)
	undo()
	if err != nil {
		return err
	}
	children.own[pid] = struct{}{}
	t.leader, ok = readEntry(pid)
	if !ok { // no process table: what is left is the group
		t.leader = entry{pid: pid, name: argv[0]}
	}
	t.leader.group = pid
	return nil
}

// children is what belongs to the operating-system process and not to a
// Supervisor: it has one set of resource limits and one set of children.
// Whoever forks or reaps holds it.
var children = struct {
	sync.Mutex
	own       map[int]struct{}    // leaders that aren't reaped
	instances map[uint32]struct{} // of the Supervisors in this process
}{own: map[int]struct{}{}, instances: map[uint32]struct{}{}}

// register makes instance one of this process's.
func register(instance uint32) {
	children.Lock()
	defer children.Unlock()
	children.instances[instance] = struct{}{}
}

// registered reports whether instance is one of this process's.
func registered(instance uint32) bool {
	children.Lock()
	defer children.Unlock()
	_, ok := children.instances[instance]
	return ok
}

// explain says what exec's short words mean for a file that is there.
func explain(path string, err error) error {
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("%s: its interpreter or loader is missing: %w", path, err)
	}
	return &fs.PathError{Op: "execute", Path: path, Err: err}
}

// wait returns when the leader has exited, and leaves it as a zombie.
func (t *tree) wait() lane.ExitStatus {
	code, signal := waitExit(t.leader.pid, t.pidfd)
	if signal != 0 {
		return lane.ExitStatus{Code: -1, Signal: signalName(signal)}
	}
	return lane.ExitStatus{Code: code}
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(s))
}

// expire has nothing to do here: deadlines end the streams.
func (t *tree) expire(time.Duration) {}

// others returns what is alive of the tree without the leader, and reaps what
// is dead and ours.
func (t *tree) others() ([]entry, error) { return certain(t.look) }

// certain looks a second time when the first shows nothing. A look takes a
// while: who forks and exits meanwhile may hide itself and its child from it.
func certain(look func() ([]entry, error)) ([]entry, error) {
	found, err := look()
	if err == nil && len(found) == 0 {
		return look()
	}
	return found, err
}

func (t *tree) look() ([]entry, error) {
	table, err := readTable()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return nil, nil
	}
	var alive []entry
	before := t.known
	t.known = make(map[int]uint64, len(before))
	for _, e := range t.members(table, before) {
		if e.zombie {
			reapAdopted(e)
			continue
		}
		t.known[e.pid] = e.start
		if m := markOf(e.pid); m.foreign() {
			t.nested[m.instance()] = true
		}
		alive = append(alive, e)
	}
	return alive, nil
}

// members returns all of the tree in table without the leader: what descends
// from it by parents, what is or was in its group or session, what an earlier
// look showed, orphans with its mark, and what descends from those.
func (t *tree) members(table []entry, known map[int]uint64) []entry {
	self := os.Getpid()
	roots := []int{t.leader.pid}
	var found []entry
	for _, e := range table {
		if e.pid == t.leader.pid || e.pid == self {
			continue
		}
		start, seen := known[e.pid]
		switch {
		case seen && start == e.start,
			e.group == t.leader.pid, e.session == t.leader.pid,
			(e.ppid == self || e.ppid == initPID) && t.marked(e.pid):
			roots = append(roots, e.pid)
			found = append(found, e)
		}
	}
	return append(found, closure(table, roots)...)
}

// marked reports whether an orphan bears the mark of this tree, or of an
// instance that was seen in it.
func (t *tree) marked(pid int) bool {
	if t.mark == 0 {
		return false
	}
	m := markOf(pid)
	return m == t.mark || m.foreign() && t.nested[m.instance()]
}

// initPID adopts orphans where we are no subreaper.
const initPID = 1

// terminate asks politely; SIGCONT lets the stopped hear it.
func (t *tree) terminate(others []entry) {
	signals := []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT}
	if t.session { // what the end of a terminal means to a shell
		signals = []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGCONT}
	}
	for _, s := range signals {
		t.signalGroup(s)
		for _, e := range others {
			signalEntry(e, s)
		}
	}
}

func (t *tree) kill(others []entry) {
	t.signalGroup(syscall.SIGKILL)
	for _, e := range others {
		signalEntry(e, syscall.SIGKILL)
	}
}

// signalGroup signals the leader's group. The leader isn't reaped, so that
// the group is still its own.
func (t *tree) signalGroup(s syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-t.leader.pid, s)
	if err == syscall.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

func (t *tree) signal(name string, terminal *os.File) error {
	s := unix.SignalNum(name)
	if s == 0 {
		return fmt.Errorf("signal %q: unknown", name)
	}
	if t.session && terminal != nil {
		if group, err := foregroundGroup(terminal); err == nil && group > 0 && group != t.leader.pid {
			return syscall.Kill(-group, s)
		}
	}
	return t.signalGroup(s)
}

// release gives the leader's pid back.
func (h *host) release(t *tree) {
	t.mu.Lock()
	if !t.reaped {
		t.reaped = true
		reapLeader(t.leader.pid)
		if t.pidfd >= 0 {
			unix.Close(t.pidfd)
		}
	}
	t.mu.Unlock()
	h.ledger.ended(t.leader)
}

func reapLeader(pid int) {
	children.Lock()
	defer children.Unlock()
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			break
		}
	}
	delete(children.own, pid)
}

// reapAdopted frees a zombie that became our child when its parent died. A
// leader is left to its own tree.
func reapAdopted(e entry) {
	if e.ppid != os.Getpid() {
		return
	}
	children.Lock()
	defer children.Unlock()
	if _, own := children.own[e.pid]; own {
		return
	}
	syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil)
}
