//go:build unix

package oracle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/app"
)

// The test binary is dragoman as well, and its agents. These leave by the
// short way: the race detector sleeps for a second on the long one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		std := app.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
		switch os.Args[1] {
		case "serve":
			os.Exit(app.Main(os.Args, std, os.Environ()))
		case "fixture-agent":
			syscall.Exit(app.Main(os.Args, std, os.Environ()))
		case "fake-agent":
			runFake(os.Stdin, os.Stdout, os.Args[2:])
			syscall.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// patience is how long a replay waits for a line that must come.
const patience = 30 * time.Second

// settling is what a `wait` comes to, attempt by attempt: what was sent needs
// some time to get to the agent, and nothing tells when it is there.
var settling = []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second}

func TestOracle(t *testing.T) {
	all := loadTranscripts(t)
	if len(all) < 180 {
		t.Fatalf("%d transcripts", len(all))
	}
	for _, tr := range all {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			var err error
			for _, wait := range settling {
				if err = replay(t, tr, wait); err == nil || !tr.waits() {
					break
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func (tr transcript) waits() bool {
	for _, s := range tr.steps {
		if s.settle {
			return true
		}
	}
	return false
}

// environ is the sidecar's environment: with variables that no agent may see.
func environ(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "SHELL=/bin/sh",
		"AWS_SECRET_ACCESS_KEY=leak", "GH_TOKEN=leak", "GORACE=atexit_sleep_ms=0",
	}
}

// replay has one conversation with a fresh sidecar.
func replay(t *testing.T, tr transcript, wait time.Duration) error {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := startSidecar(self, t.TempDir())
	if err != nil {
		return err
	}
	defer s.kill()
	for i, st := range tr.steps {
		switch {
		case st.settle:
			time.Sleep(wait)
		case st.end:
			_ = s.in.Close()
		case st.send != "":
			if _, err := io.WriteString(s.in, s.names.own(st.send)+"\n"); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		if err := s.expect(st.expect); err != nil {
			return fmt.Errorf("step %d, after %.300s: %w", i, st.send, err)
		}
		if st.exit != "" {
			if code := s.wait(); code != st.exit {
				return fmt.Errorf("exit %s, want %s; stderr: %s", code, st.exit, s.stderr.String())
			}
		}
	}
	return nil
}

// A sidecar is the process that is talked to.
type sidecar struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	lines  chan string
	names  names
	stderr strings.Builder
	waited sync.Once
	code   string

	session string // of a test, if it has one
}

func startSidecar(self, home string, args ...string) (*sidecar, error) {
	s := &sidecar{lines: make(chan string, 1024), names: names{self: self, version: app.Version}}
	s.cmd = exec.Command(self, append([]string{"serve"}, args...)...)
	s.cmd.Env = environ(home)
	s.cmd.Stderr = &s.stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.lines)
		r := bufio.NewReader(s.out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			s.lines <- line
		}
	}()
	return s, nil
}

// expect waits until exactly the lines have come, in the sense of group.
func (s *sidecar) expect(lines []string) error {
	want, got := newGroup(), newGroup()
	for _, line := range lines {
		if err := want.add(line); err != nil {
			return err
		}
	}
	late := time.After(patience)
	for !got.equal(want) {
		select {
		case line, ok := <-s.lines:
			if !ok {
				return errors.New("the output ended; got\n" + got.String() + "\nwant\n" + want.String())
			}
			if err := got.add(s.names.general(line)); err != nil {
				return err
			}
			if len(got.Answers) > len(want.Answers) {
				return errors.New("got\n" + got.String() + "\nwant\n" + want.String())
			}
		case <-late:
			return errors.New("nothing more came; got\n" + got.String() + "\nwant\n" + want.String())
		}
	}
	return nil
}

// wait is the exit code.
func (s *sidecar) wait() string {
	s.waited.Do(func() {
		for range s.lines {
		}
		_ = s.cmd.Wait()
		s.code = fmt.Sprint(s.cmd.ProcessState.ExitCode())
	})
	return s.code
}

// kill ends a sidecar that a failed replay left.
func (s *sidecar) kill() {
	_ = s.in.Close()
	done := make(chan struct{})
	go func() { s.wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-done
	}
}
