package core

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// credentials are the user and process at the other end of a unix socket.
func credentials(conn net.Conn) (uid, pid int, err error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0, errors.New("no unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Xucred
	var cerr, perr error
	err = raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		pid, perr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err = errors.Join(err, cerr, perr); err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), pid, nil
}
