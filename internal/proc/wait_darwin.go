package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func wantPidFD(*syscall.SysProcAttr, *int) {}

// waitExit waits for the exit of our child by a kernel queue, which leaves
// the child's entry, unlike wait4.
func waitExit(pid, _ int) (code int, signal syscall.Signal) {
	queue, err := unix.Kqueue()
	if err != nil {
		return -1, 0
	}
	defer unix.Close(queue)
	change := []unix.Kevent_t{{
		Ident:  uint64(pid),
		Filter: unix.EVFILT_PROC,
		Flags:  unix.EV_ADD | unix.EV_ONESHOT,
		Fflags: unix.NOTE_EXIT | unix.NOTE_EXITSTATUS,
	}}
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(queue, change, events, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			return -1, 0
		}
		status := syscall.WaitStatus(events[0].Data)
		if status.Signaled() {
			return -1, status.Signal()
		}
		return status.ExitStatus(), 0
	}
}

func signalEntry(e entry, s syscall.Signal) {
	if now, ok := readEntry(e.pid); ok && now.start == e.start {
		syscall.Kill(e.pid, s)
	}
}

// adoptOrphans: macOS has no subreapers.
func adoptOrphans() error { return nil }
