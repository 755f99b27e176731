package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dragoman/internal/lane"
)

// statFields prints group and session of a shell and what its stdin is.
const statFields = `read -r _ _ _ _ group session _ < /proc/$$/stat; echo $group $session; tty; stty size;`

func TestRawTerminal(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{Grace: 100 * time.Millisecond})
	c := shell(statFields+`echo err >&2; (: > /dev/tty) 2>/dev/null && echo controlling; exec cat`, "")
	p, err := s.Start(within(t), lane.Command{Program: c.Program, Args: c.Args, Env: c.Env, PTY: true})
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(p.Stdout())
	line := func() string {
		text, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("read: %v, stderr %q", err, p.StderrTail())
		}
		return text
	}
	session, _ := unix.Getsid(0)
	if got, want := line(), fmt.Sprintf("%d %d\n", p.PID(), session); got != want {
		t.Errorf("group and session %q, want %q", got, want)
	}
	if got := line(); !strings.HasPrefix(got, "/dev/pts/") {
		t.Errorf("tty %q", got)
	}
	if got := line(); got != "30 120\n" {
		t.Errorf("size %q", got)
	}
	io.WriteString(p.Stdin(), "a\x03\x04b\r\n") // nothing is echoed, nothing changed, no signal
	if got := line(); got != "a\x03\x04b\r\n" {
		t.Errorf("got %q", got)
	}
	p.Stdin().Close() // signals nothing
	if _, err := p.Stdin().Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write after close: %v", err)
	}
	if got := p.StderrTail(); got != "err\n" {
		t.Errorf("stderr %q", got)
	}
	if err := p.End(within(t)); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q %v", rest, err)
	}
}

func TestSessionTerminal(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{Grace: 100 * time.Millisecond})
	c := shell(statFields+`: > /dev/tty && echo controlling >&2; trap 'stty size' WINCH; echo up; while :; do sleep 0.01; done`, "")
	c.Terminal, c.Size = SessionTerminal, Size{Rows: 11, Cols: 44}
	p := start(t, s, c)
	if got := readLine(t, p); got != fmt.Sprintf("%d %d", p.PID(), p.PID()) {
		t.Errorf("group and session %q, pid %d", got, p.PID())
	}
	readLine(t, p)
	for _, want := range []string{"11 44", "controlling", "up"} {
		if got := readLine(t, p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := p.Resize(Size{Rows: 12, Cols: 55}); err != nil {
		t.Fatal(err)
	}
	if got := readLine(t, p); got != "12 55" {
		t.Errorf("size %q", got)
	}
	io.WriteString(p.Stdin(), "\x03")
	if got := waitExited(t, p); got.Signal != "SIGINT" {
		t.Errorf("after Ctrl-C: %+v", got)
	}
	readAll(t, p.Stdout())
	end(t, p)
}

// Signals of a session go to the foreground, as from the keyboard.
func TestSessionSignalsForeground(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{Grace: 100 * time.Millisecond})
	dir := t.TempDir()
	c := shell(`set -m; sh -c 'trap "exit 9" INT; echo $$ > a.pid; while :; do sleep 0.01; done'; echo got $?; exit 0`, dir)
	c.Terminal = SessionTerminal
	p := start(t, s, c)
	pid := pidsIn(t, dir, 1)[0]
	eventually(t, "the job is in the foreground", func() bool {
		group, err := foregroundGroup(p.streams.terminal)
		return err == nil && group == pid
	})
	if err := p.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if got := waitExited(t, p); got != (lane.ExitStatus{}) {
		t.Errorf("status %+v", got)
	}
	if got := readAll(t, p.Stdout()); !strings.Contains(got, "got 9") {
		t.Errorf("output %q", got)
	}
	end(t, p)
	if err := p.Resize(Size{1, 1}); err == nil {
		t.Error("resize after the end")
	}
}

func TestTerminalsDontLeak(t *testing.T) {
	s := supervisor(t, Options{Grace: 100 * time.Millisecond})
	before := openFiles(t)
	for i := range 20 {
		c := shell(`echo hi; setsid sleep 1000 & sleep 0.01; exit`, os.TempDir())
		c.Terminal = RawTerminal + Terminal(i%2)
		p := start(t, s, c)
		done := make(chan string)
		go func() { text, _ := io.ReadAll(p.Stdout()); done <- string(text) }()
		waitExited(t, p)
		end(t, p)
		if got := <-done; !strings.HasPrefix(got, "hi") {
			t.Errorf("output %q", got)
		}
	}
	eventually(t, "as many descriptors as before", func() bool { return openFiles(t) <= before })
}
