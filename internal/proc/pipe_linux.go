package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// stdoutPipeBytes is what a child's stdout holds before it waits: enough that
// lines of 64 KiB don't cost a switch of processes each.
const stdoutPipeBytes = 512 << 10

// widen asks for a larger pipe. The system limits what a user's pipes hold
// together; a refusal changes nothing.
func widen(f *os.File) {
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, stdoutPipeBytes)
}
