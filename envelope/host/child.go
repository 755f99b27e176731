package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// This file starts processes and signals them, which inside dragoman is the
// work of one internal package alone: strangers who use this package need it
// without that one.

// A Command is an agent to start as a child process.
type Command struct {
	// Argv is the program and its arguments; never a shell. The program is
	// looked up on this process's own PATH.
	Argv []string
	// Dir is the absolute workspace root, the child's working folder.
	Dir string
	// Env is the child's whole environment ([Environment]); nil is empty.
	Env []string
	// Stderr gets the child's stderr; nil drops it. Either way the last line
	// is kept for [Link].Status.
	Stderr io.Writer
	// Rung is how long each step of ending waits: end of input, SIGTERM,
	// SIGKILL; 0 is 500 ms.
	Rung time.Duration
}

// Child starts a child process as the agent, in a process group of its own.
// Ending the link closes its input, then signals the group: SIGTERM, then
// SIGKILL. A bridge is a child too: `ssh host agent`.
func Child(c Command) Starter {
	return StarterFunc(func(context.Context) (Link, error) {
		if err := c.check(); err != nil {
			return nil, err
		}
		return c.start()
	})
}

func (c Command) check() error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return refuse(CodeInvalidConfiguration, "no program to start")
	case !filepath.IsAbs(c.Dir):
		return refuse(CodeInvalidConfiguration, fmt.Sprintf("workspace root %q is not absolute", c.Dir))
	}
	return nil
}

func (c Command) start() (_ Link, err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	ownGroup(cmd)
	if err = cmd.Start(); err != nil {
		return nil, err
	}
	closeAll([]*os.File{inR, outW, errW})
	p := &child{
		cmd: cmd, command: c, in: inW, out: outR, errs: errR,
		exited: make(chan struct{}), drained: make(chan struct{}),
	}
	go p.drain()
	go p.reap()
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// drainTimeout is how long after the child's exit its streams are read on,
// where something that left its group holds them open.
const drainTimeout = time.Second

// A child is a running process as a [Link].
type child struct {
	cmd     *exec.Cmd
	command Command
	in, out *os.File
	errs    *os.File
	exited  chan struct{} // closed when the leader is reaped
	drained chan struct{} // closed when stderr has ended

	mu       sync.Mutex
	lastLine string
	err      error // cmd.Wait's
	reaped   bool
}

// Read reads stdout. Once the child has exited it waits for more only a
// moment.
func (p *child) Read(b []byte) (int, error) {
	for {
		_, gone := p.gone()
		if gone {
			_ = p.out.SetReadDeadline(time.Now().Add(drainTimeout))
		}
		n, err := p.out.Read(b)
		switch {
		case n > 0 || err == nil:
			return n, err
		case errors.Is(err, os.ErrDeadlineExceeded) && !gone:
			continue // woken by the exit: read what is left
		}
		return 0, io.EOF
	}
}

func (p *child) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p *child) gone() (error, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err, p.reaped
}

// drain copies stderr and keeps its last line.
func (p *child) drain() {
	defer close(p.drained)
	defer p.errs.Close()
	buf := make([]byte, 4096)
	var line []byte
	for {
		n, err := p.errs.Read(buf)
		if p.command.Stderr != nil {
			// Nobody can be told that the copy doesn't go out.
			_, _ = p.command.Stderr.Write(buf[:n])
		}
		line = tail(append(line, buf[:n]...))
		p.mu.Lock()
		p.lastLine = lastLine(line)
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

const tailBytes = 4096

func tail(b []byte) []byte {
	if len(b) > tailBytes {
		return append([]byte(nil), b[len(b)-tailBytes:]...)
	}
	return b
}

func lastLine(b []byte) string {
	s := strings.ToValidUTF8(strings.TrimRight(string(b), "\r\n"), "\uFFFD")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// reap waits for the leader and ends what it left in its group: the leader
// stays a zombie until then, so that the group's number can't be another's.
func (p *child) reap() {
	if awaitExit(p.cmd.Process.Pid) {
		p.signal(killGroup)
	}
	err := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.reaped = err, true
	for _, f := range []*os.File{p.out, p.errs} {
		// Fails where the stream has ended already.
		_ = f.SetReadDeadline(time.Now().Add(drainTimeout))
	}
	close(p.exited)
}

// signal signals the group while its leader isn't reaped.
func (p *child) signal(send func(leader *os.Process)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		send(p.cmd.Process)
	}
}

// End is the ladder: end of input, SIGTERM, SIGKILL, each to the whole group.
// A ctx that ends cuts the waits short.
func (p *child) End(ctx context.Context) error {
	p.in.Close()
	rung := p.command.Rung
	if rung <= 0 {
		rung = DefaultGrace
	}
	for _, send := range []func(*os.Process){terminateGroup, killGroup} {
		if p.exits(ctx, rung) {
			return nil
		}
		p.signal(send)
	}
	if !p.exits(ctx, endTimeout) {
		return fmt.Errorf("process %d doesn't end", p.cmd.Process.Pid)
	}
	return nil
}

// exits waits for the exit, at most one rung of the ladder, and then lets go
// of the streams.
func (p *child) exits(ctx context.Context, rung time.Duration) bool {
	ctx, stop := context.WithTimeout(ctx, rung)
	defer stop()
	select {
	case <-p.exited:
		<-p.drained
		p.out.Close()
		return true
	case <-ctx.Done():
		return false
	}
}

// Status says how the child ended and what it said last, without secrets.
func (p *child) Status() string {
	t := time.NewTimer(drainTimeout)
	defer t.Stop()
	select {
	case <-p.drained:
		<-p.exited
	case <-t.C:
		return ""
	}
	err, _ := p.gone()
	status := "agent exited with status 0"
	if err != nil {
		status = "agent ended: " + err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lastLine != "" {
		status += ": " + redact(p.lastLine, p.command.Env)
	}
	return status
}
