package proc

import (
	"io"
	"os"
	"sync"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/redact"
)

// streams are our ends of a child's streams, and the child's until it runs.
type streams struct {
	stdin          *input // nil with StdinNull
	stdout, stderr *output
	tail           *tail    // of stderr; nil if it isn't drained
	terminal       *os.File // always nil

	child []*os.File
}

func openStreams(c *Command) (*streams, error) {
	if c.Terminal != NoTerminal {
		return nil, ErrNoTerminal
	}
	s := &streams{}
	if err := s.open(c); err != nil {
		s.closeChild()
		s.closeParent()
		return nil, err
	}
	return s, nil
}

func (s *streams) open(c *Command) error {
	in, err := s.openStdin(c)
	if err != nil {
		return err
	}
	s.child = append(s.child, in)
	if s.stdout, err = s.openOutput(); err != nil {
		return err
	}
	if s.stderr, err = s.openOutput(); err != nil {
		return err
	}
	if c.Stderr == StderrTail {
		s.tail = &tail{redactor: redact.New(c.SecretValues)}
	}
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

func (s *streams) openOutput() (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.child = append(s.child, w)
	return &output{file: r, drained: make(chan struct{})}, nil
}

func (s *streams) closeChild() {
	for _, f := range s.child {
		f.Close()
	}
	s.child = nil
}

func (s *streams) closeParent() {
	if s.stdin != nil {
		s.stdin.Close()
	}
	for _, o := range []*output{s.stdout, s.stderr} {
		if o != nil {
			o.file.Close()
		}
	}
}

// expire has nothing to do here: the end of the job ends the pipes.
func (s *streams) expire(time.Time) {}

// An input is the writing end of a child's stdin. A child that doesn't read
// any more is no failure of ours: the error is io.ErrClosedPipe.
type input struct {
	file *os.File
	once sync.Once
}

func (i *input) Write(b []byte) (int, error) {
	n, err := i.file.Write(b)
	if err != nil && pipeGone(err) {
		err = io.ErrClosedPipe
	}
	return n, err
}

// Close may be called twice.
func (i *input) Close() error {
	i.once.Do(func() { i.file.Close() })
	return nil
}

// An output is the reading end of what a child writes.
type output struct {
	file    *os.File
	drained chan struct{} // drain has ended
}

func (o *output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if n == 0 && err != nil && pipeGone(err) {
		o.file.Close()
		err = io.EOF
	}
	return n, err
}

func (o *output) drain(t *tail) {
	defer close(o.drained)
	io.Copy(t, o)
}

// catchUp can't look into a pipe without waiting; once the child is gone it
// waits for the rest, which is near.
func (o *output) catchUp(*tail) {
	select {
	case <-o.drained:
	case <-time.After(catchUpLimit):
	}
}

// catchUpLimit bounds the wait for what a child has just printed.
const catchUpLimit = 50 * time.Millisecond
