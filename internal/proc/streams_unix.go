//go:build linux || darwin

package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"dragoman/internal/lane"
	"dragoman/internal/redact"
)

// heldBytes bounds what is still read from a stream after [holdLimit] when
// something keeps writing to it. It is the most that a pipe holds.
const heldBytes = 1 << 20

// streams are our ends of a child's streams, and the child's until it runs.
type streams struct {
	stdin          *input // nil with StdinNull
	stdout, stderr *output
	tail           *tail    // of stderr; nil if it isn't drained
	terminal       *os.File // nil without one

	child []*os.File // stdin, stdout, stderr; one file may stand twice
}

func openStreams(c *Command) (*streams, error) {
	s := &streams{}
	if err := s.open(c); err != nil {
		s.closeChild()
		s.closeParent()
		return nil, err
	}
	return s, nil
}

func (s *streams) open(c *Command) error {
	if err := s.openInOut(c); err != nil {
		return err
	}
	if c.Terminal == SessionTerminal {
		s.child = append(s.child, s.child[1])
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.stderr = &output{file: r}
	s.child = append(s.child, w)
	if c.Stderr == StderrTail {
		s.tail = &tail{redactor: redact.New(c.SecretValues)}
	}
	return nil
}

func (s *streams) openInOut(c *Command) error {
	if c.Terminal != NoTerminal {
		return s.openTerminal(c)
	}
	in, err := s.openStdin(c)
	if err != nil {
		return err
	}
	s.child = append(s.child, in)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	widen(w)
	s.stdout = &output{file: r}
	s.child = append(s.child, w)
	return nil
}

func (s *streams) openStdin(c *Command) (*os.File, error) {
	if c.Stdin == lane.StdinNull {
		return os.Open(os.DevNull)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.stdin = &input{file: w}
	return r, nil
}

func (s *streams) openTerminal(c *Command) error {
	master, slave, err := openTerminal(c)
	if err != nil {
		return err
	}
	s.terminal = master
	s.stdin = &input{file: master, shared: true}
	s.stdout = &output{file: master}
	s.child = append(s.child, slave, slave)
	return nil
}

// closeChild closes the child's ends.
func (s *streams) closeChild() {
	for _, f := range s.child {
		f.Close()
	}
	s.child = nil
}

func (s *streams) closeParent() {
	if s.stdin != nil {
		s.stdin.file.Close()
	}
	for _, o := range []*output{s.stdout, s.stderr} {
		if o != nil {
			o.file.Close()
		}
	}
}

// expire makes the streams end at that time, whoever holds the other end.
func (s *streams) expire(at time.Time) {
	if s.stdin != nil {
		s.stdin.file.SetWriteDeadline(at)
	}
	for _, o := range []*output{s.stdout, s.stderr} {
		if o != nil {
			o.file.SetReadDeadline(at)
		}
	}
}

// An input is the writing end of a child's stdin. A child that doesn't read
// any more is no failure of ours: the error is io.ErrClosedPipe, and the exit
// says what happened.
type input struct {
	file *os.File
	// shared: file is a terminal's, which closing the input leaves open.
	shared bool

	mu     sync.Mutex
	closed bool
}

func (i *input) Write(b []byte) (int, error) {
	if i.shared && i.isClosed() {
		return 0, io.ErrClosedPipe
	}
	n, err := i.file.Write(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.EIO),
		errors.Is(err, os.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
		return n, io.ErrClosedPipe
	}
	return n, err
}

// Close may be called twice; it lets a Write that waits return.
func (i *input) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	if i.shared {
		return nil
	}
	return i.file.Close()
}

func (i *input) isClosed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.closed
}

// An output is the reading end of what a child writes. It ends with the last
// writer, or at the deadline that streams.expire set, after what was in the
// pipe by then.
type output struct {
	file *os.File

	// mu is held from a read to the use of what was read, so that catchUp
	// can't overtake drain.
	mu sync.Mutex

	late  bool // the deadline has passed
	left  int  // bytes that may still be read then
	ended bool
}

func (o *output) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if o.ended {
		return 0, io.EOF
	}
	if !o.late {
		n, err := o.file.Read(b)
		if n > 0 || err == nil {
			return n, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, o.end(err)
		}
		o.late, o.left = true, heldBytes
	}
	n, err := o.readNow(b[:min(len(b), o.left)])
	o.left -= n
	if n > 0 {
		return n, nil
	}
	return 0, o.end(err)
}

// end closes the file and returns how the stream ended. EIO is a terminal's
// way to say that nobody holds its other side.
func (o *output) end(err error) error {
	o.ended = true
	o.file.Close()
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed),
		errors.Is(err, unix.EIO), errors.Is(err, unix.EAGAIN):
		return io.EOF
	}
	return err
}

// readNow reads what is there, whatever the deadline. Nothing is 0 and EAGAIN,
// the end 0 and nil.
func (o *output) readNow(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	conn, err := o.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	use := conn.Control(func(fd uintptr) { n, err = readFD(fd, b) })
	if use != nil {
		return 0, use
	}
	return n, err
}

// drain copies everything to t until the stream ends, and closes it.
func (o *output) drain(t *tail) {
	defer o.file.Close()
	conn, err := o.file.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 32<<10)
	for {
		var n int
		var readErr error
		err := conn.Read(func(fd uintptr) bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			n, readErr = readFD(fd, buf)
			t.Write(buf[:n])
			return !errors.Is(readErr, unix.EAGAIN)
		})
		if err != nil { // the deadline: whoever holds the pipe is not the leader
			o.catchUp(t)
			return
		}
		if n == 0 {
			return
		}
	}
}

// catchUp copies what is in the pipe now to t.
func (o *output) catchUp(t *tail) {
	conn, err := o.file.SyscallConn()
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	buf := make([]byte, 32<<10)
	for left := heldBytes; left > 0; {
		n := 0
		if conn.Control(func(fd uintptr) { n, _ = readFD(fd, buf) }) != nil || n == 0 {
			return
		}
		t.Write(buf[:n])
		left -= n
	}
}

// readFD is read(2), again after EINTR, with n never below 0.
func readFD(fd uintptr, b []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), b)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}
