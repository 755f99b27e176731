package host

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// A Link is a connection to one running agent, whatever carries it.
type Link interface {
	// Read reads what the agent writes. It returns io.EOF soon after End.
	io.Reader
	// Write writes what the agent reads.
	io.Writer
	// End ends the agent, all of it, and returns when it is gone. It may be
	// called twice and from several goroutines.
	End(ctx context.Context) error
	// Status says in words how the agent ended, once Read has returned io.EOF;
	// "" if nothing is known.
	Status() string
}

// A Starter makes a [Link]: it starts the agent, or connects to it.
type Starter interface {
	Start(ctx context.Context) (Link, error)
}

// StarterFunc is a function as a [Starter].
type StarterFunc func(ctx context.Context) (Link, error)

// Start calls f.
func (f StarterFunc) Start(ctx context.Context) (Link, error) { return f(ctx) }

// Dial connects to an agent that listens on a socket: network is "unix" or
// "tcp". Ending the link closes the connection.
func Dial(network, address string) Starter {
	return StarterFunc(func(ctx context.Context) (Link, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &stream{Conn: c, status: "connection closed"}, nil
	})
}

// Over is a link over streams that are connected already. end is called once
// to end what is behind them; it must make reading return.
func Over(r io.Reader, w io.Writer, end func(ctx context.Context) error) Link {
	return &streams{Reader: r, Writer: w, end: end}
}

type stream struct {
	net.Conn
	status string
	once   sync.Once
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if errors.Is(err, net.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

func (s *stream) End(context.Context) (err error) {
	s.once.Do(func() { err = s.Close() })
	return err
}

func (s *stream) Status() string { return s.status }

type streams struct {
	io.Reader
	io.Writer
	end  func(ctx context.Context) error
	once sync.Once
}

func (s *streams) End(ctx context.Context) (err error) {
	s.once.Do(func() { err = s.end(ctx) })
	return err
}

func (s *streams) Status() string { return "" }

// Pipe is an agent in this process: serve runs in its own goroutine until
// the link ends, which cancels its ctx and closes its input.
func Pipe(serve func(ctx context.Context, r io.Reader, w io.Writer) error) Starter {
	return StarterFunc(func(context.Context) (Link, error) {
		agentIn, hostOut := io.Pipe()
		hostIn, agentOut := io.Pipe()
		ctx, stop := context.WithCancel(context.Background())
		p := &pipe{Reader: hostIn, Writer: hostOut, stop: stop, gone: make(chan struct{})}
		p.close = func() {
			stop()
			hostOut.Close()
			hostIn.Close()
		}
		go func() {
			defer close(p.gone)
			p.err = serve(ctx, agentIn, agentOut)
			stop()
			agentIn.Close()
			agentOut.Close()
		}()
		return p, nil
	})
}

type pipe struct {
	io.Reader
	io.Writer
	stop  context.CancelFunc
	close func()
	gone  chan struct{}
	err   error // valid once gone is closed
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

func (p *pipe) End(ctx context.Context) error {
	p.close()
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipe) Status() string {
	select {
	case <-p.gone:
		if p.err != nil {
			return "agent ended: " + p.err.Error()
		}
		return "agent ended"
	default:
		return ""
	}
}
