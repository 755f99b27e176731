package core

import (
	"io"
	"net"
	"os"
	"sync"
	"time"

	"dragoman/internal/hub"
)

// netConn is the writing side of a socket.
type netConn struct{ net.Conn }

// NetConn makes the hub's side of a socket.
func NetConn(c net.Conn) hub.Conn { return netConn{c} }

// WriteBatch writes the lines with one system call where that is possible.
func (c netConn) WriteBatch(bufs net.Buffers) error {
	_, err := bufs.WriteTo(c.Conn)
	return err
}

// fileConn is the writing side of stdio. Pipes have no deadlines that can be
// relied on, so a deadline closes the file.
type fileConn struct {
	out    io.Writer
	closer func() error

	mu    sync.Mutex
	timer *time.Timer
}

// StdioConn makes the hub's side of a pair of pipes. closeInput ends the
// reading side; it is called once the connection is to end.
func StdioConn(out io.Writer, closeInput func() error) hub.Conn {
	return &fileConn{out: out, closer: sync.OnceValue(closeInput)}
}

// WriteBatch writes the lines together.
func (c *fileConn) WriteBatch(bufs net.Buffers) error {
	size := 0
	for _, b := range bufs {
		size += len(b)
	}
	all := make([]byte, 0, size)
	for _, b := range bufs {
		all = append(all, b...)
	}
	_, err := c.out.Write(all)
	return err
}

// SetWriteDeadline ends the output at t.
func (c *fileConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(time.Until(t), func() {
		if f, ok := c.out.(*os.File); ok {
			_ = f.SetWriteDeadline(time.Now())
		}
	})
	return nil
}

// Close ends the reading side.
func (c *fileConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	return c.closer()
}
