package ndjson

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A direct writes to a file or connection without ever waiting for it, so that
// whoever enqueues may do it without handing over to the writing goroutine.
type direct struct {
	conn  syscall.RawConn
	flags int // for pwritev2, where the descriptor itself would block
	part  []byte
	n     int
	err   error
	call  func(fd uintptr) bool
	off   bool
}

// newDirect returns nil if w has no descriptor. Only the system's own types
// count: others may do more in Write than writing.
func newDirect(w io.Writer) *direct {
	var f syscall.Conn
	switch w := w.(type) {
	case *os.File:
		f = w
	case *net.UnixConn:
		f = w
	case *net.TCPConn:
		f = w
	default:
		return nil
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{conn: conn}
	d.call = d.write
	err = conn.Control(func(fd uintptr) {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
			d.flags = unix.RWF_NOWAIT
		}
	})
	if err != nil {
		return nil
	}
	return d
}

func (d *direct) write(fd uintptr) bool {
	if d.flags == 0 {
		d.n, d.err = unix.Write(int(fd), d.part)
	} else {
		d.n, d.err = unix.Pwritev2(int(fd), [][]byte{d.part}, -1, d.flags)
	}
	return true
}

// try writes what fits now. Errors show when the goroutine writes the rest.
func (d *direct) try(b []byte) int {
	if d == nil || d.off {
		return 0
	}
	d.part = b
	err := d.conn.Write(d.call)
	d.part = nil
	if err != nil || d.err != nil {
		if d.err != unix.EAGAIN && d.err != unix.EINTR {
			d.off = true
		}
		return 0
	}
	return d.n
}
