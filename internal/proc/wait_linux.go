package proc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wantPidFD makes the fork fill fd.
func wantPidFD(sys *syscall.SysProcAttr, fd *int) { sys.PidFD = fd }

// childInfo is what waitid tells of a child: unix.Siginfo with its union
// spelled out.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0))/4 - 1]int32
	pid                int32
	uid                uint32
	status             int32
	_                  [128 - 6*4 - (unsafe.Sizeof(uintptr(0)) - 4)]byte
}

var _ [unsafe.Sizeof(unix.Siginfo{})]byte = [unsafe.Sizeof(childInfo{})]byte{}

// exitedCode is CLD_EXITED; the other codes of an exit are signals.
const exitedCode = 1

// waitExit waits for the exit of our child and leaves its entry, so that
// pid and group stay its own.
func waitExit(pid, pidfd int) (code int, signal syscall.Signal) {
	kind, id := unix.P_PID, pid
	if pidfd >= 0 {
		kind, id = unix.P_PIDFD, pidfd
	}
	var info childInfo
	for {
		err := unix.Waitid(kind, id, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case err == unix.EINTR:
		case err == unix.EINVAL && kind == unix.P_PIDFD: // Linux before 5.4
			kind, id = unix.P_PID, pid
		case err != nil: // nobody else reaps our children
			return -1, 0
		case info.code == exitedCode:
			return int(info.status), 0
		default:
			return -1, syscall.Signal(info.status)
		}
	}
}

// signalEntry signals a process if it is still the one that e names.
func signalEntry(e entry, s syscall.Signal) {
	fd, err := unix.PidfdOpen(e.pid, 0)
	if err != nil {
		if err == unix.ENOSYS {
			signalPID(e, s)
		}
		return
	}
	defer unix.Close(fd)
	// The descriptor holds on to whoever has the pid now; only then does the
	// comparison last.
	if now, ok := readEntry(e.pid); ok && now.start == e.start {
		unix.PidfdSendSignal(fd, s, nil, 0)
	}
}

// signalPID is signalEntry on a system without process descriptors: a pid
// may in theory be reused between look and signal.
func signalPID(e entry, s syscall.Signal) {
	if now, ok := readEntry(e.pid); ok && now.start == e.start {
		syscall.Kill(e.pid, s)
	}
}

// adoptOrphans makes orphans among our descendants our children. What we
// ourselves inherited must not reach them.
func adoptOrphans() error {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil && err != unix.ENOSYS && err != unix.EINVAL {
		return err
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}
