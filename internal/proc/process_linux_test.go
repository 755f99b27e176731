package proc

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"dragoman/internal/lane"
	"dragoman/internal/redact"
)

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(text)
}

// readLine takes nothing beyond the line.
func readLine(t *testing.T, p *Process) string {
	t.Helper()
	var line []byte
	for one := make([]byte, 1); ; line = append(line, one[0]) {
		if _, err := io.ReadFull(p.Stdout(), one); err != nil {
			t.Fatalf("read: %v after %q (stderr %q)", err, line, p.StderrTail())
		}
		if one[0] == '\n' {
			return strings.TrimRight(string(line), "\r")
		}
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	var starter lane.Starter = s
	p, err := starter.Start(within(t), lane.Command{Program: "cat", Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 100 {
			io.WriteString(p.Stdin(), strings.Repeat("x", 9999)+"\n")
		}
		p.Stdin().Close()
		p.Stdin().Close()
	}()
	if got := readAll(t, p.Stdout()); len(got) != 1_000_000 {
		t.Errorf("%d bytes came back", len(got))
	}
	<-p.Exited()
	if got := p.Status(); got != (lane.ExitStatus{}) {
		t.Errorf("status %+v", got)
	}
	if err := p.End(within(t)); err != nil {
		t.Error(err)
	}
}

func TestStatus(t *testing.T) {
	tests := map[string]lane.ExitStatus{
		"exit 0":          {},
		"exit 7":          {Code: 7},
		"kill -9 $$":      {Code: -1, Signal: "SIGKILL"},
		"kill -TERM $$":   {Code: -1, Signal: "SIGTERM"},
		"kill -SEGV $$":   {Code: -1, Signal: "SIGSEGV"},
		"exit 255":        {Code: 255},
		"read x; exit $x": {Code: 5},
	}
	for script, want := range tests {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			s := supervisor(t, Options{})
			p := start(t, s, shell("ulimit -c 0; "+script, t.TempDir()))
			io.WriteString(p.Stdin(), "5\n")
			if got := waitExited(t, p); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			end(t, p)
		})
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("plain", "#!/bin/sh\n", 0o644)
	write("orphan", "#!/no/such/interpreter\n", 0o755)
	write("binary", "\x00\x01\x02", 0o755)
	env := []string{"PATH=" + dir}
	tests := map[string]struct {
		c    Command
		want error
	}{
		"no such program":       {Command{Program: "nope", Env: env}, fs.ErrNotExist},
		"no such path":          {Command{Program: "/no/such/file", Env: env}, fs.ErrNotExist},
		"empty program":         {Command{Program: "", Env: env}, fs.ErrNotExist},
		"no PATH":               {Command{Program: "sh"}, fs.ErrNotExist},
		"not executable":        {Command{Program: "plain", Env: env}, fs.ErrPermission},
		"a folder":              {Command{Program: dir, Env: env}, fs.ErrPermission},
		"interpreter missing":   {Command{Program: "orphan", Env: env}, fs.ErrNotExist},
		"not a program":         {Command{Program: "binary", Env: env}, syscall.ENOEXEC},
		"NUL in an argument":    {Command{Program: "/bin/sh", Args: []string{"a\x00"}}, syscall.EINVAL},
		"working folder gone":   {Command{Program: "/bin/sh", Dir: dir + "/gone"}, ErrDir},
		"working folder a file": {Command{Program: "/bin/sh", Dir: dir + "/plain"}, ErrDir},
	}
	s := supervisor(t, Options{})
	for name, tt := range tests {
		_, err := s.StartRaw(within(t), tt.c)
		var start *StartError
		if !errors.As(err, &start) || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if tt.want != ErrDir && errors.Is(err, ErrDir) {
			t.Errorf("%s: is taken for the folder's fault: %v", name, err)
		}
	}
}

func TestEnvironmentAndDescriptors(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	p := start(t, s, Command{Program: "/usr/bin/env", Env: []string{"B=1", "A=x y", "B=2"}, Stdin: lane.StdinNull})
	if got := readAll(t, p.Stdout()); got != "B=2\nA=x y\n" {
		t.Errorf("environment %q", got)
	}
	if p.Stdin() != nil {
		t.Error("stdin of a child without one")
	}
	end(t, p)

	p = start(t, s, shell(`readlink /proc/self/fd/0; ls /proc/self/fd | wc -l`, ""))
	p.Stdin().Close()
	lines := strings.Fields(readAll(t, p.Stdout()))
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "pipe:") || lines[1] != "4" { // and the folder that ls reads
		t.Errorf("descriptors %q", lines)
	}
	end(t, p)
	var limit unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &limit); err != nil || mark(limit.Cur).valid() {
		t.Errorf("our own limit is %x (%v)", limit.Cur, err)
	}
}

func TestHeldStdoutEnds(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	dir := t.TempDir()
	p := start(t, s, shell(`setsid sh -c 'echo $$ > a.pid; exec sleep 1000' & while [ ! -s a.pid ]; do sleep 0.01; done; head -c 60000 /dev/zero; echo held >&2`, dir))
	waitExited(t, p)
	time.Sleep(holdLimit + 100*time.Millisecond) // a reader that comes late loses nothing
	if got := readAll(t, p.Stdout()); len(got) != 60000 {
		t.Errorf("%d bytes of 60000", len(got))
	}
	if got := p.StderrTail(); got != "held\n" {
		t.Errorf("stderr %q", got)
	}
	pid := pidsIn(t, dir, 1)[0]
	if !alive(pid) {
		t.Error("the holder is gone before End")
	}
	end(t, p)
	if alive(pid) {
		t.Error("the holder is alive after End")
	}
}

func TestHeldTerminalEnds(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{Grace: 100 * time.Millisecond})
	dir := t.TempDir()
	c := shell(`setsid sh -c 'echo $$ > a.pid; exec sleep 1000' & while [ ! -s a.pid ]; do sleep 0.01; done; echo done`, dir)
	c.Terminal = RawTerminal
	p := start(t, s, c)
	if got := readAll(t, p.Stdout()); got != "done\n" {
		t.Errorf("output %q", got)
	}
	if pid := pidsIn(t, dir, 1)[0]; !alive(pid) {
		t.Error("the holder is gone before End")
	}
	end(t, p)
}

// A holder that goes on writing doesn't keep the reader for ever either.
func TestBusyHolderEnds(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	p := start(t, s, shell(`yes & yes >&2 & exit 0`, t.TempDir()))
	n, err := io.Copy(io.Discard, p.Stdout())
	if err != nil || n == 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	end(t, p)
}

func TestWriteToGoneChild(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	p := start(t, s, shell(`exit 0`, t.TempDir()))
	waitExited(t, p)
	if _, err := p.Stdin().Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write: %v", err)
	}
	end(t, p)

	// The reading end is held by a descendant that doesn't read.
	p = start(t, s, shell(`setsid sleep 1000 <&0 & exit 0`, t.TempDir()))
	if _, err := p.Stdin().Write(make([]byte, 1<<20)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write to a held pipe: %v", err)
	}
	end(t, p)
}

func TestStderrTail(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	c := shell(`head -c 1048576 /dev/zero | tr '\0' e >&2; printf 'end: %s é\303' "hunter2!" >&2; cat`, t.TempDir())
	c.SecretValues = []string{"hunter2!"}
	p := start(t, s, c)
	eventually(t, "end of the flood", func() bool { return strings.Contains(p.StderrTail(), "é") })
	got := p.StderrTail()
	want := "end: " + redact.Mark + " é"
	if len(got) > tailBytes || !utf8.ValidString(got) || !strings.HasSuffix(got, "e"+want) {
		t.Errorf("%d bytes, ends in %q", len(got), got[max(0, len(got)-60):])
	}
	end(t, p)

	// What the leader wrote is there as soon as its exit is known.
	for range 50 {
		p := start(t, s, shell("echo last words >&2; exit 1", ""))
		waitExited(t, p)
		if got := p.StderrTail(); got != "last words\n" {
			t.Fatalf("tail %q", got)
		}
		end(t, p)
	}
}

func TestStderrPipe(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	c := shell("echo out; echo err >&2", "")
	c.Stderr = StderrPipe
	p := start(t, s, c)
	if got := readAll(t, p.Stderr()); got != "err\n" {
		t.Errorf("stderr %q", got)
	}
	if got := readAll(t, p.Stdout()); got != "out\n" {
		t.Errorf("stdout %q", got)
	}
	if got := p.StderrTail(); got != "" {
		t.Errorf("tail %q", got)
	}
	end(t, p)
}

func TestInterruptReachesTheGroup(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	p := start(t, s, shell(`trap 'echo caught; exit 4' INT; sh -c 'trap "exit 0" INT; echo up; while :; do sleep 0.01; done'; wait`, ""))
	readLine(t, p)
	if err := p.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if got := readLine(t, p); got != "caught" {
		t.Errorf("got %q", got)
	}
	if got := waitExited(t, p); got.Code != 4 {
		t.Errorf("status %+v", got)
	}
	if err := p.Signal("SIGNONE"); err == nil {
		t.Error("unknown signal was sent")
	}
	end(t, p)
}

func TestPeerLookups(t *testing.T) {
	t.Parallel()
	s := supervisor(t, Options{})
	dir := t.TempDir()
	p := start(t, s, shell(leavers["own session"]+"\n"+leavers["double fork"]+"\nwait; cat", dir))
	pids := pidsIn(t, dir, 2)
	list, err := Descendants(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range append(pids, p.PID()) {
		if !slices.Contains(list, pid) || !IsDescendant(pid, os.Getpid()) || !p.Contains(pid) {
			t.Errorf("%d isn't found", pid)
		}
	}
	if p.Contains(os.Getpid()) || IsDescendant(os.Getpid(), p.PID()) || IsDescendant(1, os.Getpid()) {
		t.Error("a stranger is taken for a descendant")
	}
	if a, err := StartTime(p.PID()); err != nil || a == 0 {
		t.Errorf("start time %d %v", a, err)
	}
	if _, err := StartTime(1 << 30); err == nil {
		t.Error("start time of nobody")
	}
	end(t, p)
}
