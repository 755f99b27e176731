package host

import "golang.org/x/sys/unix"

// awaitExit returns when the process has exited, and leaves it a zombie. It
// reports whether it could.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
