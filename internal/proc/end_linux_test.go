package proc

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestEndLeavesNothing(t *testing.T) {
	after := map[string]string{
		"leader waits":           "wait",
		"leader ignores all":     `trap "" TERM INT HUP; while :; do sleep 1000; done`,
		"leader exits before":    "while [ ! -s ?.pid ]; do sleep 0.01; done; exit 3",
		"leader reads its stdin": "cat",
	}
	for name, leaver := range leavers {
		for ending, rest := range after {
			t.Run(name+", "+ending, func(t *testing.T) {
				t.Parallel()
				s := supervisor(t, Options{Grace: 100 * time.Millisecond})
				dir := t.TempDir()
				p := start(t, s, shell(leaver+"\n"+rest, dir))
				pid := pidsIn(t, dir, 1)[0]
				if ending == "leader exits before" {
					waitExited(t, p)
				}
				if !alive(pid) {
					t.Fatalf("%d is gone before End", pid)
				}
				if !p.Contains(pid) {
					t.Errorf("%d is not in the tree", pid)
				}
				end(t, p)
				if alive(pid) {
					t.Errorf("%d is alive after End", pid)
				}
				if left, _ := marked(func(_ entry, m mark) bool { return m == p.tree.mark }); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				if _, ok := readEntry(p.PID()); ok && alive(p.PID()) {
					t.Errorf("leader is alive")
				}
				end(t, p)
			})
		}
	}
}

func TestEndWithoutMarks(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{Grace: 100 * time.Millisecond})
	dir := t.TempDir()
	p := start(t, s, shell(leavers["own session"]+"\n"+leavers["in the group"]+"\nwait", dir))
	p.tree.mark = 0 // as where the limit can't be set
	pids := pidsIn(t, dir, 2)
	end(t, p)
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d is alive", pid)
		}
	}
}

func TestEndIsShared(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{Grace: 50 * time.Millisecond})
	dir := t.TempDir()
	p := start(t, s, shell(allLeavers()+"wait", dir))
	pids := pidsIn(t, dir, len(leavers))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			call := p.End
			if i%4 == 3 {
				call = p.Kill
			}
			if err := call(within(t)); err != nil {
				t.Errorf("end: %v", err)
			}
		})
	}
	wg.Wait()
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d is alive", pid)
		}
	}
	if err := p.Signal("SIGTERM"); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal after End: %v", err)
	}
}

func TestKillHurriesEnd(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{Grace: time.Hour})
	p := start(t, s, shell(`trap "" TERM; echo up; while :; do sleep 1000; done`, t.TempDir()))
	readLine(t, p)
	soon, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := p.End(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("End of a patient ladder: %v", err)
	}
	if err := p.Kill(within(t)); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	if got := waitExited(t, p); got.Signal != "SIGKILL" || got.Code != -1 {
		t.Errorf("status %+v", got)
	}
	end(t, p)
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for range 5 {
		dir := t.TempDir()
		start(t, s, shell(allLeavers()+"wait", dir))
		pids = append(pids, pidsIn(t, dir, len(leavers))...)
	}
	for range 2 {
		if err := s.Close(within(t)); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d is alive", pid)
		}
	}
	if _, err := s.StartRaw(within(t), shell("true", "")); !errors.Is(err, ErrClosed) {
		t.Errorf("start after Close: %v", err)
	}
}

// Orphans that die while their tree runs on are reaped without an End.
func TestOrphansAreReapedOnTheWay(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	dir := t.TempDir()
	p := start(t, s, shell(`for i in 1 2 3 4 5; do (setsid sh -c 'echo $$ > '$i'.pid' &); done; cat`, dir))
	pids := pidsIn(t, dir, 5)
	for _, pid := range pids {
		eventually(t, "orphan "+strconv.Itoa(pid)+" is reaped", func() bool {
			_, there := readEntry(pid)
			return !there
		})
	}
	if isClosed(p.Exited()) {
		t.Error("leader is gone")
	}
	end(t, p)
}

// A child that somebody else in this process started is theirs to wait for.
func TestOthersChildrenAreNotReaped(t *testing.T) {
	s := supervisor(t, Options{})
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit of true", func() bool { return !alive(pid) })
	p := start(t, s, shell("exit", ""))
	end(t, p)
	reapOrphans()
	var status syscall.WaitStatus
	if got, err := syscall.Wait4(pid, &status, 0, nil); got != pid || err != nil || status.ExitStatus() != 0 {
		t.Errorf("wait4: %d %v %v", got, err, status)
	}
}

func TestNoLeakAfterManyStarts(t *testing.T) {
	s := supervisor(t, Options{StateDir: t.TempDir()})
	before := openFiles(t)
	for range 200 {
		p := start(t, s, shell(`echo out; echo err >&2`, ""))
		readAll(t, p.Stdout())
		waitExited(t, p)
		end(t, p)
		if _, ok := readEntry(p.PID()); ok {
			if e, _ := readEntry(p.PID()); e.ppid == os.Getpid() {
				t.Fatalf("%d is still our child", p.PID())
			}
		}
	}
	if n := len(s.running()); n != 0 {
		t.Errorf("%d processes are remembered", n)
	}
	eventually(t, "as many descriptors as before", func() bool { return openFiles(t) <= before })
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
