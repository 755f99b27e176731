package proc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/internal/lane"
)

// helperVar makes the test binary a helper process instead of a test run.
const helperVar = "PROC_TEST_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVar); dir != "" {
		helper(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// helper is an instance that somebody kills: it runs a child whose
// descendants leave it in every way, says so, and waits.
func helper(dir string) {
	s, err := New(Options{StateDir: filepath.Join(dir, "state")})
	if err != nil {
		panic(err)
	}
	_, err = s.StartRaw(context.Background(), shell(os.Getenv("PROC_TEST_SCRIPT"), dir))
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}

// patience is how long a condition may take on a machine under load.
const patience = 60 * time.Second

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func supervisor(t *testing.T, o Options) *Supervisor {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(within(t)); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// shell runs a script with dir as its working folder.
func shell(script, dir string) Command {
	return Command{
		Program: "sh", Args: []string{"-c", script}, Dir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"},
	}
}

func start(t *testing.T, s *Supervisor, c Command) *Process {
	t.Helper()
	p, err := s.StartRaw(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func end(t *testing.T, p *Process) {
	t.Helper()
	if err := p.End(within(t)); err != nil {
		t.Fatalf("End: %v", err)
	}
}

func waitExited(t *testing.T, p *Process) lane.ExitStatus {
	t.Helper()
	select {
	case <-p.Exited():
		return p.Status()
	case <-time.After(patience):
		t.Fatalf("no exit of %d in %v", p.PID(), patience)
		return lane.ExitStatus{}
	}
}

func alive(pid int) bool {
	e, ok := readEntry(pid)
	return ok && !e.zombie
}

// pidsIn waits until n files with a pid are in dir and returns the pids.
func pidsIn(t *testing.T, dir string, n int) []int {
	t.Helper()
	var pids []int
	eventually(t, fmt.Sprintf("%d pid files", n), func() bool {
		pids = pids[:0]
		names, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
		for _, name := range names {
			text, _ := os.ReadFile(name)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) == n
	})
	return pids
}

// leavers are the ways in which tools leave an agent. Each leaves a pid file
// in the working folder and runs on.
var leavers = map[string]string{
	"in the group":     `sh -c 'echo $$ > a.pid; exec sleep 1000' &`,
	"own session":      `setsid sh -c 'echo $$ > b.pid; exec sleep 1000' &`,
	"double fork":      `sh -c 'setsid sh -c "echo \$\$ > c.pid; exec sleep 1000" & exit' `,
	"no environment":   `env -i setsid /bin/sh -c 'echo $$ > d.pid; exec /bin/sleep 1000' &`,
	"ignores signals":  `setsid sh -c 'trap "" TERM INT HUP; echo $$ > e.pid; while :; do sleep 1000; done' &`,
	"is stopped":       `setsid sh -c 'echo $$ > f.pid; kill -STOP $$; exec sleep 1000' &`,
	"forks as it ends": `setsid sh -c 'trap "setsid sleep 1000 & exit" TERM; echo $$ > g.pid; while :; do sleep 0.01; done' &`,
}

func allLeavers() string {
	script := ""
	for _, one := range leavers {
		script += one + "\n"
	}
	return script
}
