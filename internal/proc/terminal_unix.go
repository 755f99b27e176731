//go:build linux || darwin

package proc

import (
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openTerminal returns both sides of a new terminal, neither of which becomes
// our controlling one.
func openTerminal(c *Command) (master, slave *os.File, err error) {
	opened, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	master, err = pollable(opened)
	if err != nil {
		slave.Close()
		return nil, nil, err
	}
	size := c.Size
	if size == (Size{}) {
		size = defaultSize
	}
	err = resize(master, size)
	if err == nil && c.Terminal == RawTerminal {
		err = makeRaw(slave)
	}
	if err != nil {
		master.Close()
		slave.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// pollable replaces file by one that the runtime waits for without a thread,
// so that it has deadlines. It closes file.
func pollable(file *os.File) (*os.File, error) {
	defer file.Close()
	var fd int
	err := withFD(file, func(old int) (err error) {
		if fd, err = unix.FcntlInt(uintptr(old), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return err
		}
		if err = unix.SetNonblock(fd, true); err != nil {
			unix.Close(fd)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

func resize(terminal *os.File, size Size) error {
	return withFD(terminal, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
}

// makeRaw turns off all that a terminal does to what passes: echo, lines,
// signals, and the translation of newlines.
func makeRaw(slave *os.File) error {
	return withFD(slave, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return err
		}
		t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		t.Oflag &^= unix.OPOST
		t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		t.Cflag &^= unix.CSIZE | unix.PARENB
		t.Cflag |= unix.CS8
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
		return unix.IoctlSetTermios(fd, setTermios, t)
	})
}

// foregroundGroup returns the process group that the keyboard of terminal
// reaches.
func foregroundGroup(terminal *os.File) (group int, err error) {
	err = withFD(terminal, func(fd int) error {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group, err
}

// withFD calls f with the descriptor of file, which stays as it is: Fd would
// make it blocking, and then no deadline works.
func withFD(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	use := conn.Control(func(fd uintptr) { err = f(int(fd)) })
	if use != nil {
		return use
	}
	return err
}
