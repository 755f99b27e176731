package ndjson

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const widePipeBytes = 1 << 20

// WidenPipe asks for a buffer of 1 MiB if f is a pipe's end with a descriptor,
// so that reader and writer wake each other less often. It is for the few
// links that carry everything: the system limits what a user's pipes hold
// together. Failure changes nothing.
func WidenPipe(f any) {
	c, ok := f.(syscall.Conn)
	if !ok {
		return
	}
	if conn, err := c.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, widePipeBytes) })
	}
}
