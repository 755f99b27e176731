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
	var cred *unix.Ucred
	var cerr error
	err = raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, cerr); err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
