package host_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/envelope/agent"
	"dragoman/envelope/host"
)

// childAgent is this binary as an agent, or as a bridge to one on a socket.
func childAgent(mode string) int {
	if socket, ok := strings.CutPrefix(mode, "bridge "); ok {
		return bridge(socket)
	}
	a := testAgent()
	a.Handle("environment", func(context.Context, *agent.Request) ([]byte, error) {
		return fmt.Appendf(nil, `{"environ":%q,"dir":%q}`, strings.Join(os.Environ(), " "), first(os.Getwd())), nil
	})
	a.Handle("deaf", func(_ context.Context, r *agent.Request) ([]byte, error) {
		// A grandchild that holds the pipes, and no ear for anything.
		sleeper := exec.Command("sleep", "600")
		sleeper.Stdout, sleeper.Stderr = os.Stdout, os.Stderr
		if err := sleeper.Start(); err != nil {
			return nil, err
		}
		signal.Ignore(syscall.SIGTERM)
		if err := r.Event("started", fmt.Appendf(nil, `{"pid":%d}`, sleeper.Process.Pid)); err != nil {
			return nil, err
		}
		select {}
	})
	a.Handle("die", func(context.Context, *agent.Request) ([]byte, error) {
		fmt.Fprintln(os.Stderr, "the token is s3cret, bye")
		os.Exit(7)
		return nil, nil
	})
	if err := a.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		return 1
	}
	return 0
}

// bridge carries stdin and stdout to a socket and back, as ssh does to a
// program elsewhere.
func bridge(socket string) int {
	c, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, c)
	return 0
}

func first[T any](v T, _ error) T { return v }

func child(t *testing.T, c host.Command) host.Starter {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Argv = []string{self}
	c.Env = append(c.Env, modeVariable+"=1")
	return host.Child(c)
}

func TestChild(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, child(t, host.Command{Dir: dir, Env: []string{"LANG=C"}}), host.Config{Grants: []string{"environment"}})
	o, err := h.Request(t.Context(), "environment", nil, host.RequestOptions{})
	want := fmt.Sprintf(`{"environ":"LANG=C %s=1","dir":%q}`, modeVariable, dir)
	if err != nil || string(o.Output) != want {
		t.Errorf("got %s and %v, want %s", o.Output, err, want)
	}
}

func TestBridge(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = testAgent().Serve(context.Background(), c, c)
			c.Close()
		}
		served <- err
	}()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, host.Child(host.Command{Argv: []string{self}, Dir: t.TempDir(), Env: []string{modeVariable + "=bridge " + socket}}), host.Config{Grants: grants})
	if o, err := h.Request(t.Context(), "echo", []byte(`{"x":1}`), host.RequestOptions{}); err != nil || string(o.Output) != `{"x":1}` {
		t.Errorf("got %s and %v", o.Output, err)
	}
	closeHost(t, h)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestChildDies(t *testing.T) {
	var stderr bytes.Buffer
	c := host.Command{Dir: t.TempDir(), Env: []string{"MY_TOKEN=s3cret"}, Stderr: &stderr}
	h := start(t, child(t, c), host.Config{Grants: []string{"die"}})
	_, err := h.Request(t.Context(), "die", nil, host.RequestOptions{})
	e := failure(t, err)
	if e.Code != host.CodeProcessFailure || !e.UncertainEffect || !strings.Contains(e.Message, "exit status 7") ||
		!strings.Contains(e.Message, "the token is [REDACTED], bye") {
		t.Errorf("got %+v", e)
	}
	closeHost(t, h)
	if stderr.String() != "the token is s3cret, bye\n" {
		t.Errorf("stderr is %q", stderr.String())
	}
}

// The cancel ladder: no acknowledgement, no ear for SIGTERM, and a grandchild
// that holds the pipes. All of it is gone when Request returns.
func TestCancelLadder(t *testing.T) {
	c := host.Command{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Rung: 50 * time.Millisecond}
	h := start(t, child(t, c), host.Config{Grants: []string{"deaf", "wait"}, Grace: 50 * time.Millisecond})
	other := make(chan error, 1)
	waiting := make(chan struct{})
	go func() {
		_, err := h.Request(context.Background(), "wait", nil, host.RequestOptions{OnEvent: func(host.Event) { close(waiting) }})
		other <- err
	}()
	<-waiting
	var pid int
	ctx, cancel := context.WithCancel(t.Context())
	_, err := h.Request(ctx, "deaf", nil, host.RequestOptions{OnEvent: func(e host.Event) {
		pid, _ = strconv.Atoi(strings.Trim(string(e.Output), `{}"pid:`))
		cancel()
	}})
	if e := failure(t, err); e.Code != host.CodeCancelled || !e.UncertainEffect {
		t.Errorf("got %+v", e)
	}
	if e := failure(t, <-other); e.Code != host.CodeProcessFailure || !e.UncertainEffect {
		t.Errorf("the other request: got %+v", e)
	}
	if pid == 0 {
		t.Fatal("the grandchild has no pid")
	}
	gone(t, pid)
}

// gone waits until a process doesn't run any more. It may stay a zombie that
// nobody reaps.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestTimeoutUnacknowledged(t *testing.T) {
	c := host.Command{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Rung: 50 * time.Millisecond}
	h := start(t, child(t, c), host.Config{Grants: []string{"deaf"}, Grace: 50 * time.Millisecond})
	_, err := h.Request(t.Context(), "deaf", nil, host.RequestOptions{Timeout: 50 * time.Millisecond})
	if e := failure(t, err); e.Code != host.CodeRequestTimeout || !e.UncertainEffect {
		t.Errorf("got %+v", e)
	}
}

func TestChildConfiguration(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    host.Command
		code string
	}{
		{"no program", host.Command{Dir: "/"}, host.CodeInvalidConfiguration},
		{"a relative root", host.Command{Argv: []string{"true"}, Dir: "."}, host.CodeInvalidConfiguration},
		{"no such program", host.Command{Argv: []string{"no-such-program-here"}, Dir: "/"}, host.CodeProcessFailure},
		{"no such folder", host.Command{Argv: []string{"true"}, Dir: "/no/such/folder"}, host.CodeProcessFailure},
		{"no agent at all", host.Command{Argv: []string{"true"}, Dir: "/"}, host.CodeProcessFailure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := host.Start(t.Context(), host.Child(tt.c), host.Config{})
			if e := failure(t, err); e.Code != tt.code {
				t.Errorf("got %+v", e)
			}
		})
	}
}
