package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/proc"
	"dragoman/wire/op"
)

// Limits of a call.
const (
	// stopGrace is how long git has between SIGTERM, where it takes its locks
	// away, and SIGKILL.
	stopGrace = 2 * time.Second
	// sweepLimit bounds the end of what git started.
	sweepLimit = 15 * time.Second
	// maxOutput is the most that a call's whole output may take, in bytes.
	maxOutput = 48 << 20
	// maxMessage is how much of git's own words goes into an error.
	maxMessage = 4 << 10
)

// Hooks says whether a call may run the repository's hooks.
type hooks int

const (
	noHooks hooks = iota
	withHooks
)

// A call is one call of git.
type call struct {
	// dir is where git runs.
	dir string
	// args come behind the options of every call.
	args []string
	// stdin is what git reads; nil is nothing.
	stdin []byte
	hooks hooks
	// remote calls may reach another machine.
	remote bool
	// ssh is the ssh command of the configuration, "" for ssh.
	ssh string
	// read takes the output; nil drops it. It may stop early with errEnough.
	read func(io.Reader) error
	// progress takes the lines that git writes for people; nil for none.
	progress func(line string)
}

// errEnough ends a call whose output isn't wanted any more.
var errEnough = errors.New("enough")

// options stand before the command of every call (core.md §6 "git").
func (c call) options() []string {
	o := []string{
		"--no-pager", "--no-optional-locks", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "color.ui=false",
		"-c", "log.showSignature=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "advice.detachedHead=false",
	}
	if c.hooks == noHooks {
		o = append(o, "-c", "core.hooksPath=/dev/null")
	}
	return append(o, c.args...)
}

// kept are the GIT_ variables of our environment that git gets: whose
// configuration, who commits, and how to reach servers. All others say where
// a repository is, or what to run.
func kept(name string) bool {
	switch name {
	case "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_SSH_VARIANT":
		return true
	}
	for _, prefix := range []string{"GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_SSL_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// environ is the environment of every call: ours without what leads git
// elsewhere, messages in English, and nobody to ask.
func environ(ours []string) []string {
	out := slices.DeleteFunc(slices.Clone(ours), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "LC_ALL", "LC_MESSAGES", "LANGUAGE", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GPG_TTY":
			return true
		}
		return strings.HasPrefix(name, "GIT_") && !kept(name)
	})
	if all := lookup(ours, "LC_ALL"); all != "" {
		out = append(out, "LANG="+all)
	}
	return append(out,
		"LC_MESSAGES=C", "LANGUAGE=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
		"GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_MERGE_AUTOEDIT=no", "GIT_PAGER=cat",
		"GIT_ALLOW_PROTOCOL=file:https:http:ssh:git", "GIT_PROTOCOL_FROM_USER=0",
	)
}

// lookup returns the last value of a name.
func lookup(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if n, value, _ := strings.Cut(kv, "="); n == name {
			return value
		}
	}
	return ""
}

// batchSSH is the ssh command that never asks. One that isn't ssh's own is
// left as it is: its options aren't known.
func (s *Space) batchSSH(configured string) string {
	command := lookup(s.opts.Environ, "GIT_SSH_COMMAND")
	if command == "" {
		command = configured
	}
	if command == "" {
		command = "ssh"
	}
	program, _, _ := strings.Cut(command, " ")
	if program == "ssh" || strings.HasSuffix(program, "/ssh") {
		command += " -oBatchMode=yes"
	}
	return command
}

// run runs git to its end. The error is the protocol's, or that of ctx.
func (s *Space) run(ctx context.Context, c call) error {
	env := s.environ
	if c.remote {
		env = append(slices.Clone(env), "GIT_SSH_COMMAND="+s.batchSSH(c.ssh))
	}
	cmd := proc.Command{
		Program: s.opts.Program, Args: c.options(), Dir: c.dir, Env: env, Stdin: lane.StdinNull,
	}
	if c.stdin != nil {
		cmd.Stdin = lane.StdinPipe
	}
	if c.progress != nil {
		cmd.Stderr = proc.StderrPipe
	}
	p, err := s.opts.Starter.StartRaw(ctx, cmd)
	if err != nil {
		return startError(ctx, err, c.dir)
	}
	var helpers sync.WaitGroup
	done := make(chan struct{})
	helpers.Go(func() { stopWith(ctx, p, done) })
	if c.stdin != nil {
		helpers.Go(func() {
			in := p.Stdin()
			_, _ = in.Write(c.stdin) // git's exit says why it read no more
			in.Close()
		})
	}
	var words tail
	if c.progress != nil {
		helpers.Go(func() { follow(p.Stderr(), &words, c.progress) })
	}
	out := &tail{}
	readErr := c.consume(p, out)
	<-p.Exited()
	close(done)
	helpers.Wait()
	said := words.String()
	if c.progress == nil {
		said = p.StderrTail()
	}
	sweep(p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case readErr != nil:
		return readErr
	case p.Status().Code != 0:
		return refusal(said, out.String())
	}
	return nil
}

// consume hands the output to the reader and drops what it leaves.
func (c call) consume(p *proc.Process, out *tail) error {
	src := io.TeeReader(p.Stdout(), out)
	var err error
	if c.read != nil {
		err = c.read(src)
	}
	if err != nil {
		_ = p.Signal("SIGTERM") // it is gone, or ends now
	}
	_, _ = io.Copy(io.Discard, p.Stdout())
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil // git's exit says why the output ends there
	}
	return err
}

// stopWith ends git when ctx ends before it is done.
func stopWith(ctx context.Context, p *proc.Process, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	_ = p.Signal("SIGTERM")
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-p.Exited():
	case <-grace.C:
		sweepCtx, cancel := context.WithTimeout(context.Background(), sweepLimit)
		defer cancel()
		_ = p.Kill(sweepCtx) // what survives is logged by the supervisor
	}
}

func sweep(p *proc.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	_ = p.End(ctx) // what survives is logged by the supervisor
}

// output runs git and returns all that it wrote.
func (s *Space) output(ctx context.Context, c call) ([]byte, error) {
	var b bytes.Buffer
	c.read = func(r io.Reader) error {
		n, err := io.Copy(&b, io.LimitReader(r, maxOutput+1))
		if err == nil && n > maxOutput {
			return op.TooLarge("git's answer", maxOutput, n)
		}
		return err
	}
	err := s.run(ctx, c)
	return b.Bytes(), err
}

// line is output without the line end.
func (s *Space) line(ctx context.Context, c call) (string, error) {
	b, err := s.output(ctx, c)
	return strings.TrimSuffix(string(b), "\n"), err
}

func startError(ctx context.Context, err error, dir string) error {
	var errno syscall.Errno
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, proc.ErrClosed):
		return op.Cancelled("shutdown")
	case errors.Is(err, proc.ErrDir):
		return op.IO(err, dir)
	case errors.As(err, &errno):
		return cantRun(errno, err)
	case errors.Is(err, fs.ErrNotExist):
		return cantRun(syscall.ENOENT, err)
	case errors.Is(err, fs.ErrPermission):
		return cantRun(syscall.EACCES, err)
	}
	return cantRun(syscall.EIO, err)
}

// cantRun is io_error, whatever the errno: the path that isn't there is git's.
func cantRun(errno syscall.Errno, err error) error {
	name := "EIO"
	switch errno {
	case syscall.ENOENT:
		name = "ENOENT"
	case syscall.EACCES:
		name = "EACCES"
	}
	return op.Fail(op.CodeIO, "git can't be run: %v", err).With("errno", name)
}

// a tail keeps the end of what was written to it.
type tail struct{ b []byte }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[max(len(p)-maxMessage, 0):]...)
	if over := len(t.b) - maxMessage; over > maxMessage {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b[max(len(t.b)-maxMessage, 0):]) }

// follow splits what git writes for people at CR and LF.
func follow(r io.Reader, words *tail, progress func(string)) {
	buf := make([]byte, 4<<10)
	var line []byte
	for {
		n, err := r.Read(buf)
		for _, c := range buf[:n] {
			if c != '\r' && c != '\n' {
				if len(line) < maxMessage {
					line = append(line, c)
				}
				continue
			}
			if c == '\n' {
				fmt.Fprintf(words, "%s\n", line)
			}
			progress(string(line))
			line = line[:0]
		}
		if err != nil {
			fmt.Fprintf(words, "%s", line)
			return
		}
	}
}
